"""Runs a storm: starts everything, breaks it, counts, and ends everything."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_wire
from tests.storm.clients.alone import Alone
from tests.storm.clients.client import Client
from tests.storm.clients.in_session import InSession
from tests.storm.clients.paired import Paired
from tests.storm.faults import Faults
from tests.storm.ledger import Ledger, Outcome
from tests.storm.node import SABOTAGE
from tests.storm.plan import LIMIT_S, Plan
from tests.storm.pressure import watch_processors
from tests.storm.processes import ROOT, Machine
from tests.storm.store import keys_of

__all__ = ["Report", "storm"]

LOOK_S = 2.0
PREFIX = "storm-"
EFFECTS = "effects"
SDK = "official SDK"


@dataclass
class Report:
    """Findings of a storm."""

    plan: Plan
    ledger: Ledger
    seconds: float = 0.0
    keys: int = 0
    """Largest number of keys in the store."""

    @property
    def violations(self) -> int:
        """Number of violations."""
        return sum(self.ledger.violations.values())

    def json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "storm": self.plan.command,
            "seconds": round(self.seconds, 1),
            "keys": self.keys,
            "found": self.violations,
            **self.ledger.json(),
        }


def _client(port: int, number: int, ledger: Ledger, plan: Plan) -> Client:
    revision = plan.revisions[number % len(plan.revisions)]
    profile = mcp_wire.profile(revision)
    if profile.http_transport == "sse_pair":
        kind: type[Client] = Paired
    else:
        kind = InSession if profile.session_header else Alone
    return kind(port, revision, f"client {number}", ledger, plan)


class _Storm:
    def __init__(
        self, plan: Plan, machine: Machine, report: Report, tell: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._machine = machine
        self._report = report
        self._ledger = report.ledger
        self._tell = tell
        self._clients = [
            _client(machine.port, number, self._ledger, plan) for number in range(plan.clients)
        ]

    async def run(self) -> None:
        await self._machine.start()
        self._tell(f"{len(self._machine.nodes)} nodes are behind port {self._machine.port}")
        official = await self._official()
        try:
            await self._live(official)
        finally:
            for one in official:
                if one.returncode is None:
                    one.kill()
                await one.wait()
        await self._look_at_keys()
        self._ledger.judge_effects((self._machine.folder / EFFECTS).read_text("utf-8").splitlines())

    async def _live(self, official: list[asyncio.subprocess.Process]) -> None:
        """Run all clients, and what fails; return when all clients have ended."""
        async with asyncio.TaskGroup() as tasks:
            lives = [tasks.create_task(client.run()) for client in self._clients]
            looking = tasks.create_task(self._look())
            watching = tasks.create_task(watch_processors(self._ledger))
            reading = [tasks.create_task(self._read(one)) for one in official]
            await Faults(self._machine, self._plan, self._ledger, self._tell).run()
            self._tell("nothing fails any more")
            await asyncio.sleep(self._plan.settle_s)
            for client in self._clients:
                client.leaving.set()
            for one in official:
                assert one.stdin
                one.stdin.close()
            _, late = await asyncio.wait([*lives, *reading], timeout=2 * LIMIT_S)
            for task in late:
                self._ledger.blame("hangs", f"a client does not end: {task.get_coro()}")
            while late:
                for task in late:
                    task.cancel()
                _, late = await asyncio.wait(late, timeout=LOOK_S)
            looking.cancel()
            watching.cancel()

    # --- the official SDK, in a process of its own ---

    async def _official(self) -> list[asyncio.subprocess.Process]:
        if not self._plan.official:
            return []
        words = (sys.executable, "-m", "tests.storm.clients.official")
        plan = (str(self._machine.port), str(self._plan.official), str(self._plan.seed))
        log = (self._machine.folder / "official.log").open("ab")
        with log:
            return [
                await asyncio.create_subprocess_exec(
                    *words,
                    *plan,
                    cwd=ROOT,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            ]

    async def _read(self, official: asyncio.subprocess.Process) -> None:
        assert official.stdout
        async for line in official.stdout:
            said = json.loads(line)
            now_s = self._ledger.now_s()
            began_s = now_s - said["seconds"]
            mark, effect = said["mark"], said.get("effect")
            self._ledger.belongs(SDK, mark, line)
            if effect:
                self._ledger.effects[effect] = said["ok"]
            if said["ok"]:
                self._ledger.answers[said["what"], SDK] += 1
                if said.get("steps") is not None and said["steps"] != said["expected"]:
                    self._ledger.blame("event lost", f"{SDK}: {said}")
                self._ledger.took(SDK, said["what"], began_s)
            elif said.get("wrong"):
                self._ledger.blame("wrong answer", f"{SDK}: {said}")
            else:
                self._ledger.settle(
                    SDK, "", Outcome("sdk", says=said["error"]), began_s, now_s - said["session_s"]
                )

    # --- looking ---

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            ledger = self._ledger
            await self._look_at_keys()
            self._tell(
                f"{ledger.now_s():5.0f} s: {sum(ledger.answers.values()):,} answers, "
                f"{sum(ledger.errors.values()):,} documented errors, "
                f"{sum(ledger.violations.values()):,} violations"
            )

    async def _look_at_keys(self) -> None:
        """Look for keys of the store that never expire."""
        if self._machine.store is None:
            return
        keys = await keys_of(self._machine.store.port)
        self._report.keys = max(self._report.keys, len(keys))
        self._ledger.checks["keys with a time to live"] += len(keys)
        for key, ttl_s in keys.items():
            if ttl_s == -1:
                self._ledger.blame("key for ever", repr(key))


async def storm(
    plan: Plan,
    tell: Callable[[str], None] = lambda line: None,
    complain: Callable[[str], None] = lambda what: None,
    keep: Path | None = None,
) -> Report:
    """Run a storm and return its report. All processes have ended afterwards, also on an error.

    Args:
        plan: What fails, and who counts.
        tell: Called with a line of progress.
        complain: Called with each violation.
        keep: Folder for the logs of all processes; None keeps none.

    Raises:
        Missing: nginx or redis-server is not installed.
    """
    folder = _folder()
    report = Report(plan, Ledger(complain))
    try:
        machine = _machine(folder, plan)
        try:
            await _Storm(plan, machine, report, tell).run()
        finally:
            for wrong in await asyncio.shield(machine.end()):
                report.ledger.blame("left behind", wrong)
            report.seconds = report.ledger.now_s()
        for line, number in _log_lines(machine).most_common(10):
            tell(f"{number:,} times in the logs: {line}")
    finally:
        if keep is not None:
            shutil.copytree(
                folder, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("redis")
            )
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _machine(folder: Path, plan: Plan) -> Machine:
    (folder / EFFECTS).touch()

    def program(port: int, store: str | None) -> tuple[str, ...]:
        words = (sys.executable, "-m", "tests.storm.node", str(port), str(folder / EFFECTS))
        return (*words, *(() if store is None else ("--redis", store)))

    env = {SABOTAGE: plan.sabotage}
    return Machine.build(folder, plan.nodes, program, cluster=plan.cluster, env=env)


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # nginx gives its work to a user of its own if it was started by root.
    folder.chmod(0o755)
    return folder


def _log_lines(machine: Machine) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in machine.nodes:
        if node.log.exists():
            for line in node.log.read_text(errors="replace").splitlines():
                if line.startswith(("ERROR", "CRITICAL")):
                    found[line[:120]] += 1
    return found
