"""Progress of an examination on stderr: steps done and findings, by revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["DoctorProgress"]


class DoctorProgress:
    """Progress bars, one per revision; without a terminal there are none.

    Args:
        steps: Number of steps by revision: checks of a server, runs of a client.
        console: The console; one on stderr by default.
    """

    def __init__(self, steps: Mapping[str, int], console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[found]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._found = dict.fromkeys(steps, 0)
        self._tasks = {
            revision: self._progress.add_task(revision, total=total, found="")
            for revision, total in steps.items()
        }

    def __enter__(self) -> DoctorProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def advance(self, revision: str, findings: int = 0) -> None:
        """Count a step that is done at a revision, and what it found."""
        self._found[revision] += findings
        found = self._found[revision]
        text = f"{found} finding{'s' * (found != 1)}" if found else ""
        self._progress.update(self._tasks[revision], advance=1, found=text)
