"""Logging handler that sends records as `notifications/message` to the client of their request."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.notifications.send import is_wrapped, send_notification
from mcp_gen.session.peer.log_levels import is_enabled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Channel

__all__ = ["ClientLogHandler", "spec_level", "watched"]

OURS = frozenset({"asyncio", "mcp_gen", "mcp_wire"})
"""Loggers that report about sending itself: sending their records would loop."""

_ABOVE = (
    (logging.INFO, "debug"),
    (logging.INFO + 5, "info"),
    (logging.WARNING, "notice"),
    (logging.ERROR, "warning"),
    (logging.CRITICAL, "error"),
    (logging.CRITICAL + 10, "critical"),
    (logging.CRITICAL + 20, "alert"),
)
"""Upper bounds of Python log levels, and the MCP level of records below each."""

_current: ContextVar[_LoggingRequest | None] = ContextVar("request", default=None)


def spec_level(number: int) -> str:
    """Return the MCP level of a Python level; above `critical` they are ten apart."""
    return next((level for above, level in _ABOVE if number < above), "emergency")


class ClientLogHandler(logging.Handler):
    """Sends records that are logged within a request to its client; see `ClientLogs.handler`.

    Args:
        level: The least level of records, as in `logging`.
        max_per_s: The most messages per second and client.
        is_enabled: Returns True for requests of the handler's server.
        on_close: Called when the handler is closed.

    Raises:
        UsageError: `max_per_s` is not above zero.
    """

    def __init__(
        self,
        level: int | str,
        max_per_s: float,
        is_enabled: Callable[[Context], bool],
        on_close: Callable[[ClientLogHandler], None],
    ) -> None:
        if not max_per_s > 0:
            raise UsageError(f"max_per_s={max_per_s}: expected more than 0")
        super().__init__(level)
        self._is_enabled = is_enabled
        self._on_close = on_close
        self._max_per_s = max_per_s
        self._rate_limiters: WeakKeyDictionary[Channel, RateLimiter] = WeakKeyDictionary()

    def close(self) -> None:
        """Stop sending."""
        self._on_close(self)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record, if it was logged within a request."""
        request = _current.get()
        if request is None or record.name.partition(".")[0] in OURS:
            return
        try:
            self._send(request, record)
        except Exception:
            self.handleError(record)

    def _send(self, request: _LoggingRequest, record: logging.LogRecord) -> None:
        level = spec_level(record.levelno)
        if not self._is_enabled(request.ctx) or not request.is_enabled(level):
            return
        limiter = self._rate_limiter(request)
        if not limiter.try_acquire():
            return
        self.report_dropped(request)
        # The default is the message alone: tracebacks may hold secrets.
        text = self.format(record) if self.formatter else record.getMessage()
        # Surrogate escapes, as in file names, are not valid UTF-8: send them escaped.
        text = text.encode(errors="backslashreplace").decode()
        request.send(level, text, record.name)

    def report_dropped(self, request: _LoggingRequest) -> None:
        """Send the number of records dropped since the last report, as a warning."""
        limiter = self._rate_limiter(request)
        dropped, limiter.dropped = limiter.dropped, 0
        if dropped and request.is_enabled("warning"):
            most = f"{self._max_per_s:g} per second"
            request.send("warning", f"{dropped} log messages left out: more than {most}", __name__)

    def _rate_limiter(self, request: _LoggingRequest) -> RateLimiter:
        channel = request.ctx.caller.channel
        found = self._rate_limiters.get(channel)
        if found is None:
            found = self._rate_limiters[channel] = RateLimiter(self._max_per_s)
        return found


class _LoggingRequest:
    """Request within which something may be logged, in any task or thread."""

    __slots__ = ("_loop", "_sending", "_thread", "ctx")

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._sending: set[asyncio.Task[None]] = set()

    def is_enabled(self, level: str) -> bool:
        """Return True if the client wants log messages of this level."""
        ctx = self.ctx
        declared = ctx.server.runtime.kernel.offers("logging")
        return declared and is_enabled(ctx.profile, ctx.caller.log_level(ctx.meta), level)

    def send(self, level: str, data: str, logger: str) -> None:
        """Send a log message, from any thread."""
        if threading.get_ident() == self._thread:
            self._send(level, data, logger)
        else:
            self._loop.call_soon_threadsafe(self._send, level, data, logger)

    def _send(self, level: str, data: str, logger: str) -> None:
        ctx, method = self.ctx, self.ctx.profile.log
        if method is None:
            return
        params = method.params(level=level, data=data, logger=logger)
        if is_wrapped(ctx, method):
            task = self._loop.create_task(send_notification(ctx, method, params))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        elif ctx.caller.channel.answers(ctx.request_id):
            ctx.caller.channel.notify(method, params)

    async def finish(self) -> None:
        """Wait until pending messages are sent, before the result is."""
        if self._sending:
            await asyncio.wait(self._sending)


def watched(
    handlers: Iterable[ClientLogHandler], call: Callable[[Context, Any], Awaitable[Any]]
) -> Callable[[Context, Any], Awaitable[Any]]:
    """Wrap the answering of a request, so that handlers find it from tasks and threads."""

    async def within(ctx: Context, params: Any) -> Any:
        request = _LoggingRequest(ctx)
        token = _current.set(request)
        try:
            return await call(ctx, params)
        finally:
            _current.reset(token)
            for handler in handlers:
                handler.report_dropped(request)
            await request.finish()

    return within
