"""A manager over 20 servers for a while: no wrong answer and no unexpected error.

`python -m tests.soak manager --seconds 60 [--seed N] [--json]`. The servers are of every revision:
in memory, commands, and over HTTP. One changes its tools all the time; one is killed every second;
and three fail: one exits at once, one never answers, one does not exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import mcp_wire
from mcp_gen import ClientManager, ManagerEvent, Reconnect, Server, ServerConfig, SessionLost
from mcp_gen.manager.config import ServerLike
from mcp_gen.types import ToolAnnotations
from tests.support.http.loopback import Got, serving
from tests.support.ports import free_port

__all__ = ["Report", "Size", "soak"]

KILLED = "killed every second"
CHANGING = "changing"
FAILING = ("ends", "silent", "nobody")
STEADY_WORKERS, OTHER_WORKERS = 12, 4


@dataclass(frozen=True)
class Size:
    """Numbers of servers with a process each, and the duration of a round."""

    commands: int = len(mcp_wire.REVISIONS)
    kill_every_s: float = 1.0
    silent_s: float = 5.0


@dataclass
class Report:
    """Counts of the calls made, and the failures."""

    answers: Counter[str] = field(default_factory=Counter)
    """Number of answers by kind of request."""
    lost: int = 0
    """Calls that the killed server did not answer, as expected."""
    failed: int = 0
    """Calls to missing servers, which fail as expected."""
    events: Counter[str] = field(default_factory=Counter)
    servers: int = 0
    slowest_s: float = 0.0
    """Longest call to a running server, in seconds."""
    objects: list[int] = field(default_factory=list)
    """Numbers of objects that the garbage collector tracks, over time."""
    wrong: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the report in one line."""
        asked = ", ".join(f"{count} {what}" for what, count in sorted(self.answers.items()))
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(self.events.items()))
        return (
            f"{self.servers} servers: {asked}; {self.lost} lost with the killed server, "
            f"{self.failed} refused for the failing ones, slowest {self.slowest_s:.2f} s; "
            f"events: {told}; objects {self.objects}"
        )


def a_server(name: str, revisions: tuple[str, ...] = mcp_wire.REVISIONS) -> Server:
    """Return a server whose answers contain its name."""
    server = Server(name, revisions=revisions)

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    async def who(text: str) -> str:
        return f"{name}: {text}"

    @server.tool
    async def process() -> int:
        return os.getpid()

    @server.resource("soak://{number}")
    async def page(number: int) -> str:
        return f"{name}, page {number}"

    @server.resource("soak://cover")
    async def cover() -> str:
        return f"{name}, cover"

    @server.prompt
    def ask(topic: str) -> str:
        return f"{name}, tell me of {topic}"

    return server


def command(name: str, revision: str) -> ServerConfig:
    code = (
        "import sys; from tests.soak.manager import a_server; "
        "a_server(sys.argv[1], (sys.argv[2],)).run('stdio')"
    )
    words = ["-c", code, name, revision]
    return ServerConfig(command=sys.executable, args=words, env="inherit")


def failing(size: Size) -> dict[str, ServerLike]:
    port = free_port()
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    return {
        "ends": [sys.executable, "-c", "raise SystemExit(3)"],
        "silent": ServerConfig(command=silent[0], args=silent[1:], connect_timeout_s=size.silent_s),
        "nobody": f"http://127.0.0.1:{port}/mcp",
    }


@contextlib.asynccontextmanager
async def all_servers(size: Size) -> AsyncIterator[tuple[dict[str, ServerLike], Server]]:
    """Return all servers by name, and the one whose tools change."""
    servers: dict[str, ServerLike] = failing(size)
    changing = a_server(CHANGING)
    servers[CHANGING] = changing
    servers[KILLED] = command(KILLED, mcp_wire.LATEST)
    async with contextlib.AsyncExitStack() as stack:
        for revision in mcp_wire.REVISIONS:
            servers[f"memory {revision}"] = a_server(f"memory {revision}", (revision,))
            name = f"web {revision}"
            older = mcp_wire.profile(revision).http_transport == "sse_pair"
            app = a_server(name, (revision,)).asgi(legacy_sse_path="/sse" if older else None)
            web = await stack.enter_async_context(serving(app))
            servers[name] = f"{web.origin}/sse" if older else web.url
        for revision in mcp_wire.REVISIONS[-size.commands :] if size.commands else ():
            servers[f"command {revision}"] = command(f"command {revision}", revision)
        yield servers, changing


class _Soak:
    def __init__(
        self,
        manager: ClientManager,
        report: Report,
        goes_on: Callable[[], bool],
        size: Size,
        seed: int,
    ) -> None:
        self._manager = manager
        self._report = report
        self._goes_on = goes_on
        self._size = size
        self._random = random.Random(seed)
        self.changed = asyncio.Event()
        manager.on_event("tools_changed")(self._changed)
        self._parts = {name: one.part for name, one in manager.servers().items()}
        self.steady = [one for one in self._parts if one not in (*FAILING, KILLED)]

    def _changed(self, event: ManagerEvent) -> None:
        if event.server == CHANGING:
            self.changed.set()

    async def worker(self, number: int, names: list[str]) -> None:
        """Make one call after the other to one of these servers, and check the answers."""
        asks = (self._call, self._call, self._read, self._prompt, self._list)
        count = 0
        while self._goes_on():
            count += 1
            name = self._random.choice(names)
            since_s = time.monotonic()
            try:
                await self._random.choice(asks)(name, f"{number}.{count}")
            except SessionLost as error:
                if name == KILLED:
                    self._report.lost += 1
                else:
                    self._wrong(f"{name}: {error!r}")
            except Exception as error:
                self._wrong(f"{name}: {error!r}")
            if name != KILLED:
                took_s = time.monotonic() - since_s
                self._report.slowest_s = max(self._report.slowest_s, took_s)

    async def _call(self, name: str, text: str) -> None:
        result = await self._manager.call_tool(
            f"mcp__{self._parts[name]}__who", {"text": text}, retry=True
        )
        self._compare("calls", result.content[0].text, f"{name}: {text}")

    async def _read(self, name: str, text: str) -> None:
        page = self._random.randrange(20)
        result = await self._manager.read_resource(f"soak://{page}", server=name)
        self._compare("reads", result.contents[0].text, f"{name}, page {page}")

    async def _prompt(self, name: str, text: str) -> None:
        result = await self._manager.get_prompt(f"mcp__{self._parts[name]}__ask", {"topic": text})
        said: Any = result.messages[0].content
        self._compare("prompts", said.text, f"{name}, tell me of {text}")

    async def _list(self, name: str, text: str) -> None:
        tools = {(one.server, one.tool.name) for one in await self._manager.tools()}
        missing = [one for one in self.steady if (one, "who") not in tools]
        self._compare("lists", missing, [])
        self._compare("exports", (await self._manager.tools_for("anthropic")).problems, [])

    async def failing(self) -> None:
        """Check that missing servers fail at once, every time."""
        while self._goes_on():
            for name in FAILING:
                try:
                    await self._manager.call_tool(f"mcp__{name}__who", {"text": "a"}, timeout_s=0.2)
                except SessionLost:
                    self._report.failed += 1
                except Exception as error:
                    self._wrong(f"{name}: {error!r}")
                else:
                    self._wrong(f"{name} answered")
            await asyncio.sleep(0.1)

    async def killer(self) -> None:
        """Kill a server every second, as soon as it runs again."""
        while self._goes_on():
            with contextlib.suppress(SessionLost):
                result = await self._manager.call_tool(
                    f"mcp__{self._parts[KILLED]}__process", returns=int
                )
                os.kill(result, signal.SIGKILL)
                self._report.answers["kills"] += 1
            await asyncio.sleep(self._size.kill_every_s)

    async def changer(self, server: Server) -> None:
        """Add and remove tools; after `list_changed` the list must be the new one."""

        async def extra() -> str:
            return "extra"

        named = f"mcp__{CHANGING}__extra"
        await self._manager.tools()
        while self._goes_on():
            for there in (True, False):
                self.changed.clear()
                if there:
                    server.add_tool(extra)
                else:
                    server.remove_tool("extra")
                async with asyncio.timeout(5):
                    await self.changed.wait()
                names = [one.name for one in await self._manager.tools()]
                self._compare("changes", named in names, there)
            await asyncio.sleep(0.05)

    def _compare(self, what: str, found: Any, expected: Any) -> None:
        self._report.answers[what] += 1
        if found != expected:
            self._wrong(f"{what}: {found!r} where {expected!r} is right")

    def _wrong(self, said: str) -> None:
        self._report.wrong.append(said)


async def soak(
    goes_on: Callable[[], bool],
    size: Size,
    seed: int = 7,
    *,
    sample_s: float = 5.0,
    tell: Callable[[str], None] = lambda line: None,
) -> Report:
    """Make calls to all servers while `goes_on`, and return the report."""
    report = Report()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report.wrong.append(repr(context)))
    records = _Records(report)
    before = asyncio.all_tasks()
    logging.getLogger("mcp_gen").addHandler(records)
    try:
        async with all_servers(size) as (servers, changing):
            manager = ClientManager(
                servers,
                reconnect=Reconnect(first_s=0.1, max_s=1.0, limit=1_000_000),
                max_commands=4,
                start_wait_s=60,
            )

            @manager.on_event
            async def told(event: ManagerEvent) -> None:
                report.events[event.kind] += 1

            async with manager, asyncio.TaskGroup() as tasks:
                report.servers = len(manager.servers())
                run = _Soak(manager, report, goes_on, size, seed)
                sampling = loop.create_task(_sample(report, sample_s, tell))
                busy = [
                    tasks.create_task(run.worker(number, run.steady if steady else [KILLED]))
                    for number, steady in enumerate(
                        [True] * STEADY_WORKERS + [False] * OTHER_WORKERS
                    )
                ]
                busy += [
                    tasks.create_task(one)
                    for one in (run.failing(), run.killer(), run.changer(changing))
                ]
                await asyncio.wait(busy)
                sampling.cancel()
                await asyncio.wait([sampling])
    finally:
        logging.getLogger("mcp_gen").removeHandler(records)
    await asyncio.sleep(0)
    report.wrong += [f"a task is left: {one}" for one in asyncio.all_tasks() - before]
    for what in ("calls", "reads", "prompts", "lists", "kills", "changes"):
        if not report.answers[what]:
            report.wrong.append(f"there were no {what}")
    grown = report.objects[2:]
    if grown and min(grown[-2:]) > 1.05 * max(grown[:2]):
        report.wrong.append(f"objects grow: {report.objects}")
    return report


async def _sample(report: Report, every_s: float, tell: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(every_s)
        gc.collect()
        # The web servers of the tests record all requests.
        report.objects.append(sum(one.__class__ is not Got for one in gc.get_objects()))
        tell(report.line())


class _Records(logging.Handler):
    """Handler that reports every record at ERROR and above as a failure."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report.wrong.append(record.getMessage())


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(seconds: float, seed: int, *, as_json: bool) -> int:
    """Run the soak and print the report; return 1 after a failure."""
    print(f"{seconds:g} s, --seed {seed}", file=sys.stderr)
    end: list[float] = []

    def goes_on() -> bool:
        # Counted from when all servers have been tried.
        if not end:
            end.append(time.monotonic() + seconds)
        return time.monotonic() < end[0]

    report = asyncio.run(soak(goes_on, Size(), seed, sample_s=10.0, tell=_tell))
    for wrong in report.wrong[:20]:
        print(f"wrong: {wrong}", file=sys.stderr)
    if as_json:
        print(json.dumps(vars(report)))
    else:
        print(report.line())
        print("good" if not report.wrong else f"{len(report.wrong)} wrong")
    return bool(report.wrong)
