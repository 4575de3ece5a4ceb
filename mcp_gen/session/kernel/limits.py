"""What a server puts up with: how long a request may take, how many are open, how long silence is.

Message sizes are the transports' business.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from msgspec import Struct

from mcp_gen.core.errors import InvalidRequest, RequestTimeout, UsageError

__all__ = ["Limits", "OpenRequests", "time_limit"]


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a server. None means that there is none."""

    request_timeout_s: float | None = None
    """How long a request may take; what listens to changes is not meant."""
    max_concurrent_requests: int | None = None
    """How many requests of one session are answered at once.

    Where HTTP has no sessions these are the requests of one principal, what listens to changes not
    among them; clients that nobody tells apart count as one.
    """
    keep_alive_s: float | None = None
    """How often a client is asked whether it is still there, where the revision has that."""
    keep_alive_timeout_s: float = 20.0
    """How long it may take to say so before its session is ended."""
    max_progress_per_s: float | None = 100.0
    """How many reports of progress one request may send; what one second allows, at once."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit: float | None = getattr(self, name)
            if limit is not None and not limit > 0:
                raise UsageError(f"{name}={limit}: expected more than 0, or None for no limit")

    def make_room(self, open_requests: int) -> None:
        """Check whether one more request may be open.

        Raises:
            InvalidRequest: there are as many as there may be.
        """
        most = self.max_concurrent_requests
        if most is not None and open_requests >= most:
            raise InvalidRequest(
                f"{open_requests} requests are open, as many as this server answers at once for "
                "one client; wait for an answer"
            )


class OpenRequests:
    """Counts the requests that are being answered, by principal, where no session does."""

    __slots__ = ("_limits", "_open")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[str | None, int] = {}

    @classmethod
    def counted_by(cls, limits: Limits) -> OpenRequests | None:
        """None where it does not matter how many there are."""
        return None if limits.max_concurrent_requests is None else cls(limits)

    def enter(self, principal: str | None) -> None:
        """Count one more.

        Raises:
            InvalidRequest: there are as many as there may be.
        """
        already = self._open.get(principal, 0)
        self._limits.make_room(already)
        self._open[principal] = already + 1

    def leave(self, principal: str | None) -> None:
        """One has been answered."""
        left = self._open.pop(principal) - 1
        if left:
            self._open[principal] = left


class time_limit:  # noqa: N801  # used like a function, as asyncio.timeout is
    """Give what is awaited inside only so long: `with time_limit(5, "tool `add`"): await …`.

    It belongs to the task that enters it, and is left in the same. Whatever else cancels the task
    stays what it is. Much cheaper than asyncio.timeout, because nobody may move its end.

    Raises:
        RequestTimeout: when the time was over; what was awaited has been cancelled.
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
