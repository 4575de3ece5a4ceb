"""Where a task stands, whichever protocol told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["TaskSnapshot", "TaskState", "TaskStatus", "snapshot_of"]

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

_FINAL = frozenset({"completed", "failed", "cancelled"})
_NO_QUESTIONS: Mapping[str, Any] = {}


class TaskState(NamedTuple):
    """Where a task stands, as the server said it."""

    id: str
    status: TaskStatus
    message: str | None
    """More about it, for people."""
    created_at: str
    """When it was made, in ISO 8601, by the server's clock."""
    updated_at: str
    """When it last changed."""
    ttl_ms: int | None
    """How long it is kept after it was made, at least; None: for ever."""
    poll_ms: int | None
    """How long the server wants to be left alone between two questions; None: it does not say."""

    @property
    def finished(self) -> bool:
        """Whether nothing changes any more."""
        return self.status in _FINAL


class TaskSnapshot(NamedTuple):
    """What a server told of a task: where it stands, and what it carries."""

    state: TaskState
    questions: Mapping[str, Any] = _NO_QUESTIONS
    """What the server asks for before it goes on, by key, where it does not ask live."""
    result: dict[str, Any] | None = None
    """What came of it, as plain JSON, where that comes with the state."""
    error: Any = None
    """The JSON-RPC error that came of it instead."""


def snapshot_of(task: Any) -> TaskSnapshot:
    """What a task of any revision or extension tells."""
    ttl: int | None = task.ttl if hasattr(task, "ttl") else task.ttl_ms
    poll: int | None = task.poll_interval if hasattr(task, "ttl") else task.poll_interval_ms
    return TaskSnapshot(
        TaskState(
            task.task_id,
            task.status,
            task.status_message,
            task.created_at,
            task.last_updated_at,
            ttl,
            poll,
        ),
        getattr(task, "input_requests", None) or _NO_QUESTIONS,
        getattr(task, "result", None),
        getattr(task, "error", None),
    )
