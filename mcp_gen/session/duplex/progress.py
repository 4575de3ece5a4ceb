"""Reports of progress that go on after the request they belong to was answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_wire.callers import OnProgress

__all__ = ["DetachedProgress"]


class DetachedProgress:
    """Told of progress as `report` is, until it is released: by whoever made it.

    For requests that are answered with a task: their token stays good as long as it runs.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
    """

    __slots__ = ("_report", "release", "report")

    def __init__(self, report: OnProgress) -> None:
        self._report = report
        self.report = 0
        """How often there was progress."""
        self.release: Callable[[], Any] = _nothing
        """Ends it; set once the request was answered."""

    def __call__(self, progress: float, total: float | None, message: str | None) -> Any:
        """Pass a report on."""
        self.report += 1
        return self._report(progress, total, message)


def _nothing() -> None:
    """Nothing has been kept yet."""
