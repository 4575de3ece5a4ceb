"""Servers in processes of their own, which count the system calls that they ask for.

Each call from Python of a builtin function that asks the kernel is counted, by the profile function
of the process. That needs no program and no permission, as strace would, and leaves out what malloc
maps, which depends on the C library. It sees Python alone: both servers of a comparison have the
loop of asyncio and the HTTP parser h11.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import IO, Any, NamedTuple

import uvicorn

from tests.support.processes.forked import fork

__all__ = ["Calls", "Counted", "HttpPeer", "StdioPeer", "http_peer", "per_answer", "stdio_peer"]

WAIT_S = 30.0

_KINDS = {"read": 0, "readv": 0, "recv": 0, "recv_into": 0, "recvfrom": 0, "recvmsg": 0} | {
    "write": 1,
    "writev": 1,
    "send": 1,
    "sendto": 1,
    "sendmsg": 1,
    "sendfile": 1,
    "poll": 2,
}
_OTHER = 3
_KERNEL = {"posix", "socket", "_socket", "select", "_io"}
"""Modules whose functions and objects ask the kernel."""
_ASK_NOTHING = {"fspath", "fileno", "gettimeout", "closed"}


class Calls(NamedTuple):
    """System calls: of a process so far, or per answered message."""

    reads: float
    writes: float
    waits: float
    others: float


class Counted:
    """Figures of one process, which another reads while it runs."""

    def __init__(self) -> None:
        self._figures = multiprocessing.get_context("forkserver").RawArray("q", 4)

    def start(self) -> None:
        """Count the calls of this thread from now on."""
        figures = self._figures

        def on_event(frame: FrameType, event: str, called: Any) -> None:
            if event != "c_call":
                return
            owner = called.__self__
            home = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
            if home in _KERNEL and called.__name__ not in _ASK_NOTHING:
                figures[_KINDS.get(called.__name__, _OTHER)] += 1

        sys.setprofile(on_event)

    @property
    def so_far(self) -> Calls:
        """Calls until now."""
        return Calls(*self._figures)


def per_answer(before: Calls, after: Calls, answers: int) -> Calls:
    """Return the calls per answer, of two readings.

    The last wait may not have begun yet, and timers of the loop end some waits early: both are few
    beside the answers, and are rounded away.
    """
    reads, writes, waits, others = (
        (later - earlier) / answers for later, earlier in zip(after, before, strict=True)
    )
    return Calls(round(reads, 1), round(writes, 1), round(waits), round(others, 1))


class _Order(NamedTuple):
    """Order to a forked process."""

    counted: Counted
    program: str
    revision: str


class StdioPeer:
    """A stdio server, asked with bytes."""

    def __init__(self, counted: Counted, given: IO[bytes], heard: IO[bytes]) -> None:
        self.counted = counted
        self._given = given
        self._heard = heard

    def tell(self, message: bytes) -> None:
        """Send one message."""
        os.write(self._given.fileno(), message + b"\n")

    def ask(self, *messages: bytes) -> list[bytes]:
        """Send messages in one write, and return as many answers."""
        self.tell(b"\n".join(messages))
        return [self._heard.readline() for _ in messages]


class HttpPeer:
    """An HTTP server, asked over one connection."""

    def __init__(self, counted: Counted, pid: int, connection: socket.socket) -> None:
        self.counted = counted
        self._pid = pid
        self._connection = connection
        self._stream = connection.makefile("rb")

    def ask(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        """POST a body in one write to a server that waits; return the answer's status and headers.

        A request that came before the server waits again would save it that: how many do depends on
        the machine.
        """
        _until_it_sleeps(self._pid)
        fields = {
            "host": "localhost",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        status = int(self._stream.readline().split()[1])
        answered: dict[str, str] = {}
        while line := self._stream.readline().strip():
            name, _, value = line.decode().partition(":")
            answered[name.lower()] = value.strip()
        self._stream.read(int(answered.get("content-length", "0")))
        return status, answered


def _until_it_sleeps(pid: int) -> None:
    stat, end_s = Path(f"/proc/{pid}/stat"), time.monotonic() + WAIT_S
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
        assert time.monotonic() < end_s, "the server is busy"


@contextmanager
def _running(serve: Any, program: str, revision: str) -> Iterator[tuple[Counted, int, Any, Any]]:
    counted = Counted()
    stdin, given = os.pipe()
    heard, stdout = os.pipe()
    child = fork(serve, _Order(counted, program, revision), stdin, stdout, os.dup(2))
    with open(given, "wb", 0) as to, open(heard, "rb") as out:
        try:
            yield counted, child.pid, to, out
        finally:
            child.terminate()
            child.join(WAIT_S)


@contextmanager
def stdio_peer(program: str, revision: str) -> Iterator[StdioPeer]:
    """Start a server over stdio, `ours` or `bare`."""
    with _running(_serve_stdio, program, revision) as (counted, _, given, heard):
        yield StdioPeer(counted, given, heard)


@contextmanager
def http_peer(program: str, revision: str) -> Iterator[HttpPeer]:
    """Start a server over HTTP, `ours` or `bare`, and connect to it."""
    with _running(_serve_http, program, revision) as (counted, pid, _, heard):
        address = ("127.0.0.1", int(heard.readline()))
        with socket.create_connection(address, WAIT_S) as connection:
            yield HttpPeer(counted, pid, connection)


def _serve_stdio(order: _Order) -> None:
    # As in a fresh interpreter: multiprocessing has put another one there. Open until the end.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    order.counted.start()
    if order.program == "bare":
        from bench.programs import bare_stdio

        asyncio.run(bare_stdio.main(order.revision))
    else:
        from bench.programs.ours import server

        server.run("stdio")


class _WithoutTick(uvicorn.Server):
    """The web server without what it does ten times a second: on a slow machine more per call."""

    async def main_loop(self) -> None:
        """Wait until a signal ends the server."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        await self._ended.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the server."""
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self._ended.set)


def _serve_http(order: _Order) -> None:
    from bench.programs import http
    from bench.programs.ours import server

    app = http.bare(order.revision) if order.program == "bare" else server.asgi()
    # asyncio turns Nagle's algorithm off where the protocol is named; else each answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, loop="asyncio", http="h11", lifespan="off", access_log=False, log_level="warning"
    )
    order.counted.start()
    _WithoutTick(config).run(sockets=[listener])
