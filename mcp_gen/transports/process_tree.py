"""Ends the processes that a command has started: its group, and what has left the group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

__all__ = ["Guard", "ProcessTree"]

POLL_S = 0.02
"""Interval of the checks whether the processes have ended, in seconds."""
SHELL = "/bin/sh"
ENDED = ("Z", "X")
"""States of processes that have ended."""

_GUARD = """
while read -r _; do :; done
sleep "$2"
kill -s TERM -- "-$1" || exit
turns=$3
while [ "$turns" -gt 0 ] && kill -s 0 -- "-$1"; do sleep 0.1; turns=$((turns - 1)); done
kill -s KILL -- "-$1"
"""
"""Shell script of a guard: waits for the end of its stdin, then ends the group $1."""


class ProcessTree:
    """Processes of a command that was started in a session, and so in a group, of its own.

    A process that has begun a session of its own is not in the group. On Linux it is found as long
    as the process that started it lives, which /proc tells; elsewhere it is not.

    Args:
        leader: Process id of the command, which is that of its group, too.
    """

    def __init__(self, leader: int) -> None:
        self._group = leader
        self._strays: dict[int, str] = {}
        """Processes outside the group, with the time of their start."""

    def processes(self) -> list[int]:
        """Return the command and all that it has started and that lives; without /proc it alone."""
        below = [self._group]
        for pid in below:
            below += _children(pid)
        return below

    def look(self) -> None:
        """Find the processes that the command has started outside its group until now."""
        for pid in self.processes()[1:]:
            started = _start_of(pid)
            if started is not None and _group_of(pid) != self._group:
                self._strays[pid] = started

    def signal(self, number: int) -> bool:
        """Send a signal to all processes; return False if none is left."""
        # A list: every one gets it.
        return any([self._signal_group(number), *(_signal(one, number) for one in self._living())])

    def kill(self) -> None:
        """Kill all processes."""
        self.signal(signal.SIGKILL)

    async def wait_ended(self, wait_s: float) -> None:
        """Wait until no process is left that runs. No event reports this, so it is polled.

        One that has ended stays in its group until its parent has taken note of it, or that of an
        orphan, process 1, which in containers may never do so.

        Args:
            wait_s: Most seconds to wait.
        """
        for _ in range(int(wait_s / POLL_S)):
            if not self.signal(0) or not (self._living() or _runs(self._group)):
                return
            await asyncio.sleep(POLL_S)

    def _signal_group(self, number: int) -> bool:
        try:
            os.killpg(self._group, number)
        except (ProcessLookupError, PermissionError):  # macOS: PermissionError for ended processes
            return False
        return True

    def _living(self) -> list[int]:
        # A process id may be another process by now.
        return [pid for pid, started in self._strays.items() if _start_of(pid) == started]


class Guard:
    """Ends the group of a command if this process dies without closing it, as by SIGKILL.

    It is a shell of its own session, that waits for the end of its stdin: the kernel closes the
    other end with this process, however that ends.

    Args:
        group: Id of the process group.
        close_stdin_wait_s: Seconds that the command gets to end by itself; its stdin has ended.
        terminate_wait_s: Seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, group: int, close_stdin_wait_s: float, terminate_wait_s: float) -> None:
        turns = round(terminate_wait_s * 10)
        words = [SHELL, "-c", _GUARD, "mcp-gen-guard", str(group), str(close_stdin_wait_s)]
        self._process: subprocess.Popen[bytes] | None = None
        # Without a shell the command has the end of its stdin alone.
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [*words, str(turns)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath},
                start_new_session=True,
            )

    def end(self) -> None:
        """End the guard: the processes are ended by whoever calls this. A second call is fine."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started and that live; empty without /proc."""
    found: list[int] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # a process that has just ended
        return found
    for thread in threads:
        try:
            found += map(int, (thread / "children").read_text().split())
        except OSError:  # a thread that has just ended
            continue
    return found


def _runs(group: int) -> bool:
    """Return True if a process of a group has not ended; always without /proc."""
    stats = list(Path("/proc").glob("[0-9]*/stat"))
    for path in stats:
        with contextlib.suppress(OSError):
            # The name, which may hold spaces, ends with the last parenthesis.
            state, _, its_group, *_ = path.read_text().rpartition(")")[2].split()
            if int(its_group) == group and state not in ENDED:
                return True
    return not stats


def _start_of(pid: int) -> str | None:
    """Return when a process was started, in ticks; None if it has ended.

    Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, which may hold spaces, ends with the last parenthesis.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]
