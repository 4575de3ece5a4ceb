"""Task stores: Protocols and in-memory implementation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Raw, Struct
from msgspec.structs import replace

__all__ = [
    "FINAL",
    "NOTHING",
    "MemoryTaskStore",
    "SharedTaskStore",
    "StoredTask",
    "TaskStatus",
    "TaskStore",
]

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
"""Status of a task, as in the protocol."""

FINAL = frozenset({"completed", "failed", "cancelled"})
"""Final statuses: a task that has one does not change any more."""

_Owner: TypeAlias = tuple[str | None, str | None]

NOTHING = Raw(b"null")
"""Value of `result` and `error` where there is none."""


class StoredTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task in a form that any store can keep: `msgspec.json` encodes and decodes it.

    State that only a process can have is not part of it: the running handler, and who waits for it.
    """

    id: str
    """The task id. It cannot be guessed: without principals, knowing it grants access."""
    status: TaskStatus = "working"
    """`failed` if there is an `error`; a failed tool call is `completed` with its result."""
    message: str | None = None
    """Status message for people; None for none."""
    created_at: float
    """Time of creation, in seconds since the epoch, like all times here."""
    updated_at: float
    """Time of the last change."""
    expires_at: float | None
    """Time after which the task may be deleted, whatever its status; None for never."""
    revision: str
    """Revision of `result`."""
    result: Raw = NOTHING
    """Result of the request, as JSON."""
    is_error: bool = False
    """True if the result has `isError`."""
    error: Raw = NOTHING
    """JSON-RPC error of the request, instead of a result."""
    questions: dict[str, Raw] = {}
    """Input requests without an answer yet, by key, where the client polls for them."""
    principal: str | None = None
    """The user that the task belongs to; None where users are not authenticated."""
    session: str | None = None
    """Id of the session whose `tasks/list` shows the task, where there is no principal."""
    scopes: tuple[str, ...] = ()
    """Scopes that its call needed, and that requests about it need as well."""
    node: str | None = None
    """Node or worker that runs the task; None for none, and without a cluster."""
    tool: str | None = None
    """Name of the tool that a worker runs; None if no worker is to run it."""
    arguments: Raw = NOTHING
    """JSON that the worker runs the tool with."""
    retry: bool = False
    """True if a task whose worker was lost may be run again."""
    attempt: int = 0
    """Number of times that the task was claimed."""
    claimed_until: float | None = None
    """Time at which the claim of `node` lapses; None if the task is not claimed."""

    @property
    def is_final(self) -> bool:
        """True if the status is final."""
        return self.status in FINAL


class TaskStore(Protocol):
    """Stores tasks until they expire. Awaited on the server's event loop.

    A task runs in the process that created it; any process can answer `tasks/get` from the store.
    Requests that change a task should reach the process that runs it: route by the header that
    mirrors its id. An error of a store is returned to the client that asked, or else logged.
    """

    async def add(self, task: StoredTask, now: float) -> bool:
        """Store a new task.

        Args:
            task: The task. It must be stored when this returns.
            now: The current time, in seconds since the epoch.

        Returns:
            False if there are too many tasks.
        """
        ...

    async def save(self, task: StoredTask) -> bool:
        """Replace a stored task, unless the stored one is final or gone.

        It must be atomic: if two processes end one task, only the first succeeds. A shared store
        refuses a task with another `attempt` as well, which is that of a worker that lost it, and
        does not change the stored `node` and `claimed_until`.

        Returns:
            True if the task was stored.
        """
        ...

    async def load(self, id: str) -> StoredTask | None:
        """Return the task with that id; None if unknown. It may return an expired task."""
        ...

    async def page(
        self,
        principal: str | None,
        session: str | None,
        behind: tuple[float, str] | None,
        size: int,
    ) -> Sequence[StoredTask]:
        """Return one page of tasks, ordered by `created_at` and `id`.

        Args:
            principal: The user whose tasks to list; None where users are not authenticated.
            session: Id of the session whose tasks to list, where `principal` is None.
            behind: `created_at` and `id` of the last task of the previous page; None for the first
                page.
            size: Maximum number of tasks.
        """
        ...

    async def forget(self, id: str) -> None:
        """Delete an expired task. A store that expires tasks by itself need not do anything."""
        ...


class SharedTaskStore(TaskStore, Protocol):
    """Task store of a cluster: a worker claims a task before it runs it.

    Where the store cannot be reached, methods raise StoreDown.
    """

    async def claim(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Claim a task; of several workers that try, only one succeeds.

        A claimed task can be claimed again once its claim has lapsed, and only if it has `retry`.

        Args:
            id: The task id.
            worker: The worker; it becomes the task's `node`, and `attempt` grows by 1.
            lease_s: Seconds after `now` at which the claim lapses.
            now: The current time, in seconds since the epoch.

        Returns:
            False if the task is claimed, final or gone.
        """
        ...

    async def renew(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Extend a claim, which may have lapsed.

        Args:
            id: The task id.
            worker: The worker that has claimed it.
            lease_s: Seconds after `now` at which the claim lapses.
            now: The current time, in seconds since the epoch.

        Returns:
            False if the worker does not have the claim any more, or the task is final or gone.
        """
        ...

    async def release(self, id: str, worker: str) -> bool:
        """Give a claim back: the worker has not begun, and another may claim the task.

        Args:
            id: The task id.
            worker: The worker that has claimed it.

        Returns:
            False if the worker does not have the claim any more, or the task is final or gone.
        """
        ...


class MemoryTaskStore:
    """Stores tasks in the memory of this process.

    When the store is full, expired tasks are dropped. If there are none, a new task replaces the
    oldest final task of its own owner (principal, or session). An owner without one replaces a
    final task of the owner with the most tasks, if that owner has more tasks than this one would
    have.

    Args:
        max_tasks: Maximum number of tasks.
    """

    def __init__(self, *, max_tasks: int = 10_000) -> None:
        self._max_tasks = max_tasks
        self._tasks: dict[str, StoredTask] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, id: str) -> bool:
        return id in self._tasks

    async def add(self, task: StoredTask, now: float) -> bool:
        """Store a new task, if there is room; see `TaskStore.add`."""
        if len(self._tasks) >= self._max_tasks and not self._make_room(task, now):
            return False
        self._tasks[task.id] = task
        return True

    def _make_room(self, task: StoredTask, now: float) -> bool:
        expired = [one.id for one in self._tasks.values() if (one.expires_at or now) < now]
        if not expired:
            expired = self._evictable(task)
        for id in expired:
            del self._tasks[id]
        return bool(expired)

    def _evictable(self, task: StoredTask) -> list[str]:
        owner, over = _owner(task), [one for one in self._tasks.values() if one.is_final]
        own = next((one.id for one in over if _owner(one) == owner), None)
        if own is not None or not over:
            return [] if own is None else [own]
        # Otherwise one client could fill the store and lock out others until its tasks expire.
        held = Counter(map(_owner, self._tasks.values()))
        candidate = max(over, key=lambda one: held[_owner(one)])
        return [candidate.id] if held[_owner(candidate)] > held[owner] + 1 else []

    async def save(self, task: StoredTask) -> bool:
        """Replace a stored task; see `TaskStore.save`."""
        stored = self._tasks.get(task.id)
        if stored is None or stored.is_final or stored.attempt != task.attempt:
            return False
        if stored.node != task.node or stored.claimed_until != task.claimed_until:
            task = replace(task, node=stored.node, claimed_until=stored.claimed_until)
        self._tasks[task.id] = task
        return True

    async def load(self, id: str) -> StoredTask | None:
        """Return the task with that id; None if unknown."""
        return self._tasks.get(id)

    async def page(
        self,
        principal: str | None,
        session: str | None,
        behind: tuple[float, str] | None,
        size: int,
    ) -> Sequence[StoredTask]:
        """Return one page of tasks, ordered by `created_at` and `id`; see `TaskStore.page`."""
        found = [
            task
            for task in self._tasks.values()
            if task.principal == principal
            and (principal is not None or (session is not None and task.session == session))
            and (behind is None or (task.created_at, task.id) > behind)
        ]
        found.sort(key=lambda task: (task.created_at, task.id))
        return found[:size]

    async def forget(self, id: str) -> None:
        """Delete an expired task."""
        self._tasks.pop(id, None)

    # --- workers ---

    async def claim(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Claim a task; see `SharedTaskStore.claim`."""
        stored = self._tasks.get(id)
        if stored is None or stored.is_final:
            return False
        until = stored.claimed_until
        if until is not None and (until > now or not stored.retry):
            return False
        self._tasks[id] = replace(
            stored, node=worker, attempt=stored.attempt + 1, claimed_until=now + lease_s
        )
        return True

    async def renew(self, id: str, worker: str, lease_s: float, now: float) -> bool:
        """Extend a claim; see `SharedTaskStore.renew`."""
        return self._claimed(id, worker, now + lease_s)

    async def release(self, id: str, worker: str) -> bool:
        """Give a claim back; see `SharedTaskStore.release`."""
        return self._claimed(id, worker, None)

    def _claimed(self, id: str, worker: str, until: float | None) -> bool:
        stored = self._tasks.get(id)
        if stored is None or stored.is_final:
            return False
        if stored.node != worker or stored.claimed_until is None:
            return False
        self._tasks[id] = replace(stored, claimed_until=until)
        return True


def _owner(task: StoredTask) -> _Owner:
    return (task.principal, None if task.principal is not None else task.session)
