"""A program under test as a child process, connected by pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Child", "ChildEnded", "end_programs_too", "environment", "printed_by"]

ROOT = Path(__file__).parents[1]
LIFE_S = 600.0
"""No program under test lives longer, whatever happens. A group of rows shares its programs."""
PRINTS_S = 60.0
"""Longest run of a program that prints what it has measured."""
REST_S = 1.0
"""Longest wait for a program to rest after its last answer, before its CPU time is read."""


# asyncio reads a pipe into a new buffer of 256 KB, which glibc maps afresh each time: that takes as
# long as a call. With these settings it never does, on either side.
_TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 26)}


class ChildEnded(Exception):
    """The program ended or timed out before it answered."""


def environment() -> dict[str, str]:
    """Return the environment of a child, with bytecode caching enabled as for users."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def printed_by(command: Sequence[str]) -> list[float]:
    """Run a program to its end, and return the numbers that it prints."""
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=PRINTS_S,
    )
    return [float(one) for one in ran.stdout.split()]


def end_programs_too() -> None:
    """Let a request to end this process (SIGTERM) end its programs before."""

    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, leave)


class Child:
    """A Python module of this package, running."""

    def __init__(
        self, module: str, *arguments: str, tuned: bool = False, python: str = sys.executable
    ) -> None:
        command = [python, "-m", f"bench.programs.{module}", *arguments]
        self._begin(" ".join((module, *arguments)), command, _TUNED if tuned else {})

    def _begin(
        self,
        name: str,
        command: Sequence[str],
        settings: Mapping[str, str] = {},
        *,
        quiet: bool = False,
    ) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment(), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        # Reads below block: what ends the child ends them too.
        self._limit = threading.Timer(LIFE_S, self._process.kill)
        self._limit.daemon = True
        self._limit.start()

    @classmethod
    def of(cls, command: Sequence[str], *, quiet: bool = False) -> Self:
        """Start any command.

        Args:
            command: Program and its arguments.
            quiet: Drop what it tells on stderr.
        """
        child = cls.__new__(cls)
        child._begin(" ".join(command[-4:]), command, quiet=quiet)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._limit.cancel()
        self._stdin.close()
        self._stdout.close()
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def write(self, data: bytes) -> None:
        """Write all the bytes."""
        os.write(self._stdin.fileno(), data)

    def read(self) -> bytes:
        """Read the available bytes; at least one."""
        data = os.read(self._stdout.fileno(), 1 << 16)
        if not data:
            raise ChildEnded(self.name)
        return data

    def read_line(self) -> bytes:
        """Read one line; no output may follow it."""
        line = self.read()
        while not line.endswith(b"\n"):
            line += self.read()
        return line

    def ask(self, message: bytes) -> bytes:
        """Send one message and read its answer."""
        self.write(message + b"\n")
        return self.read_line()

    def resident_bytes(self) -> int:
        """Return the resident memory of the child. Linux only."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def cpu_s(self) -> float:
        """Return the CPU time of the child, which has answered all it was asked. Linux only."""
        # The kernel brings the clock of another process up to date when that process rests, or
        # else each 4 ms: a short measurement that ends before is one of nothing.
        until_s = time.monotonic() + REST_S
        while not self._rests() and time.monotonic() < until_s:
            time.sleep(0)  # lets the child have this processor, where there is one alone
        # The clock of another process, as clock_getcpuclockid(3) makes it: getrusage would tell
        # only of children that have ended.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def cpu_since(self, before_s: float) -> float:
        """Return the CPU time since an earlier reading of `cpu_s`.

        Raises:
            RuntimeError: the program did nothing: another process did the work.
        """
        took_s = self.cpu_s() - before_s
        if took_s <= 0:
            raise RuntimeError(f"{self.name} took no CPU time: does it start another program?")
        return took_s

    def _rests(self) -> bool:
        """Return True if no thread of the child runs."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return all(_state(thread / "stat") != "R" for thread in threads)


def _state(path: Path) -> str:
    """Return the state of a thread, the letter after its name in parentheses."""
    try:
        return path.read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"  # it has ended since
