"""The stdio server as a real process: fed at once, or line by line."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from tests.support.checks.watch import watch
from tests.support.processes.forked import run_script

__all__ = ["WAIT_S", "Child", "Ran", "feed", "feed_fresh", "running", "started"]

SCRIPT = Path(__file__).with_name("stdio_server.py")
WAIT_S = 30.0


def command(options: dict[str, Any]) -> list[str]:
    """Return the command that starts the server with these options."""
    return [sys.executable, str(SCRIPT), json.dumps(options)]


@dataclass(frozen=True)
class Ran:
    """Completed run of the server."""

    stdout: bytes
    stderr: str
    status: int

    @property
    def frames(self) -> list[Any]:
        """Frames on stdout, in order."""
        return [msgspec.json.decode(line) for line in self.stdout.splitlines()]

    def answer(self, id: Any) -> Any:
        """Return the only response with this id."""
        (found,) = [f for f in self.frames if type(f) is dict and f.get("id") == id]
        return found


def feed(data: bytes | Sequence[bytes], **options: Any) -> Ran:
    """Run the server with this input, lines or bytes; stdin ends with the input.

    Its process is forked, since most tests ask what it answers. `feed_fresh` starts an interpreter.
    """
    whole = _joined(data)
    _, *words = command(options)
    return _watched(whole, *run_script(words, whole))


def feed_fresh(data: bytes | Sequence[bytes], **options: Any) -> Ran:
    """Run the server as `feed` does, as a command: an interpreter that begins and ends."""
    whole = _joined(data)
    ran = subprocess.run(
        command(options), input=whole, capture_output=True, timeout=WAIT_S, check=False
    )
    return _watched(whole, ran.stdout, ran.stderr, ran.returncode)


def _joined(data: bytes | Sequence[bytes]) -> bytes:
    return data if isinstance(data, bytes) else b"".join(line + b"\n" for line in data)


def _watched(stdin: bytes, stdout: bytes, stderr: bytes, status: int) -> Ran:
    """Return the run, after its frames were checked."""
    seen = watch()
    for line in stdin.splitlines():
        seen.saw("client", line)
    for line in stdout.splitlines():
        seen.saw("server", line)
    return Ran(stdout, stderr.decode(), status)


class Child:
    """Running server. Every wait has a time limit."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._seen = watch()
        self._written = b""
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: queue.Queue[bytes] = queue.Queue()
        self._threads = [
            threading.Thread(target=_pump, args=(process.stdout, self._lines)),
            threading.Thread(target=_pump, args=(process.stderr, self._errors)),
        ]
        for thread in self._threads:
            thread.start()
        self.stderr = ""

    def send(self, *lines: bytes) -> None:
        """Send messages, one per line."""
        self.write(b"".join(line + b"\n" for line in lines))

    def write(self, data: bytes) -> None:
        """Write bytes to stdin; a message may be cut anywhere."""
        *lines, self._written = (self._written + data).split(b"\n")
        for line in lines:
            self._seen.saw("client", line)
        os.write(_pipe(self.process.stdin).fileno(), data)

    def next(self) -> Any:
        """Return the next frame."""
        line = self._lines.get(timeout=WAIT_S)
        self._seen.saw("server", line)
        return msgspec.json.decode(line)

    def answer(self, id: Any) -> Any:
        """Return the response with this id; earlier frames are skipped."""
        while True:
            frame = self.next()
            if type(frame) is dict and frame.get("id") == id:
                return frame

    def says(self, text: str) -> None:
        """Wait until the server has written this to stderr."""
        while text not in self.stderr:
            self.says_more()

    def says_more(self) -> None:
        """Wait for one more line on stderr."""
        self.stderr += self._errors.get(timeout=WAIT_S).decode()

    def heard(self) -> str:
        """Return the text on stderr so far."""
        while not self._errors.empty():
            self.stderr += self._errors.get_nowait().decode()
        return self.stderr

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        self.process.send_signal(number)

    def close_stdin(self) -> None:
        """Close stdin, as a client that disconnects."""
        _pipe(self.process.stdin).close()

    def ended(self) -> int:
        """Return the exit status; stderr is complete afterwards."""
        status = self.process.wait(WAIT_S)
        for thread in self._threads:
            thread.join(WAIT_S)
        self.heard()
        return status


def running(**options: Any) -> AbstractContextManager[Child]:
    """Start the server as a process, which is stopped afterwards."""
    return started(command(options))


@contextmanager
def started(words: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[Child]:
    """Start a command as a process, which is stopped afterwards with its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in a background job of a script; child processes would ignore the signal, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=env,
    )
    child = Child(process)
    try:
        yield child
    finally:
        # A process that is left would hold the pipes open, and their readers would wait for ever.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        child.ended()
        for pipe in (process.stdin, process.stdout, process.stderr):
            _pipe(pipe).close()


def _pump(pipe: IO[bytes] | None, into: queue.Queue[bytes]) -> None:
    for line in _pipe(pipe):
        into.put(line)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
