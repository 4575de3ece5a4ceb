"""Limits of a server: request timeout, concurrency, keep-alive, progress rate.

Transports limit message sizes.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from msgspec import Struct

from mcp_gen.core.errors import InvalidRequest, RequestTimeout, UsageError
from mcp_gen.core.peer_limits import PeerLimits

__all__ = ["Limits", "OpenRequests", "time_limit"]


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of a server. None means no limit.

    Args:
        request_timeout_s: Seconds that a request may take; `subscriptions/listen` has no limit.
        max_concurrent_requests: Requests of one session that may be open at the same time. Over
            HTTP without sessions: requests of one principal, except `subscriptions/listen`; clients
            without a principal count as one.
        keep_alive_s: Seconds between pings to an idle client, at revisions that have `ping`. None
            sends no pings.
        keep_alive_timeout_s: Seconds to wait for the response to a ping before the session ends.
        max_progress_per_s: Progress notifications per second and request, and the size of a burst.
        max_log_per_s: Log messages of `Context.log` per second and client, and the size of a burst.
        max_log_bytes: Bytes of the data of one log message; longer data is cut.
        schema_timeout_s: Seconds that the check by a user-written JSON Schema may take in the
            worker process.
        peer: Limits on what one client can cause.

    Raises:
        UsageError: a limit is not above 0.
    """

    request_timeout_s: float | None = None
    max_concurrent_requests: int | None = None
    keep_alive_s: float | None = None
    keep_alive_timeout_s: float = 20.0
    max_progress_per_s: float | None = 100.0
    max_log_per_s: float | None = 1_000.0
    max_log_bytes: int | None = 64 * 1024
    schema_timeout_s: float = 1.0
    peer: PeerLimits = PeerLimits()

    def __post_init__(self) -> None:
        for name in self.__struct_fields__[:-1]:
            limit: float | None = getattr(self, name)
            if limit is not None and not limit > 0:
                raise UsageError(f"{name}={limit}: expected more than 0, or None for no limit")

    def make_room(self, open_requests: int) -> None:
        """Check that one more request may be open.

        Args:
            open_requests: Number of requests that are open now.

        Raises:
            InvalidRequest: `max_concurrent_requests` is reached.
        """
        most = self.max_concurrent_requests
        if most is not None and open_requests >= most:
            raise InvalidRequest(
                f"{open_requests} requests are open, as many as this server answers at once for "
                "one client; wait for an answer"
            )


class OpenRequests:
    """Counter of open requests per principal, for HTTP without sessions.

    Args:
        limits: Limits of the server.
    """

    __slots__ = ("_limits", "_open")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[str | None, int] = {}

    @classmethod
    def for_limits(cls, limits: Limits) -> OpenRequests | None:
        """Return a counter; None if the limits do not limit concurrency."""
        return None if limits.max_concurrent_requests is None else cls(limits)

    def enter(self, principal: str | None) -> None:
        """Count one more open request.

        Raises:
            InvalidRequest: `max_concurrent_requests` is reached.
        """
        already = self._open.get(principal, 0)
        self._limits.make_room(already)
        self._open[principal] = already + 1

    def leave(self, principal: str | None) -> None:
        """Count one request less: it has been answered."""
        left = self._open.pop(principal) - 1
        if left:
            self._open[principal] = left


class time_limit:  # noqa: N801  # used like a function, as asyncio.timeout is
    """Context manager with a time limit: `with time_limit(5, "tool `add`"): await …`.

    Enter and leave it in the same task. Other cancellations of that task keep their meaning. It
    costs much less than `asyncio.timeout`, because its deadline cannot be moved.

    Args:
        seconds: Seconds until the block is cancelled.
        what: Name of the operation, for the error text.

    Raises:
        RequestTimeout: the time is over and the block has been cancelled.
    """

    __slots__ = ("_before", "_expired", "_seconds", "_task", "_timer", "_what")

    def __init__(self, seconds: float, what: str) -> None:
        self._seconds = seconds
        self._what = what
        self._expired = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise UsageError("time_limit: expected to be in a task")
        self._task: asyncio.Task[Any] = task
        self._before = task.cancelling()
        self._timer = loop.call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if not self._expired:
            return
        cancelled_once_more = self._task.uncancel() > self._before
        if kind is asyncio.CancelledError and not cancelled_once_more:
            raise RequestTimeout(
                f"{self._what}: not done in {self._seconds:g} s, and stopped"
            ) from error
