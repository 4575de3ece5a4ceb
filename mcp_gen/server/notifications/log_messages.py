"""Log messages to the client: `notifications/message`, and `logging/setLevel`."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.notifications.send import is_wrapped, send_notification
from mcp_gen.session.peer.log_levels import as_json, at_most, is_enabled, level_name
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.log_handler import ClientLogHandler
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire import common

__all__ = ["ClientLogs", "LogHandlers", "log"]

_log = logging.getLogger("mcp_gen.server")


class ClientLogs:
    """Log messages of a server: `server.logs`."""

    def __init__(self, kernel: Kernel[Context]) -> None:
        self._kernel = kernel
        self.handlers: list[ClientLogHandler] = []
        """Handlers that have not been closed."""

    def handler(
        self,
        level: int | str = logging.NOTSET,
        *,
        max_per_s: float | None = 100.0,
        extra: bool = False,
        all_sessions: bool = False,
    ) -> ClientLogHandler:
        """Return a `logging` handler: `getLogger("app").addHandler(server.logs.handler())`.

        Records that are logged while a request is answered, in any task or thread, are sent to the
        client of that request, if it wants their level, with the name of their logger. Other
        records are dropped, unless `all_sessions` is set. Only the message is sent; set a formatter
        to send more, but make sure that it reveals no secrets. `Server(max_log_bytes=)` limits a
        message.

        Close the handler when you remove it from its logger.

        Args:
            level: The least level of records, as in `logging`.
            max_per_s: The most messages per second and client. The number of dropped ones is sent
                as a warning. None or 0: no limit.
            extra: True sends each record as an object: its `message`, and what `extra=` of the
                logging call holds. What JSON cannot carry is sent as text.
            all_sessions: True sends records that belong to no request to every open session that
                wants their level. Every client reads them, whomever they are about. Revisions
                without sessions have no place for them.

        Raises:
            UsageError: `max_per_s` is below zero.
        """
        # Loaded with the first handler, as in `_changed`.
        from mcp_gen.server.notifications.log_handler import ClientLogHandler

        made = ClientLogHandler(
            level,
            max_per_s,
            self._is_enabled,
            self.closed,
            extra=extra,
            sessions=self._kernel.sessions if all_sessions else (),
        )
        self.handlers.append(made)
        self._changed()
        return made

    def _is_enabled(self, ctx: Context) -> bool:
        """Return True for requests of this server, False for those of a mounted one."""
        return runtime_of(ctx).kernel is self._kernel

    def closed(self, handler: ClientLogHandler) -> None:
        """Remove a handler that was closed."""
        if handler in self.handlers:
            self.handlers.remove(handler)
            self._changed()

    def _changed(self) -> None:
        # Loaded with the first handler.
        from mcp_gen.server.notifications.log_handler import watched

        # Wrap requests only while there is a handler: the wrapper costs time.
        self._kernel.outer_wrapper = partial(watched, self.handlers) if self.handlers else None
        self._kernel.changed()


async def log(ctx: Context, level: str | int, data: Any, logger: str | None) -> None:
    """Send a log message; see `Context.log`."""
    method, kernel, name = ctx.profile.log, runtime_of(ctx).kernel, level_name(level)
    enabled = is_enabled(ctx.profile, origin_of(ctx).log_level(ctx.meta), name)
    if not enabled or not kernel.offers("logging") or method is None:
        return
    # Yield to the event loop: a handler that only logs would block it.
    await asyncio.sleep(0)
    encoded = as_json(data)
    if not _try_acquire(ctx, kernel.limits.max_log_per_s):
        return
    limited = at_most(encoded, kernel.limits.max_log_bytes)
    # Hooks and middleware get the data itself; without them it is not encoded twice.
    content = data if limited is encoded and is_wrapped(ctx, method) else limited
    await send_notification(ctx, method, method.params(level=name, data=content, logger=logger))


_limiters: WeakKeyDictionary[Channel, RateLimiter] = WeakKeyDictionary()
"""Rate limiters of `Context.log` by client, or by request where a request has its own channel."""


def _try_acquire(ctx: Context, per_s: float | None) -> bool:
    """Return True if one more message may be sent to the client; warn once if not."""
    if per_s is None:
        return True
    channel = origin_of(ctx).channel
    limiter = _limiters.get(channel)
    if limiter is None:
        limiter = _limiters[channel] = RateLimiter(per_s)
    taken = limiter.try_acquire()
    if not taken and limiter.dropped == 1:
        _log.warning("more than %g log messages per second to one client: left out", per_s)
    return taken


class LogHandlers(ServerHandlers["Context"]):
    """Handler of `logging/setLevel`."""

    async def set_level(
        self, ctx: Context, params: common.SetLevelRequestParams
    ) -> common.EmptyResult:
        """Handle `logging/setLevel`: set the level of the session."""
        if ctx.session is not None:
            ctx.session.log_level = params.level
            ctx.session.unsaved = True
        return latest.EmptyResult()
