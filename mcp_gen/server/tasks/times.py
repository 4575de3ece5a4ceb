"""Times of tasks as clients read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.stores.tasks import StoredTask

__all__ = ["iso", "ttl_ms"]


def iso(at: float) -> str:
    """A time in seconds since the epoch, in ISO 8601 with milliseconds, in UTC."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def ttl_ms(task: StoredTask) -> int | None:
    """For how many milliseconds a task is kept after it was made; None: for ever."""
    if task.expires_at is None:
        return None
    return max(1, round((task.expires_at - task.created_at) * 1000))
