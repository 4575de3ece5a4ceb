"""Time that a process had for itself: on a busy machine less than has passed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcp_gen.transports.process_tree import ProcessTree

__all__ = ["ProcessTime", "Used"]

HELD = ("R", "D")
"""States of threads that would go on at once, if they had a processor or their disk."""


class Used(NamedTuple):
    """Use of the processors by a process and its children.

    Args:
        ran_s: Seconds in which a thread ran.
        held_s: Seconds in which a thread could have run, and had no processor.
        is_held: True if a thread runs now, or waits for a processor or a disk.
    """

    ran_s: float
    held_s: float
    is_held: bool


class ProcessTime:
    """Use of the processors since this was made; none where /proc does not tell.

    Args:
        pid: Process id of a command that leads its process group.

    Source: https://docs.kernel.org/scheduler/sched-stats.html
    """

    def __init__(self, pid: int) -> None:
        self._tree = ProcessTree(pid)
        self._before = {name: times for name, (times, _) in self._threads().items()}
        self._seen: dict[str, tuple[float, float]] = {}
        """The last times of every thread, also of those that have ended since."""

    def used(self) -> Used:
        """Return the use until now."""
        threads = self._threads()
        self._seen |= {name: times for name, (times, _) in threads.items()}
        ran_s = held_s = 0.0
        for name, (ran, held) in self._seen.items():
            ran_before, held_before = self._before.get(name, (0.0, 0.0))
            ran_s += ran - ran_before
            held_s += held - held_before
        return Used(ran_s, held_s, any(state in HELD for _, state in threads.values()))

    def _threads(self) -> dict[str, tuple[tuple[float, float], str]]:
        """Return the times and the state of every thread, by its name in /proc."""
        found: dict[str, tuple[tuple[float, float], str]] = {}
        for pid in self._tree.processes():
            # A process or a thread may end meanwhile.
            with suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    with suppress(OSError):
                        ran, held, *_ = (thread / "schedstat").read_text().split()
                        stat = (thread / "stat").read_text()
                        # The name, which may hold spaces, ends with the last parenthesis.
                        state = stat.rpartition(")")[2].split()[0]
                        found[str(thread)] = (int(ran) / 1e9, int(held) / 1e9), state
        return found
