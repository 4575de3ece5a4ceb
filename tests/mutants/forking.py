"""A process that has imported what the tests need, and forks for each run of pytest.

The start of pytest with its plugins takes longer than the tests that find most faults. Neither the
sources nor the tests are imported before the fork.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

__all__ = ["Forks"]

PRELOADED = (
    "unittest.mock",
    "multiprocessing.forkserver",
    "hypothesis.strategies",
    "msgspec",
    "jsonschema_rs",
    "httpcore2",
    "anyio",
    "rich.console",
    "typer",
    "uvicorn",
    "starlette.applications",
    "pydantic",
    "cryptography.fernet",
)


PR_SET_CHILD_SUBREAPER = 36
"""The call of Linux that makes a process the parent of what its children leave behind."""


class Forks:
    """Runs pytest in forked processes, one at a time.

    Args:
        folder: Where it runs.
        environment: Environment of the processes.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.forking"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._pid: int | None = None

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], limit_s: float
    ) -> int | None:
        """Run pytest and return its exit status; None if the time is over.

        Args:
            arguments: Arguments of pytest.
            environment: Variables of this run alone.
            limit_s: Seconds after which the run is ended.
        """
        assert self._parent.stdin is not None
        order = json.dumps({"arguments": list(arguments), "environment": dict(environment)})
        self._parent.stdin.write(order.encode() + b"\n")
        self._pid = int(self._line())
        in_time = self._is_readable(limit_s)
        if not in_time:
            self.kill()
        status = int(self._line())
        self._pid = None
        return status if in_time else None

    def kill(self) -> None:
        """End the run in progress, with the processes of its group; what is left ends after it."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def close(self) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self.kill()
        self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait()

    def _is_readable(self, limit_s: float) -> bool:
        assert self._parent.stdout is not None
        return bool(select.select([self._parent.stdout], [], [], limit_s)[0])

    def _line(self) -> bytes:
        assert self._parent.stdout is not None
        line = self._parent.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks has ended")
        return line


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for name in PRELOADED:
        # What only some tests need may be missing.
        with suppress(ImportError):
            import_module(name)
    # Otherwise the first collection in each process would copy all of that.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(order["arguments"], order["environment"])
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        _end_children()
        print(os.waitstatus_to_exitcode(status), flush=True)


def _end_children() -> None:
    """End all that a run has left behind: servers in a session of their own, however deep.

    The children of a process that ends become children of this one, before it can be waited for.
    """
    mine = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    with suppress(ChildProcessError):
        while True:
            for child in mine.read_text().split():
                os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)


def _run(arguments: list[str], environment: dict[str, str]) -> None:
    """Run pytest in the forked process, and end it."""
    status = 3
    try:
        os.setsid()
        os.environ.update(environment)
        null = os.open(os.devnull, os.O_RDWR)
        for public in range(3):
            os.dup2(null, public)
        os.close(null)
        sys.argv = ["pytest", *arguments]
        status = int(pytest.main(arguments))
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
