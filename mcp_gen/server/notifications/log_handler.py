"""Logging handler that sends records as `notifications/message` to the client of their request."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.notifications.send import is_wrapped, send_notification
from mcp_gen.session.peer.log_levels import as_json, at_most, is_enabled, level_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import Session

__all__ = ["ClientLogHandler", "watched"]

_log = logging.getLogger("mcp_gen.server")

OURS = frozenset({"asyncio", "mcp_gen", "mcp_wire"})
"""Loggers that report about sending itself: sending their records would loop."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record has; the others are those of `extra=`."""

_current: ContextVar[_LoggingRequest | None] = ContextVar("request", default=None)


class ClientLogHandler(logging.Handler):
    """Sends records that are logged within a request to its client; see `ClientLogs.handler`.

    Args:
        level: The least level of records, as in `logging`.
        max_per_s: The most messages per second and client; None or 0: no limit.
        is_enabled: Returns True for requests of the handler's server.
        on_close: Called when the handler is closed.
        extra: Send objects with what `extra=` of the logging calls holds.
        sessions: Open sessions that get the records that belong to no request.

    Raises:
        UsageError: `max_per_s` is below zero.
    """

    def __init__(
        self,
        level: int | str,
        max_per_s: float | None,
        is_enabled: Callable[[Context], bool],
        on_close: Callable[[ClientLogHandler], None],
        *,
        extra: bool,
        sessions: Collection[Session],
    ) -> None:
        if max_per_s is not None and not max_per_s >= 0:
            raise UsageError(f"max_per_s={max_per_s}: expected more than 0, or 0 for no limit")
        super().__init__(level)
        self._extra = extra
        self._sessions = sessions
        self._sending: set[asyncio.Task[None]] = set()
        self._is_enabled = is_enabled
        self._on_close = on_close
        self._max_per_s = max_per_s or math.inf
        self._rate_limiters: WeakKeyDictionary[Channel, RateLimiter] = WeakKeyDictionary()

    def close(self) -> None:
        """Stop sending."""
        self._on_close(self)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record to the client of its request, or to all sessions; see `ClientLogs`."""
        request = _current.get()
        if record.name.partition(".")[0] in OURS:
            return
        try:
            if request is not None:
                self._send(request, record)
            elif self._sessions:
                self._send_to_sessions(record)
        except Exception:
            self.handleError(record)

    def _send(self, request: _LoggingRequest, record: logging.LogRecord) -> None:
        level = level_name(record.levelno)
        if not self._is_enabled(request.ctx) or not request.is_enabled(level):
            return
        limiter = self._rate_limiter(origin_of(request.ctx).channel)
        if not limiter.try_acquire():
            return
        self.report_dropped(request)
        request.send(level, self._data_of(record), record.name)

    def _data_of(self, record: logging.LogRecord) -> Any:
        # The default is the message alone: tracebacks may hold secrets.
        text = self.format(record) if self.formatter else record.getMessage()
        # Surrogate escapes, as in file names, are not valid UTF-8: send them escaped.
        text = text.encode(errors="backslashreplace").decode()
        if not self._extra:
            return text
        more = {key: one for key, one in vars(record).items() if key not in _STANDARD}
        return {"message": text, **_plain(more)}

    # --- records that belong to no request ---

    def _send_to_sessions(self, record: logging.LogRecord) -> None:
        level, data = level_name(record.levelno), self._data_of(record)
        for session in list(self._sessions):
            # Sessions may have loops of their own, and loops may be closed by now.
            with suppress(RuntimeError):
                session.loop.call_soon_threadsafe(self._send_to, session, level, data, record.name)

    def _send_to(self, session: Session, level: str, data: Any, logger: str) -> None:
        origin = session.origin
        if origin is None or not session.reachable:
            return
        if not is_enabled(origin.profile, origin.log_level(None), level):
            return
        limiter = self._rate_limiter(session.channel)
        if limiter.try_acquire():
            task = session.loop.create_task(self._log(session, level, data, logger))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _log(self, session: Session, level: Any, data: Any, logger: str) -> None:
        try:
            await session.log(level, data, logger=logger)
        except Exception:
            # Of this package, so that it is not sent in turn.
            _log.warning("a log record could not be sent", exc_info=True)

    def report_dropped(self, request: _LoggingRequest) -> None:
        """Send the number of records dropped since the last report, as a warning."""
        limiter = self._rate_limiter(origin_of(request.ctx).channel)
        dropped, limiter.dropped = limiter.dropped, 0
        if dropped and request.is_enabled("warning"):
            most = f"{self._max_per_s:g} per second"
            request.send("warning", f"{dropped} log messages left out: more than {most}", __name__)

    def _rate_limiter(self, channel: Channel) -> RateLimiter:
        found = self._rate_limiters.get(channel)
        if found is None:
            found = self._rate_limiters[channel] = RateLimiter(self._max_per_s)
        return found


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that JSON can carry, and the others as text."""
    made: dict[str, Any] = {}
    for key, value in values.items():
        try:
            as_json(value)
            made[key] = value
        except UsageError:
            made[key] = str(value).encode(errors="backslashreplace").decode()
    return made


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
        declared = runtime_of(ctx).kernel.offers("logging")
        return declared and is_enabled(ctx.profile, origin_of(ctx).log_level(ctx.meta), level)

    def send(self, level: str, data: Any, logger: str) -> None:
        """Send a log message, from any thread."""
        if threading.get_ident() == self._thread:
            self._send(level, data, logger)
        else:
            self._loop.call_soon_threadsafe(self._send, level, data, logger)

    def _send(self, level: str, data: Any, logger: str) -> None:
        ctx, method = self.ctx, self.ctx.profile.log
        if method is None:
            return
        encoded = as_json(data)
        limited = at_most(encoded, runtime_of(ctx).kernel.limits.max_log_bytes)
        data = data if limited is encoded else limited
        params = method.params(level=level, data=data, logger=logger)
        if is_wrapped(ctx, method):
            task = self._loop.create_task(send_notification(ctx, method, params))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        elif origin_of(ctx).channel.answers(ctx.request_id):
            origin_of(ctx).channel.notify(method, params)

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
