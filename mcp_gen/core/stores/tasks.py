"""What is known of tasks, kept for whoever asks what has become of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Raw, Struct

__all__ = ["FINAL", "NOTHING", "MemoryTaskStore", "StoredTask", "TaskStatus", "TaskStore"]

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

FINAL = frozenset({"completed", "failed", "cancelled"})
"""Once a task stands there, nothing changes any more."""

_Owner: TypeAlias = tuple[str | None, str | None]

NOTHING = Raw(b"null")
"""Where there is no result, or no error."""


class StoredTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as it can be kept anywhere: `msgspec.json` writes it and reads it.

    What only a process can have is not in it: the handler that runs, and who waits for it.
    """

    id: str
    """Nobody can guess it: without principals, to know it is to be allowed to ask."""
    status: TaskStatus = "working"
    """`failed` where there is an `error`; a tool that failed has `completed` with its result."""
    message: str | None = None
    """More about where it stands, for people."""
    created_at: float
    """In seconds since the epoch, like all times here."""
    updated_at: float
    expires_at: float | None
    """When it may be forgotten, whatever has become of it; None: never."""
    revision: str
    """The revision that its result is written at."""
    result: Raw = NOTHING
    """What the request is answered with, as JSON."""
    is_error: bool = False
    """Whether the result says that the tool failed."""
    error: Raw = NOTHING
    """The JSON-RPC error that the request is answered with instead."""
    questions: dict[str, Raw] = {}
    """What the client is asked and has not answered, by key, where it polls for that."""
    principal: str | None = None
    """Who may ask for it; None where nobody asks who that is."""
    session: str | None = None
    """In which session it is listed, where there is no principal."""

    @property
    def over(self) -> bool:
        """Whether nothing changes any more."""
        return self.status in FINAL


class TaskStore(Protocol):
    """Keeps tasks for their time. Awaited on the event loop of the server.

    A task runs in the process that made it; what is kept here, any process can tell to clients.
    What a task is told should reach the process that runs it: the header that repeats its id is
    there to route by. An error of a store is the answer to whoever asked, or else is logged.
    """

    async def add(self, task: StoredTask, now: float) -> bool:
        """Keep a new task; false if there are too many. What is kept has been kept on return."""
        ...

    async def save(self, task: StoredTask) -> bool:
        """Keep it as it is now, unless it is over already, or gone; whether it was kept.

        To be done in one step: of two processes that end one task, one is the first.
        """
        ...

    async def load(self, id: str) -> StoredTask | None:
        """The task of that id; None if there is none. One whose time is over may still come."""
        ...

    async def page(
        self,
        principal: str | None,
        session: str | None,
        behind: tuple[float, str] | None,
        size: int,
    ) -> Sequence[StoredTask]:
        """Up to `size` tasks of a principal, or else of a session, by `created_at` and `id`.

        They come `behind` one that was given before, or from the first one on.
        """
        ...

    async def forget(self, id: str) -> None:
        """Its time is over. A store that sees to that itself need do nothing."""
        ...


class MemoryTaskStore:
    """Keeps tasks in this process, `max_tasks` at most.

    When it is full a new task takes the place of its own principal's oldest one that is over; who
    has none takes that of whoever keeps most, as long as that is more than the own.
    """

    def __init__(self, *, max_tasks: int = 10_000) -> None:
        self._max_tasks = max_tasks
        self._kept: dict[str, StoredTask] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, id: str) -> bool:
        return id in self._kept

    async def add(self, task: StoredTask, now: float) -> bool:
        """Keep a new task; false if there are too many."""
        if len(self._kept) >= self._max_tasks and not self._make_room(task, now):
            return False
        self._kept[task.id] = task
        return True

    def _make_room(self, task: StoredTask, now: float) -> bool:
        late = [one.id for one in self._kept.values() if (one.expires_at or now) < now]
        if not late:
            late = self._giving_way(task)
        for id in late:
            del self._kept[id]
        return bool(late)

    def _giving_way(self, task: StoredTask) -> list[str]:
        owner, over = _owner(task), [one for one in self._kept.values() if one.over]
        mine = next((one.id for one in over if _owner(one) == owner), None)
        if mine is not None or not over:
            return [] if mine is None else [mine]
        # Else one client could fill the store, and others had no tasks until these expire.
        held = Counter(map(_owner, self._kept.values()))
        most = max(over, key=lambda one: held[_owner(one)])
        return [most.id] if held[_owner(most)] > held[owner] + 1 else []

    async def save(self, task: StoredTask) -> bool:
        """Keep it as it is now, unless it is over already, or gone."""
        kept = self._kept.get(task.id)
        if kept is None or kept.over:
            return False
        self._kept[task.id] = task
        return True

    async def load(self, id: str) -> StoredTask | None:
        """The task of that id."""
        return self._kept.get(id)

    async def page(
        self,
        principal: str | None,
        session: str | None,
        behind: tuple[float, str] | None,
        size: int,
    ) -> Sequence[StoredTask]:
        """Up to `size` tasks of a principal, or else of a session."""
        found = [
            task
            for task in self._kept.values()
            if task.principal == principal
            and (principal is not None or (session is not None and task.session == session))
            and (behind is None or (task.created_at, task.id) > behind)
        ]
        found.sort(key=lambda task: (task.created_at, task.id))
        return found[:size]

    async def forget(self, id: str) -> None:
        """Its time is over."""
        self._kept.pop(id, None)


def _owner(task: StoredTask) -> _Owner:
    return (task.principal, None if task.principal is not None else task.session)
