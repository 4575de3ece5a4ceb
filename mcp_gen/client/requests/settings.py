"""The limits and habits of a client, and what one session is made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.requests.session_calls import UrlElicitationHandler
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_wire.profile import Profile

__all__ = ["ClientSettings", "SessionOptions", "Validation"]

Validation: TypeAlias = Literal["strict", "lenient", "report"]
"""What becomes of what a server may not send: it is an error, passed over, or told of."""


class ClientSettings(Struct, frozen=True, kw_only=True):
    """See `Client`, whose arguments these are."""

    timeout_s: float = 60.0
    max_timeout_s: float = 3600.0
    max_pages: int = 1000
    max_rounds: int = 10
    max_cached_results: int = 256
    validation: Validation = "lenient"
    log_level: latest.LoggingLevel | None = None
    keep_alive_s: float | None = None
    keep_alive_timeout_s: float = 10.0


class SessionOptions(NamedTuple):
    """Facts about a client that one of its sessions keeps to from its beginning."""

    settings: ClientSettings
    extensions: Extensions
    """The extensions that the client declares."""
    declares_tasks: bool
    """True if servers may answer calls with tasks of their own accord."""
    has_roots: bool
    """True if servers may ask for roots."""
    answers: Callable[[Profile], UrlElicitationHandler]
    """Makes what sends the user to pages at a revision."""
