"""Progress callbacks that outlive their request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_wire.peer_calls import OnProgress

__all__ = ["DetachedProgress"]


class DetachedProgress:
    """Progress callback that stays registered after the response, until it is released.

    For requests that are answered with a task: the progress token stays valid while it runs.

    Args:
        report: Callback to pass progress notifications to.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
    """

    __slots__ = ("_report", "release", "report")

    def __init__(self, report: OnProgress) -> None:
        self._report = report
        self.report = 0
        """Number of progress notifications so far."""
        self.release: Callable[[], Any] = _nothing
        """Unregisters the callback; set once the request has been answered."""

    def __call__(self, progress: float, total: float | None, message: str | None) -> Any:
        """Pass one progress notification to the callback."""
        self.report += 1
        return self._report(progress, total, message)


def _nothing() -> None:
    """Do nothing: the callback has not been kept after a response yet."""
