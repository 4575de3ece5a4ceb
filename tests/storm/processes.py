"""Processes of a cluster: nodes, the store and the balancer. All end by their ids."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import TypeAlias

from tests.support.ports import free_port

__all__ = ["HOST", "Machine", "Missing", "Process", "Program", "binary", "user_of"]

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
STARTS_S = 60.0
ENDS_S = 10.0
LOOK_S = 0.05
PLACES = (*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/usr/local/sbin")


class Missing(Exception):
    """A program that the storm needs is not installed."""


def binary(name: str) -> str:
    """Return the path of a program.

    Raises:
        Missing: it is not installed.
    """
    found = shutil.which(name, path=os.pathsep.join(PLACES))
    if found is None:
        raise Missing(f"{name} is not installed: apt-get install redis-server nginx-light")
    return found


@dataclass
class Process:
    """A command that can be started again and listens on a port."""

    name: str
    words: tuple[str, ...]
    port: int
    log: Path
    env: dict[str, str] = field(default_factory=dict[str, str])
    running: asyncio.subprocess.Process | None = None
    past: list[int] = field(default_factory=list[int])
    """Process ids, the newest last."""

    @property
    def pid(self) -> int:
        """Id of the newest process."""
        return self.past[-1]

    async def start(self) -> None:
        """Start the command, and wait until it listens.

        Raises:
            RuntimeError: it ended, or does not listen in time.
        """
        with self.log.open("ab") as log:
            self.running = await asyncio.create_subprocess_exec(
                *self.words,
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal goes to this process alone, which ends all in order.
                start_new_session=True,
            )
        self.past.append(self.running.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(STARTS_S):
                while self.running.returncode is None:
                    if await self.listens():
                        return
                    await asyncio.sleep(LOOK_S)
        said = self.log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{self.name} does not listen: {said}")

    async def listens(self) -> bool:
        """Return True if a connection to its port is accepted."""
        try:
            _, writer = await asyncio.open_connection(HOST, self.port)
        except OSError:
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        if self.running is not None and self.running.returncode is None:
            with suppress(ProcessLookupError):
                self.running.send_signal(number)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int | None:
        """End the process, by force if the signal does not; return its exit status."""
        if self.running is None:
            return None
        if number != signal.SIGKILL:
            self.send(signal.SIGCONT)
        self.send(number)
        try:
            async with asyncio.timeout(ENDS_S):
                return await self.running.wait()
        except TimeoutError:
            self.send(signal.SIGKILL)
            return await self.running.wait()


Program: TypeAlias = Callable[[int, str | None], tuple[str, ...]]
"""Returns the command of a node: its port, and the URL of the store, if there is one."""


@dataclass
class Machine:
    """Everything that a cluster runs, in one folder and on loopback ports of its own."""

    folder: Path
    nodes: list[Process]
    balancer: Process
    store: Process | None

    @classmethod
    def build(
        cls,
        folder: Path,
        nodes: int,
        program: Program,
        *,
        cluster: bool = True,
        port: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Machine:
        """Lay out the processes; nothing is started yet.

        Args:
            folder: Folder for their files.
            nodes: Number of nodes.
            program: Command of a node.
            cluster: True gives them a store.
            port: Port of the balancer; None takes a free one.
            env: Environment variables of the nodes.

        Raises:
            Missing: nginx or redis-server is not installed.
        """
        front, back, *ports = (free_port() for _ in range(nodes + 2))
        front = port or front
        made = [
            Process(
                f"node {number}",
                program(own, _url(number, back) if cluster else None),
                own,
                folder / f"node{number}.log",
                dict(env or {}),
            )
            for number, own in enumerate(ports)
        ]
        # Nodes are not left out after a failure, as they would be by default: clients meet them.
        upstream = "\n".join(f"        server {HOST}:{own} max_fails=0;" for own in ports)
        config = folder / "nginx.conf"
        config.write_text(
            _balancer().substitute(folder=folder, nodes=upstream, host=HOST, port=front), "utf-8"
        )
        balancer = Process(
            "nginx",
            (binary("nginx"), "-p", str(folder), "-e", f"{folder}/nginx.log", "-c", str(config)),
            front,
            folder / "nginx.out",
        )
        return cls(folder, made, balancer, _store(folder, back, nodes) if cluster else None)

    @property
    def port(self) -> int:
        """Port of the balancer."""
        return self.balancer.port

    async def start(self) -> None:
        """Start everything."""
        if self.store is not None:
            await self.store.start()
        await asyncio.gather(*(node.start() for node in self.nodes))
        await self.balancer.start()

    async def end(self) -> list[str]:
        """End everything; return what did not end by itself, or whose port is still in use."""
        wrong: list[str] = []
        for process in (self.balancer, *self.nodes, *([self.store] if self.store else [])):
            status = await process.end()
            if status is not None and status < 0 and status != -signal.SIGTERM:
                wrong.append(f"{process.name} did not end: {status}")
            if await process.listens():
                wrong.append(f"port {process.port} of {process.name} is still in use")
        return wrong


def _balancer() -> Template:
    """Return the settings of the example's balancer: round robin without stickiness."""
    return Template((ROOT / "examples/cluster/nginx.conf").read_text("utf-8"))


def user_of(number: int) -> str:
    """Return the user of the store that a node is."""
    return f"node{number}"


def _url(number: int, port: int) -> str:
    return f"redis://{user_of(number)}:anything@{HOST}:{port}/0"


def _store(folder: Path, port: int, nodes: int) -> Process:
    data = folder / "redis"
    data.mkdir(exist_ok=True)
    words = (
        *(binary("redis-server"), "--port", str(port), "--bind", HOST, "--dir", str(data)),
        *("--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--daemonize", "no"),
    )
    # Each node is a user of its own, who can be refused.
    may_all = ("on", "nopass", "~*", "&*", "+@all")
    users = [word for one in range(nodes) for word in ("--user", user_of(one), *may_all)]
    return Process("redis", (*words, *users), port, folder / "redis.log")
