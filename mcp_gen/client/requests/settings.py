"""The limits and habits of a client, the same for all of its sessions."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from mcp_wire import latest

__all__ = ["Checks", "Settings"]

Checks: TypeAlias = Literal["strict", "lenient", "report"]
"""What becomes of what a server may not send: it is an error, passed over, or told of."""


class Settings(Struct, frozen=True, kw_only=True):
    """See `Client`, whose arguments these are."""

    timeout_s: float = 60.0
    max_timeout_s: float = 3600.0
    max_pages: int = 1000
    max_rounds: int = 10
    max_cached: int = 256
    checks: Checks = "lenient"
    log_level: latest.LoggingLevel | None = None
    keep_alive_s: float | None = None
    keep_alive_timeout_s: float = 10.0
