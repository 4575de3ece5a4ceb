"""Options of tasks: times, limits, store and engine; the rate at which clients create tasks."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from mcp_gen.core.errors import InvalidRequest, UsageError
from mcp_gen.core.peer_values import seconds_within
from mcp_gen.core.stores.tasks import TaskStore
from mcp_gen.server.context.rate_limit import RateLimiter

__all__ = ["CreationRates", "TaskEngine", "Tasks"]

_POSITIVE = (
    "ttl_s",
    "max_ttl_s",
    "poll_interval_s",
    "max_running",
    "max_tasks",
    "lease_s",
    "resubmit_s",
    "max_attempts",
)
MAX_OWNERS = 10_000
"""Owners whose rates are known; then those that have created no task lately are forgotten."""


class TaskEngine(Protocol):
    """Job engine that carries ids of tasks to workers; `TaskiqEngine` is one.

    It may deliver an id again, to any worker: a task is claimed before it runs. An id that it loses
    is submitted again when somebody asks for the task.
    """

    async def start(self) -> None:
        """Connect, so that `submit` can be called."""
        ...

    async def aclose(self) -> None:
        """Disconnect."""
        ...

    async def submit(self, id: str) -> None:
        """Hand the id of a task to the workers.

        Raises:
            Exception: The engine cannot be reached.
        """
        ...

    async def work(
        self,
        run: Callable[[str], Awaitable[None]],
        stopped: Callable[[], Awaitable[None]],
        *,
        max_running: int,
    ) -> None:
        """Call a function with the id of each task, until the worker stops.

        Args:
            run: Runs the task; it returns when the task has ended. If the engine cancels it, the
                task goes on.
            stopped: Returns once the worker shall take no further ids.
            max_running: Most ids that are run at the same time.
        """
        ...


class Tasks(Struct, frozen=True, kw_only=True):
    """Options of tasks: `Server(tasks=Tasks(ttl_s=600))`.

    A task runs in the process that created it, and ends with the server; with `engine` and a
    cluster it runs on a worker.

    Args:
        ttl_s: Seconds for which a task is kept after its creation, whatever its status. A handler
            that still runs then is cancelled.
        max_ttl_s: Maximum of `ttl_s` and of the `ttl` that a client of 2025-11-25 asks for, in
            seconds.
        poll_interval_s: Seconds that clients are told to wait between two polls of a task.
        grace_s: Seconds that a call may take at 2026-07-28 before it is answered with a task. With
            0, every call that awaits anything is answered with one.
        max_running: Maximum number of running tasks per client: per principal, or per session for
            requests without a principal.
        max_created_per_s: Maximum number of tasks that one client may create per second, and at
            once; clients as in `max_running`. Over HTTP without sessions, clients without a
            principal may together create `PeerLimits.anonymous_clients` times as many. None for no
            limit.
        max_tasks: Maximum number of tasks of all clients in memory; not used with `store`.
        store: Store of the tasks, which other processes can read; None keeps them in memory.
        clock: Returns the time in seconds since the epoch; None for `time.time`.
        engine: Job engine whose workers run the tasks of a server that is served with
            `asgi(cluster=...)`; `mcp-gen worker` is a worker. None runs them in the process.
        lease_s: Seconds for which a worker claims a task; it renews the claim while the task runs.
            A task whose claim was not renewed in time has lost its worker.
        resubmit_s: Seconds after which the engine gets the id of a task once more that no worker
            has taken, when somebody asks for the task; then twice as many, and so on.
        max_attempts: Most times that a task is run whose workers are lost. Only tools with
            `retry=True` or an annotation that says that they are idempotent are run again.

    Raises:
        UsageError: A number is not finite and above 0; `grace_s` may also be 0.
    """

    ttl_s: float = 3600.0
    max_ttl_s: float = 86_400.0
    poll_interval_s: float = 1.0
    grace_s: float = 0.1
    max_running: int = 2_000
    max_created_per_s: float | None = 2_000.0
    max_tasks: int = 10_000
    store: TaskStore | None = None
    clock: Callable[[], float] | None = None
    engine: TaskEngine | None = None
    lease_s: float = 10.0
    resubmit_s: float = 60.0
    max_attempts: int = 3

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise UsageError(f"Tasks: {name}={value}: expected a finite number above 0")
        most = self.max_created_per_s
        if most is not None and not 0 < most < math.inf:
            raise UsageError(f"Tasks: max_created_per_s={most}: expected a number above 0, or None")
        if not 0 <= self.grace_s < math.inf:
            raise UsageError(f"Tasks: grace_s={self.grace_s}: expected seconds, 0 or more")

    def ttl_for(self, requested_ms: int | None) -> float:
        """Return for how many seconds a task is kept.

        Args:
            requested_ms: Time to live that the client asks for, in milliseconds. None, 0 or less
                for `ttl_s`.

        Returns:
            Seconds, at most `max_ttl_s`.
        """
        if requested_ms is None or requested_ms <= 0:
            return min(self.ttl_s, self.max_ttl_s)
        return seconds_within(requested_ms, most_s=self.max_ttl_s)


class CreationRates:
    """Rates at which clients create tasks.

    Args:
        per_s: Most tasks per second and owner, and at once; None for no limit.
        anonymous_clients: Clients that requests without a principal and a session count as.
    """

    def __init__(self, per_s: float | None, anonymous_clients: int) -> None:
        self._per_s = per_s
        self._anonymous_clients = anonymous_clients
        self._owners: dict[str | None, RateLimiter] = {}

    def check(self, owner: str | None) -> None:
        """Count one more task.

        Args:
            owner: Principal or session id; None without both.

        Raises:
            InvalidRequest: the owner creates tasks too fast.
        """
        if self._per_s is None:
            return
        limiter = self._owners.get(owner)
        if limiter is None:
            if len(self._owners) >= MAX_OWNERS:
                self._forget_full()
            per_s = self._per_s * (self._anonymous_clients if owner is None else 1)
            limiter = self._owners[owner] = RateLimiter(per_s)
        if not limiter.try_acquire():
            raise InvalidRequest(
                f"a client may create {self._per_s:g} tasks per second; wait a moment"
            )

    def _forget_full(self) -> None:
        """Forget the owners that may create as many tasks as new ones, or else all."""
        left = {owner: one for owner, one in self._owners.items() if not one.is_full}
        self._owners = left if len(left) < MAX_OWNERS else {}
