"""Processes forked from one that has imported the needed modules: a start takes milliseconds."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec

__all__ = ["fork", "run_alone", "run_script"]

WAIT_S = 30.0

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.support.processes.preloaded"])


def fork(run: Callable[..., object], argument: Any, stdin: int, stdout: int, stderr: int) -> Any:
    """Run a function of a module in a forked process, and return the process.

    The three descriptors become the standard streams there, and are closed here.
    """
    # These go along with the order to fork; bare descriptors would have to be asked for.
    ends = [Connection(end) for end in (stdin, stdout, stderr)]
    child = _forks.Process(target=_with_streams, args=(run, argument, *ends))
    child.start()
    for end in ends:
        end.close()
    return child


def _with_streams(run: Callable[..., object], argument: Any, *ends: Connection) -> None:
    for public, end in enumerate(ends):
        os.dup2(end.fileno(), public)
        end.close()
    # As in a fresh interpreter: printed text is buffered, and the stream is open until the end.
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    run(argument)


def run_script(words: Sequence[str], stdin: bytes) -> tuple[bytes, bytes, int]:
    """Run a Python script with arguments; return its stdout, stderr and exit status.

    Raises:
        TimeoutError: its stdout was still open after `WAIT_S`.
    """
    return _run(_run_path, list(words), stdin)


def run_alone(measure: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    """Run an async function of a module in a forked process, and return its result.

    A process that runs tests has collected thousands of them: what looks at all its memory takes
    ten times as long there.

    Args:
        measure: The function; its result is written as JSON.
        arguments: Its arguments, which can be pickled.

    Raises:
        AssertionError: it has failed; the text is what the process wrote to stderr.
        TimeoutError: it has not ended after `WAIT_S`.
    """
    stdout, stderr, status = _run(_run_measure, (measure, arguments), b"")
    assert status == 0, stderr.decode()
    return msgspec.json.decode(stdout)


def _run_measure(given: tuple[Callable[..., Coroutine[Any, Any, Any]], tuple[Any, ...]]) -> None:
    measure, arguments = given
    # What coverage.py keeps of each line would be measured, too.
    sys.settrace(None)
    print(msgspec.json.encode(asyncio.run(measure(*arguments))).decode(), flush=True)


def _run(run: Callable[..., object], argument: Any, stdin: bytes) -> tuple[bytes, bytes, int]:
    """Run a function in a forked process; return its stdout, stderr and exit status."""
    taken, given = os.pipe()
    heard, said = os.pipe()
    with tempfile.TemporaryFile() as stderr, ThreadPoolExecutor(2) as threads:
        child = fork(run, argument, taken, said, os.dup(stderr.fileno()))
        try:
            threads.submit(_write, given, stdin)
            stdout = threads.submit(_read, heard).result(WAIT_S)
            child.join(WAIT_S)
        finally:
            if child.exitcode is None:
                child.kill()  # which ends both threads, too
            child.join()
        stderr.seek(0)
        return stdout, stderr.read(), child.exitcode


def _run_path(words: list[str]) -> None:
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


def _write(end: int, data: bytes) -> None:
    # As subprocess does: a process need not read all of its input.
    with suppress(BrokenPipeError), open(end, "wb", 0) as pipe:
        pipe.write(data)


def _read(end: int) -> bytes:
    with open(end, "rb", 0) as pipe:
        return pipe.read()
