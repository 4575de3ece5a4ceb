"""Options of tasks: times, limits and the store."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.tasks import TaskStore

__all__ = ["Tasks"]


class Tasks(Struct, frozen=True, kw_only=True):
    """Options of tasks: `Server(tasks=Tasks(ttl_s=600))`.

    A task runs in the process that created it, and ends with the server.

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
        max_tasks: Maximum number of tasks of all clients in memory; not used with `store`.
        store: Store of the tasks, which other processes can read; None keeps them in memory.
        clock: Returns the time in seconds since the epoch; None for `time.time`.

    Raises:
        UsageError: A number is not finite and above 0; `grace_s` may also be 0.
    """

    ttl_s: float = 3600.0
    max_ttl_s: float = 86_400.0
    poll_interval_s: float = 1.0
    grace_s: float = 0.1
    max_running: int = 2_000
    max_tasks: int = 10_000
    store: TaskStore | None = None
    clock: Callable[[], float] | None = None

    def __post_init__(self) -> None:
        for name in ("ttl_s", "max_ttl_s", "poll_interval_s", "max_running", "max_tasks"):
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise UsageError(f"Tasks: {name}={value}: expected a finite number above 0")
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
        return min(requested_ms / 1000, self.max_ttl_s)
