"""State of a task, independent of the task protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["TaskSnapshot", "TaskState", "TaskStatus", "snapshot_of"]

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

_FINAL = frozenset({"completed", "failed", "cancelled"})
_NO_INPUT_REQUESTS: Mapping[str, Any] = {}


class TaskState(NamedTuple):
    """State of a task, as the server last reported it."""

    id: str
    """Task id."""
    status: TaskStatus
    """`working`, `input_required`, `completed`, `failed` or `cancelled`."""
    message: str | None
    """Status message for people; None if there is none."""
    created_at: str
    """Creation time in ISO 8601, by the server's clock."""
    updated_at: str
    """Time of the last change, in ISO 8601, by the server's clock."""
    ttl_ms: int | None
    """Milliseconds that the task is kept after its creation, at least; None: without limit."""
    poll_ms: int | None
    """Milliseconds that the server wants between two polls; None if it does not say."""

    @property
    def finished(self) -> bool:
        """True if the status is final: completed, failed or cancelled."""
        return self.status in _FINAL


class TaskSnapshot(NamedTuple):
    """State of a task with the data that came with it."""

    state: TaskState
    input_requests: Mapping[str, Any] = _NO_INPUT_REQUESTS
    """Input requests of the task by key, where they come with its state."""
    result: dict[str, Any] | None = None
    """Result of the task as plain JSON, where it comes with the state."""
    error: Any = None
    """JSON-RPC error of a failed task, where it comes with the state."""


def snapshot_of(task: Any) -> TaskSnapshot:
    """Return the snapshot of a task of any revision or extension."""
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
        getattr(task, "input_requests", None) or _NO_INPUT_REQUESTS,
        getattr(task, "result", None),
        getattr(task, "error", None),
    )
