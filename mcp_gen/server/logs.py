"""Log messages to the client: which it wants to hear, and the standard library's logging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context import Context
    from mcp_gen.server.server import Server

__all__ = ["LogHandlers", "Logs", "log"]


class Logs:
    """The log messages of a server: `server.logs`."""

    def __init__(self, server: Server) -> None:
        self._server = server


async def log(ctx: Context, level: str, data: Any, logger: str | None) -> None:
    """See `Context.log`."""
    raise NotImplementedError


class LogHandlers(ServerHandlers["Context"]):
    """What a server answers to a client that sets its log level."""

    server: Server
