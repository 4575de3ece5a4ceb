"""How a server keeps its tasks: for how long, how many, and where."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.tasks import TaskStore

__all__ = ["Tasks"]


class Tasks(Struct, frozen=True, kw_only=True):
    """How tasks are kept: `Server(tasks=Tasks(ttl_s=600))`.

    A task is kept for `ttl_s` seconds after it was made, whatever becomes of it; what still runs
    then is cancelled. Where the client may wish for another time, it gets `max_ttl_s` at most.
    Clients are asked to wait `poll_interval_s` between two looks at a task.

    Where the server decides, a call gets its result at once if there is one within `grace_s`, and a
    task otherwise; with 0 there is a task for everything that waits at all.

    Of one client (a principal, or without principals a session) `max_running` tasks run at once. In
    memory `max_tasks` are kept, of all clients; `store` keeps them elsewhere instead, for other
    processes to tell of. A task runs in the process that made it, and ends with the server.

    Raises:
        UsageError: a number that is not above 0; `grace_s` below it.
    """

    ttl_s: float = 3600.0
    max_ttl_s: float = 86_400.0
    poll_interval_s: float = 1.0
    grace_s: float = 0.1
    max_running: int = 2_000
    max_tasks: int = 10_000
    store: TaskStore | None = None
    clock: Callable[[], float] | None = None
    """What tells the time, in seconds since the epoch; None: `time.time`."""

    def __post_init__(self) -> None:
        for name in ("ttl_s", "max_ttl_s", "poll_interval_s", "max_running", "max_tasks"):
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise UsageError(f"Tasks: {name}={value}: expected a finite number above 0")
        if not 0 <= self.grace_s < math.inf:
            raise UsageError(f"Tasks: grace_s={self.grace_s}: expected seconds, 0 or more")

    def ttl_for(self, wish_ms: int | None) -> float:
        """For how many seconds a task is kept whose client wishes for so many milliseconds."""
        if wish_ms is None or wish_ms <= 0:
            return min(self.ttl_s, self.max_ttl_s)
        return min(wish_ms / 1000, self.max_ttl_s)
