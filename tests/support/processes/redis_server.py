"""Redis servers on free ports: one, or a Cluster of three masters. Each is ended by its own id."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from mcp_gen.cluster import Redis
from tests.support.ports import free_port

__all__ = ["ANSWER_S", "BINARY", "RedisServer", "redis_cluster"]

BINARY = shutil.which("redis-server")
"""The server's program; None where it is not installed."""
ANSWER_S = 20.0
"""Seconds within which Redis must answer a node: tests share their machine with others."""
WAIT_S = 30.0
SLOTS = 16384


class RedisServer:
    """A redis-server of its own, without a password, on loopback.

    Args:
        folder: Folder for its files.
        options: More options of the command, such as `--appendonly yes`.
        port: Its port; None for a free one.
    """

    def __init__(self, folder: Path, options: Sequence[str] = (), port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}"

    def node(self, **options: Any) -> Redis:
        """Return a node over it that waits for it on a busy machine, too."""
        return Redis(self.url, **{"timeout_s": ANSWER_S, **options})

    @property
    def pid(self) -> int:
        """Id of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert BINARY is not None
        command = [BINARY, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--daemonize", "no", "--dir", str(self.folder), *self._options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + WAIT_S
        while not self._answers():
            assert self._process.poll() is None, f"redis-server ended: {self._process.returncode}"
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            return bool(self.run("PING"))
        except (redis.ConnectionError, redis.BusyLoadingError):
            return False

    def run(self, *command: str | int) -> Any:
        """Run a command and return its reply; texts are bytes."""
        once = Retry(NoBackoff(), 0)
        with redis.Redis(port=self.port, retry=once, socket_timeout=WAIT_S) as client:
            reply: Any = client.execute_command(*command)
            return reply

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, such as SIGSTOP and SIGCONT."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait until it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        if number is not signal.SIGKILL:
            # A stopped process ends when it goes on.
            process.send_signal(signal.SIGCONT)
        process.wait(WAIT_S)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGKILL)


@contextmanager
def redis_cluster(folder: Path) -> Iterator[list[RedisServer]]:
    """Run a Cluster of three masters."""
    servers = []
    for number in range(3):
        port, bus = free_port(), free_port()
        home = folder / str(number)
        home.mkdir()
        options = ["--cluster-enabled", "yes", "--cluster-port", str(bus)]
        servers.append((RedisServer(home, options, port), bus))
    try:
        for server, _ in servers:
            server.start()
        masters = [server for server, _ in servers]
        for number, server in enumerate(masters):
            first, last = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            server.run("CLUSTER", "ADDSLOTSRANGE", first, last)
            server.run("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server, bus in servers[1:]:
            masters[0].run("CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        end = time.monotonic() + WAIT_S
        while not all(_is_whole(server) for server in masters):
            assert time.monotonic() < end, "the Cluster does not form"
            time.sleep(0.02)
        yield masters
    finally:
        for server, _ in servers:
            server.stop(signal.SIGKILL)


def _is_whole(server: RedisServer) -> bool:
    info: bytes = server.run("CLUSTER", "INFO")
    return b"cluster_state:ok" in info and b"cluster_known_nodes:3" in info
