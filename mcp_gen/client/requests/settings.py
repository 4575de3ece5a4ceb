"""Client settings: limits, validation, and the options of one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from msgspec import Struct

from mcp_gen.core.mistakes.checks import check_choice, check_seconds
from mcp_gen.session.duplex.client_parts import DEFAULT_MAX_VALUES
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.requests.session_calls import UrlElicitationHandler
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_wire.profile import Profile

__all__ = ["ClientSettings", "SessionOptions", "Validation"]

Validation: TypeAlias = Literal["strict", "lenient", "report"]
"""Treatment of protocol violations: an error, ignored, or reported."""


class ClientSettings(Struct, frozen=True, kw_only=True):
    """Limits of a client; see the arguments of `Client`."""

    timeout_s: float = 60.0
    max_timeout_s: float = 3600.0
    max_pages: int = 1000
    max_rounds: int = 10
    max_cached_results: int = 256
    max_values: int = DEFAULT_MAX_VALUES
    validation: Validation = "lenient"
    log_level: latest.LoggingLevel | None = None
    keep_alive_s: float | None = None
    keep_alive_timeout_s: float = 10.0
    schema_timeout_s: float = 1.0

    def __post_init__(self) -> None:
        """Check the options that would fail far from where they are written.

        Raises:
            UsageError: A word that is not among the choices, or no number of seconds.
        """
        check_choice("Client: validation", self.validation, get_args(Validation))
        if self.log_level is not None:
            check_choice("Client: log_level", self.log_level, get_args(latest.LoggingLevel))
        for name in ("timeout_s", "max_timeout_s", "keep_alive_timeout_s", "schema_timeout_s"):
            check_seconds(f"Client: {name}", getattr(self, name))
        if self.keep_alive_s is not None:
            check_seconds("Client: keep_alive_s", self.keep_alive_s)


class SessionOptions(NamedTuple):
    """Options of one session, fixed when it is opened."""

    client: Any
    """The Client; `ClientSession.client` has its type."""
    settings: ClientSettings
    extensions: Extensions
    """The extensions that the client declares."""
    declares_tasks: bool
    """True if servers may answer calls with tasks unrequested (tasks extension)."""
    has_roots: bool
    """True if servers may request roots."""
    answers: Callable[[Profile], UrlElicitationHandler]
    """Creates the URL elicitation handler of a revision."""
    server_name: str | None = None
    """Name of the program's own for the server."""
