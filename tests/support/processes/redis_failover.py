"""Redis with a replica that takes over: under a Sentinel, and in a Cluster."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.processes.redis_server import BINARY, SLOTS, RedisServer

__all__ = ["SERVICE", "SentinelPair", "replica_in_cluster", "sentinel_pair"]

SERVICE = "shop"
WAIT_S = 30.0
DOWN_AFTER_MS = 1000


class SentinelPair:
    """A master, its replica, and the Sentinel that watches both.

    Args:
        master: The master at the beginning.
        replica: Its replica.
        port: Port of the Sentinel.
    """

    def __init__(self, master: RedisServer, replica: RedisServer, port: int) -> None:
        self.master = master
        self.replica = replica
        self.port = port


@contextmanager
def sentinel_pair(folder: Path) -> Generator[SentinelPair]:
    """Run a master, a replica and a Sentinel."""
    homes = [folder / name for name in ("master", "replica", "sentinel")]
    for home in homes:
        home.mkdir()
    with (
        RedisServer(homes[0]) as master,
        RedisServer(homes[1], ["--replicaof", "127.0.0.1", str(master.port)]) as replica,
        _sentinel(homes[2], master) as port,
    ):
        watcher = RedisServer(folder, port=port)
        _wait(lambda: "'slaves': 1" in str(watcher.run("INFO", "sentinel")["master0"]))
        _wait(lambda: "master_link_status:up" in _told(replica, "replication"))
        yield SentinelPair(master, replica, port)


@contextmanager
def _sentinel(home: Path, master: RedisServer) -> Generator[int]:
    port, settings = free_port(), home / "sentinel.conf"
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {home}\n"
        f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 1\n"
        f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
        f"sentinel failover-timeout {SERVICE} 3000\n"
    )
    assert BINARY is not None
    process = subprocess.Popen(
        [BINARY, str(settings), "--sentinel"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(lambda: _answers(port))
        yield port
    finally:
        process.kill()
        process.wait(WAIT_S)


@contextmanager
def replica_in_cluster(folder: Path, masters: Sequence[RedisServer], key: str) -> Generator[int]:
    """Add a replica of the master that has a key to a Cluster.

    Yields:
        Number of the master.
    """
    slot = masters[0].run("CLUSTER", "KEYSLOT", key)
    number = max(n for n in range(len(masters)) if n * SLOTS // len(masters) <= slot)
    folder.mkdir()
    options = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
    with RedisServer(folder, options) as replica:
        for server in (*masters, replica):
            server.run("CONFIG", "SET", "cluster-node-timeout", DOWN_AFTER_MS)
        nodes = masters[0].run("CLUSTER", "NODES").decode().splitlines()
        [own] = [line.split()[1] for line in nodes if "myself" in line]
        port, _, bus_port = own.rpartition(":")[2].partition("@")
        replica.run("CLUSTER", "MEET", "127.0.0.1", port, bus_port)
        id = masters[number].run("CLUSTER", "MYID").decode()
        _wait(lambda: id in str(replica.run("CLUSTER", "NODES")))
        replica.run("CLUSTER", "REPLICATE", id)
        _wait(lambda: "connected_slaves:1" in _told(masters[number], "replication"))
        _wait(lambda: "master_link_status:up" in _told(replica, "replication"))
        _wait(lambda: all("slave" in str(one.run("CLUSTER", "NODES")) for one in masters))
        yield number


def _told(server: RedisServer, section: str) -> str:
    """Return a section of INFO, as `name:value`."""
    facts: dict[str, object] = server.run("INFO", section)
    return "\n".join(f"{name}:{value}" for name, value in facts.items())


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "Redis does not get ready"
        time.sleep(0.02)
