"""Processes are killed on both sides for a while: calls end, and nothing is left.

`python -m tests.soak kills --seconds 600 [--seed N] [--json]`. Clients, each in a process of its
own and with a command of its own, call one HTTP server; every two seconds one is killed. A manager
in this process has servers that are commands, one behind a shell, and HTTP servers; every two
seconds one is killed. In the end both sides must have the tasks, files, threads and sessions of the
beginning, no process is left, and memory has not grown.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import signal
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path

import mcp_wire
from mcp_gen import ClientManager, Reconnect, ServerConfig, SessionLost, TransportError
from mcp_gen.manager.config import ServerLike
from tests.soak.child import Child, serving
from tests.soak.figures import give_back, grown, resident_kb
from tests.soak.killed_client import MARK, STREAMABLE, words
from tests.soak.server import State
from tests.support.ports import free_port

__all__ = ["Figures", "Plan", "Report", "left_here", "processes", "run", "settled", "soak"]

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
WORKERS = 8
CALL_S = 30.0
"""Seconds within which each call ends, whatever is killed."""
REST_S = 30.0
LOOK_S = 0.1
SESSION_IDLE_S = 3.0
WEB = (
    "import sys; from tests.soak.manager import a_server; "
    "a_server(sys.argv[1], (sys.argv[2],)).run('http', port=int(sys.argv[3]))"
)


@dataclass(frozen=True)
class Plan:
    """Duration, number of processes, and random seed."""

    seed: int
    seconds: float
    clients: int = 3
    commands: int = 3
    web: int = 2
    kill_every_s: float = 2.0
    sample_s: float = 5.0


@dataclass
class Report:
    """Report that is filled while the soak runs."""

    seed: int
    answers: Counter[str] = field(default_factory=Counter)
    """Answers by who asked."""
    kills: Counter[str] = field(default_factory=Counter)
    """Killed processes by kind."""
    lost: int = 0
    """Calls that ended with `SessionLost` because their server was killed."""
    slowest_s: float = 0.0
    client_kb: list[int] = field(default_factory=list)
    server_kb: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the report in one line."""
        answers = ", ".join(f"{count:,} of {who}" for who, count in sorted(self.answers.items()))
        kills = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items()))
        return (
            f"answers: {answers}; killed: {kills}; {self.lost} calls lost with their server, "
            f"slowest {self.slowest_s:.2f} s; {len(self.wrong)} wrong"
        )


@dataclass(frozen=True)
class Figures:
    """Tasks, files and threads of this process."""

    tasks: int
    files: int
    threads: int

    @classmethod
    def now(cls) -> Figures:
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))
        return cls(len(asyncio.all_tasks()), files, threading.active_count())


class _Soak:
    def __init__(self, plan: Plan, report: Report, child: Child, mark: str) -> None:
        self._plan = plan
        self._report = report
        self._child = child
        self._env = {**os.environ, MARK: mark}
        self._chance = random.Random(plan.seed)
        self._clients: list[asyncio.subprocess.Process] = []
        self._answered: dict[asyncio.subprocess.Process, asyncio.Event] = {}
        self._web: dict[str, asyncio.subprocess.Process] = {}
        self._ports: dict[str, int] = {}
        self._restarts: Counter[str] = Counter()
        """Kills of HTTP servers, each of which is started again."""
        self._listens: set[str] = set()
        """HTTP servers that have answered since they were started."""
        self._listening: set[asyncio.Task[None]] = set()
        self._goes_on = True

    # --- the processes ---

    async def start_client(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "tests.soak.killed_client",
                f"http://{HOST}:{self._child.port}/mcp",
            ),
            cwd=ROOT,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._clients.append(process)
        self._answered[process] = answered = asyncio.Event()
        listening = asyncio.create_task(self._listen(process, answered))
        self._listening.add(listening)
        listening.add_done_callback(self._listening.discard)

    async def _listen(self, process: asyncio.subprocess.Process, answered: asyncio.Event) -> None:
        assert process.stdout
        async for line in process.stdout:
            said = line.decode().strip()
            if said.isdigit():
                answered.set()
                self._report.answers["killed clients"] += int(said)
            elif said:
                self._report.wrong.append(f"client: {said}")

    async def start_web(self, name: str) -> None:
        port = self._ports.setdefault(name, free_port())
        revision = name.rpartition(" ")[2]
        self._web[name] = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WEB, name, revision, str(port)),
            cwd=ROOT,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def servers(self) -> dict[str, ServerLike]:
        """Start the HTTP servers, and return all servers of the manager."""
        found: dict[str, ServerLike] = {}
        for number in range(self._plan.commands):
            revision = mcp_wire.REVISIONS[-1 - number]
            name = f"command {revision}"
            found[name] = ServerConfig(
                command=sys.executable, args=words(name, revision)[1:], env=self._env
            )
        name = f"shell {mcp_wire.LATEST}"
        # With a second command the shell stays, and the server is a grandchild.
        found[name] = ServerConfig(
            command="sh", args=["-c", '"$@"; :', "sh", *words(name, mcp_wire.LATEST)], env=self._env
        )
        for revision in STREAMABLE[-self._plan.web :]:
            name = f"web {revision}"
            await self.start_web(name)
            found[name] = f"http://{HOST}:{self._ports[name]}/mcp"
        return found

    # --- the calls ---

    async def worker(self, manager: ClientManager, number: int) -> None:
        parts = {name: one.part for name, one in manager.servers().items()}
        chance, count = random.Random(f"{self._plan.seed} {number}"), 0
        while self._goes_on:
            count += 1
            name, text = chance.choice([*parts]), f"{number}.{count}"
            since_s, restarts = time.monotonic(), self._restarts[name]
            was_up = name in self._listens or name not in self._ports
            try:
                async with asyncio.timeout(CALL_S):
                    found = await manager.call_tool(
                        f"mcp__{parts[name]}__who", {"text": text}, retry=True, returns=str
                    )
            except SessionLost:
                self._report.lost += 1
                await asyncio.sleep(LOOK_S)
            except TransportError as error:
                # Between a kill and the new server's start nobody listens on the port.
                if was_up and self._restarts[name] == restarts:
                    self._report.wrong.append(f"{name}: {error!r}")
                self._report.lost += 1
                await asyncio.sleep(LOOK_S)
            except Exception as error:
                self._report.wrong.append(f"{name}: {error!r}")
            else:
                self._report.answers["the manager"] += 1
                self._listens.add(name)
                if found != f"{name}: {text}":
                    self._report.wrong.append(f"{name}: {found!r} to {text}")
            self._report.slowest_s = max(self._report.slowest_s, time.monotonic() - since_s)

    # --- the kills ---

    async def killer(self, manager: ClientManager) -> None:
        """Kill one process of each side, again and again."""
        parts = {name: one.part for name, one in manager.servers().items()}
        is_first = True
        while is_first or self._goes_on:
            is_first = False
            await asyncio.sleep(self._plan.kill_every_s)
            victim = self._clients.pop(self._chance.randrange(len(self._clients)))
            async with asyncio.timeout(CALL_S):
                await self._answered[victim].wait()
            await self._kill_client(victim)
            await self.start_client()
            name = self._chance.choice([*parts])
            with suppress(SessionLost, TimeoutError):
                async with asyncio.timeout(CALL_S):
                    pid = await manager.call_tool(f"mcp__{parts[name]}__process", returns=int)
                os.kill(pid, signal.SIGKILL)
                self._report.kills[name.partition(" ")[0]] += 1
            if name in self._web:
                self._restarts[name] += 1
                self._listens.discard(name)
                await self._web.pop(name).wait()
                await self.start_web(name)

    async def _kill_client(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            process.kill()
            self._report.kills["client"] += 1
        await process.wait()
        del self._answered[process]

    async def sampler(self, tell: Callable[[str], None]) -> None:
        while self._goes_on:
            await asyncio.sleep(self._plan.sample_s)
            gc.collect()
            give_back()
            self._report.client_kb.append(resident_kb())
            self._report.server_kb.append((await self._child.state("collected")).resident_kb)
            tell(self._report.line())

    # --- the whole ---

    async def run(self, tell: Callable[[str], None]) -> None:
        """Start everything, let it run, and stop everything."""
        manager = ClientManager(
            await self.servers(),
            reconnect=Reconnect(first_s=0.05, max_s=0.5, limit=1_000_000),
            max_commands=4,
            start_wait_s=60,
        )
        for _ in range(self._plan.clients):
            await self.start_client()
        try:
            async with manager, asyncio.TaskGroup() as tasks:
                workers = [self.worker(manager, number) for number in range(WORKERS)]
                for one in (*workers, self.killer(manager), self.sampler(tell)):
                    tasks.create_task(one)
                await asyncio.sleep(self._plan.seconds)
                self._goes_on = False
        finally:
            for process in self._clients:
                await self._kill_client(process)
            for process in self._web.values():
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            await asyncio.gather(*self._listening)


async def soak(plan: Plan, tell: Callable[[str], None] = lambda line: None) -> Report:
    """Run the soak, and return the report."""
    report = Report(plan.seed)
    mark = uuid.uuid4().hex
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: report.wrong.append(repr(context))
    )
    await _warm_up()
    before = Figures.now()
    async with serving(SESSION_IDLE_S) as child:
        at_first = await child.state()
        await _Soak(plan, report, child, mark).run(tell)
        report.wrong += await settled(lambda: _left_at(child, at_first))
        child.stop()
        if (status := await child.ended()) != 0:
            report.wrong.append(f"the server ended with {status}")
    report.wrong += [f"the server's log: {line}" for line in child.complaints]
    report.wrong += await settled(lambda: left_here(before))
    report.wrong += await settled(lambda: processes(mark))
    for who, samples in (("client", report.client_kb), ("server", report.server_kb)):
        report.wrong += [f"{who}: {one}" for one in grown("resident_kb", samples)]
    for kind in ("client", "command", "shell", "web"):
        if plan.seconds > 60 and not report.kills[kind]:
            report.wrong.append(f"no {kind} was killed")
    for who in ("the manager", "killed clients"):
        if not report.answers[who]:
            report.wrong.append(f"there were no answers of {who}")
    return report


async def _warm_up() -> None:
    """Start a process once: the loop keeps a thread or a file for all that follow."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()


async def settled(look: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Return what is left after a bounded time of rest."""
    end_s = time.monotonic() + REST_S
    while True:
        left = await look()
        if not left or time.monotonic() > end_s:
            return left
        await asyncio.sleep(LOOK_S)


async def _left_at(child: Child, at_first: State) -> list[str]:
    """Return what the server holds that it did not hold at first."""
    state = await child.state()
    counts = {name: getattr(state, name) for name in ("tasks", "files", "sessions", "waiting")}
    more = {name: count - getattr(at_first, name) for name, count in counts.items()}
    return [f"the server: {number} {name} are left" for name, number in more.items() if number > 0]


async def left_here(before: Figures) -> list[str]:
    now = Figures.now()
    is_less = all(map(int.__le__, astuple(now), astuple(before)))
    return [] if is_less else [f"this process had {before}, and has {now}"]


async def processes(mark: str) -> list[str]:
    """Return the command lines of processes of this soak that still run."""
    found = _marked(f"{MARK}={mark}".encode())
    return [f"a process is left: {one}" for one in found]


def _marked(wanted: bytes) -> list[str]:
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[-80:])
    return found


def run(plan: Plan, *, as_json: bool) -> int:
    """Run the soak and print the report; return 1 after a failure."""
    print(f"{plan.seconds:g} s, --seed {plan.seed}", file=sys.stderr)
    report = asyncio.run(soak(plan, lambda line: print(line, file=sys.stderr, flush=True)))
    for wrong in report.wrong[:20]:
        print(f"wrong: {wrong}", file=sys.stderr)
    print(json.dumps(vars(report)) if as_json else report.line())
    if not as_json:
        print("good" if not report.wrong else f"{len(report.wrong)} wrong (seed {plan.seed})")
    return bool(report.wrong)
