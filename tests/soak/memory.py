"""Many sessions at once: calls, progress and cancellations that leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count, cycle
from typing import Any

import mcp_wire
from mcp_gen import Client, ClientSession, Context, Server
from tests.soak.figures import LIMITS, give_back, grown, resident_kb

__all__ = ["STEPS", "Report", "rounds", "run", "soak"]

STEPS = 5
TURNS = 10
"""Number of turns; all clients disconnect between them."""


@dataclass
class Report:
    """Counts of the calls made, and the failures."""

    calls: int = 0
    cancelled: int = 0
    reports: int = 0
    messages: int = 0
    reconnected: int = 0
    wrong: list[str] = field(default_factory=list)
    """Errors, log records and tasks that should not exist."""
    objects: list[int] = field(default_factory=list)
    """Numbers of objects that the garbage collector tracks, after each turn."""
    blocks: list[int] = field(default_factory=list)
    """Numbers of memory blocks in use, after each turn."""
    resident_kb: list[int] = field(default_factory=list)
    """Resident memory of the process in kB, after each turn."""

    def line(self) -> str:
        """Return the report in one line."""
        return (
            f"{self.calls} calls, {self.reports} reports, {self.messages} log messages, "
            f"{self.cancelled} cancelled, {self.reconnected} reconnected; "
            f"at rest: objects {self.objects}, blocks {self.blocks}, resident {self.resident_kb} KB"
        )


def a_server() -> Server:
    """Return a server with the tools that sessions typically call."""
    server = Server("soak", max_concurrent_requests=50, request_timeout_s=60)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def work(ctx: Context, steps: int) -> str:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps)
        await ctx.log("info", "worked")
        return "done"

    @server.tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    return server


class _Soak:
    def __init__(self, server: Server, report: Report, goes_on: Callable[[], bool]) -> None:
        self.server = server
        self.report = report
        self.goes_on = goes_on

    async def client(self, revision: str) -> None:
        """Run one client: it makes calls for a while, disconnects and reconnects."""
        while self.goes_on():
            async with Client("soak") as client:
                client.hooks.on_logging_message(self._logged)
                session = await client.connect(self.server, revision=revision)
                for number in range(20):
                    if not self.goes_on():
                        break
                    await self._round(session, number)
            self.report.reconnected += 1

    def _logged(self, *_: Any) -> None:
        self.report.messages += 1

    async def _round(self, session: ClientSession, number: int) -> None:
        report = self.report
        heard: list[float] = []
        sums = [session.call_tool("add", {"a": number, "b": b}) for b in range(3)]
        working = session.call_tool(
            "work", {"steps": STEPS}, progress=lambda done, *_: heard.append(done)
        )
        waiting = asyncio.create_task(session.call_tool("wait"))
        *added, worked = await asyncio.gather(*sums, working)
        waiting.cancel()
        await asyncio.wait([waiting])
        report.calls += 4
        report.cancelled += waiting.cancelled()
        report.reports += len(heard)
        contents: list[Any] = [one.content[0] for one in (*added, worked)]
        texts = [one.text for one in contents]
        if texts != [*(str(number + b) for b in range(3)), "done"]:
            report.wrong.append(f"{session.revision}: {texts}")
        if heard != list(range(1, STEPS + 1)):
            report.wrong.append(f"{session.revision}: progress {heard}")


async def soak(sessions: int, turns: Iterable[Callable[[], bool]]) -> Report:
    """Run the sessions in turns, each with its own duration; return the report."""
    report = Report()
    records = _Records(report)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: report.wrong.append(repr(context)))
    before = asyncio.all_tasks()
    logging.getLogger().addHandler(records)
    try:
        server = a_server()
        for goes_on in turns:
            run = _Soak(server, report, goes_on)
            revisions = cycle(mcp_wire.REVISIONS)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(sessions):
                    tasks.create_task(run.client(next(revisions)))
            await asyncio.sleep(0)
            report.wrong += [f"a session is left: {one}" for one in server.sessions()]
            report.wrong += [f"a task is left: {one}" for one in asyncio.all_tasks() - before]
            _sample(report)
    finally:
        logging.getLogger().removeHandler(records)
    return report


def _sample(report: Report) -> None:
    gc.collect()
    give_back()
    report.objects.append(len(gc.get_objects()))
    report.blocks.append(sys.getallocatedblocks())
    report.resident_kb.append(resident_kb())


SLOW_CALLBACK = "Executing %s took %.3f seconds"
"""Warning of asyncio in debug mode."""


class _Records(logging.Handler):
    """Handler that reports every record at WARNING and above as a failure.

    Not the slow callbacks that asyncio tells of in debug mode: those are the machine's.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(logging.WARNING)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "asyncio" or record.msg != SLOW_CALLBACK:
            self._report.wrong.append(record.getMessage())


def rounds(number: int) -> Callable[[], bool]:
    """Return True this many times: a duration that does not depend on the machine."""
    counted = count()
    return lambda: next(counted) < number


def for_a_while(seconds: float) -> Iterator[Callable[[], bool]]:
    """Yield turns that take this many seconds together."""
    began_s = time.monotonic()
    for number in range(1, TURNS + 1):
        yield partial(_is_before, began_s + seconds * number / TURNS)


def _is_before(end_s: float) -> bool:
    return time.monotonic() < end_s


def run(seconds: float, sessions: int, *, as_json: bool) -> int:
    """Run the soak and print the report; return the exit status."""
    report = asyncio.run(soak(sessions, for_a_while(seconds)))
    for name in LIMITS:
        report.wrong += grown(name, getattr(report, name))
    if as_json:
        print(json.dumps(asdict(report)))
        return bool(report.wrong)
    print(report.line())
    for wrong in report.wrong[:20]:
        print(wrong, file=sys.stderr)
    print("good" if not report.wrong else f"{len(report.wrong)} wrong")
    return bool(report.wrong)
