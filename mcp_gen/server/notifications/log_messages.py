"""Log messages to the client: which it wants to hear, and the standard library's logging."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.notifications.log_handler import ClientLogHandler, watched
from mcp_gen.server.notifications.send import is_wrapped, send_notification
from mcp_gen.session.peer.log_levels import as_json, is_enabled
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import common

__all__ = ["ClientLogs", "LogHandlers", "log"]


class ClientLogs:
    """The log messages of a server: `server.logs`."""

    def __init__(self, kernel: Kernel[Context]) -> None:
        self._kernel = kernel
        self.handlers: list[ClientLogHandler] = []
        """Those that have not been closed."""

    def handler(
        self, level: int | str = logging.NOTSET, *, max_per_s: float = 100.0
    ) -> ClientLogHandler:
        """A handler of the standard library: `logging.getLogger("app").addHandler(…)`.

        What code logs while it answers a request, in whatever task or thread, goes to that
        request's client, if it wants to hear of the level; other records go nowhere. One client
        gets `max_per_s` messages in a second at most, and is told how many more there were. What is
        sent is the message; set a formatter to send more, but see that it holds no secrets.

        Close the handler when you take it off its logger.

        Raises:
            UsageError: `max_per_s` is not above zero.
        """
        made = ClientLogHandler(level, max_per_s, self._is_enabled, self.closed)
        self.handlers.append(made)
        self._changed()
        return made

    def _is_enabled(self, ctx: Context) -> bool:
        """Return True if a request is one of this server, not of one that is mounted in it."""
        return runtime_of(ctx).kernel is self._kernel

    def closed(self, handler: ClientLogHandler) -> None:
        """A handler sends nothing any more."""
        if handler in self.handlers:
            self.handlers.remove(handler)
            self._changed()

    def _changed(self) -> None:
        # Only while there is a handler do requests pay for being found from where something logs.
        self._kernel.outer_wrapper = partial(watched, self.handlers) if self.handlers else None
        self._kernel.changed()


async def log(ctx: Context, level: str, data: Any, logger: str | None) -> None:
    """See `Context.log`."""
    method = ctx.profile.log
    heard = is_enabled(ctx.profile, origin_of(ctx).log_level(ctx.meta), level)
    if not heard or not runtime_of(ctx).kernel.offers("logging") or method is None:
        return
    # A handler that does nothing but log would let nobody else have a turn.
    await asyncio.sleep(0)
    encoded = as_json(data)
    # Hooks and middleware get what was logged; else it is encoded no second time.
    said = data if is_wrapped(ctx, method) else encoded
    await send_notification(ctx, method, method.params(level=level, data=said, logger=logger))


class LogHandlers(ServerHandlers["Context"]):
    """What a server answers to a client that sets its log level."""

    async def set_level(
        self, ctx: Context, params: common.SetLevelRequestParams
    ) -> common.EmptyResult:
        """logging/setLevel"""
        if ctx.session is not None:
            ctx.session.log_level = params.level
            ctx.session.unsaved = True
        return latest.EmptyResult()
