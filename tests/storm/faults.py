"""Faults of a storm: nodes die or stand still, and so does their store."""

from __future__ import annotations

import asyncio
import math
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress

from tests.storm.ledger import Ledger
from tests.storm.plan import Plan
from tests.storm.processes import Machine, Process
from tests.storm.store import allow, refuse

__all__ = ["Faults"]

STORE_STOP_S = 2.0
CUT_OFF_S = 2.0
RECOVERS_S = 2.5
"""Seconds in which nodes find the store again: their back-off, and a renewal of their leases."""
CUT_OFF_EVERY_S = 5.0
"""Mean seconds between two times that a node alone cannot reach the store."""
STARTS, START_AGAIN_S = 20, 0.3
FOLDER = "appendonlydir"


class Faults:
    """Breaks the machine for as long as the plan says. One node of several is always whole.

    Args:
        machine: What is broken.
        plan: How long, and how often.
        ledger: Is told of each fault.
        tell: Called with a line about each fault.
    """

    def __init__(
        self, machine: Machine, plan: Plan, ledger: Ledger, tell: Callable[[str], None]
    ) -> None:
        self._machine = machine
        self._plan = plan
        self._ledger = ledger
        self._tell = tell
        self._rng = random.Random(f"{plan.seed} faults")
        self._standing: dict[str, asyncio.Task[None]] = {}
        self._dead: set[str] = set()
        """Nodes that have been killed, and do not listen yet."""
        self._cut_off: set[str] = set()
        """Nodes that cannot reach the store."""
        self._woke_s: dict[str, float] = {}
        """Time at which a node went on that had stood still."""
        self._store_breaks = asyncio.Lock()
        """Held while the store fails: outages that follow at once would outlast a lease."""

    async def run(self) -> None:
        """Break things until the time is over, and mend them all."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._break_nodes())
                if self._plan.store_faults and self._machine.store is not None:
                    tasks.create_task(self._break_store(self._machine.store))
                    tasks.create_task(self._break_links(self._machine.store))
        finally:
            for task in list(self._standing.values()):
                task.cancel()
            for node in self._machine.nodes:
                node.send(signal.SIGCONT)
        if self._plan.store_faults and self._machine.store is not None:
            # With nothing else that could make up for what a node has missed.
            for node in self._machine.nodes:
                await self._cut(self._machine.store, node)

    async def _break_nodes(self) -> None:
        every_s = self._plan.fault_every_s
        if every_s is None:
            await asyncio.sleep(self._plan.seconds)
            return
        end_s = self._ledger.now_s() + self._plan.seconds
        async with asyncio.TaskGroup() as tasks:
            while self._ledger.now_s() + every_s < end_s:
                await asyncio.sleep(every_s)
                node, is_stop = self._rng.choice(self._machine.nodes), self._rng.random() < 0.5
                if node.name in self._dead or node not in self._spared():
                    continue
                if not is_stop:
                    tasks.create_task(self._kill(node))
                elif self._may_stop(node):
                    self._standing[node.name] = tasks.create_task(self._stop(node))

    def _spared(self) -> list[Process]:
        """Return the nodes that may fail: another one is whole, unless there is only one."""
        nodes = self._machine.nodes
        broken = {*self._dead, *self._standing, *self._cut_off}
        whole = [node for node in nodes if node.name not in broken]
        return [node for node in nodes if len(nodes) == 1 or whole not in ([], [node])]

    def _may_stop(self, node: Process) -> bool:
        """Return True if a request at a node waits for no stop but the next one."""
        rested_s = self._ledger.now_s() - self._woke_s.get(node.name, -math.inf)
        return node.name not in self._standing and rested_s >= self._plan.stop_s

    async def _kill(self, node: Process) -> None:
        standing = self._standing.pop(node.name, None)
        if standing is not None:
            standing.cancel()
        self._dead.add(node.name)
        fault = self._ledger.fault("node", "node killed", node.pid)
        self._tell(f"{node.name} is killed")
        await node.end(signal.SIGKILL)
        await self._start_again(node)
        fault.ended_s = self._ledger.now_s()
        self._dead.discard(node.name)

    async def _start_again(self, node: Process) -> None:
        """Start a node as a supervisor does: one that finds no store exits, and is started anew."""
        for _ in range(STARTS):
            try:
                await node.start()
            except RuntimeError:
                self._tell(f"{node.name} found no store")
                await asyncio.sleep(START_AGAIN_S)
            else:
                return
        raise RuntimeError(f"{node.name} does not start any more")

    async def _stop(self, node: Process) -> None:
        fault = self._ledger.fault("node", "node stopped", node.pid)
        self._tell(f"{node.name} stands still")
        node.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(self._plan.stop_s)
        finally:
            node.send(signal.SIGCONT)
            self._woke_s[node.name] = fault.ended_s = self._ledger.now_s()
            self._standing.pop(node.name, None)

    async def _break_links(self, store: Process) -> None:
        """Let one node after another lose the store, while all others have it."""
        end_s = self._ledger.now_s() + self._plan.seconds - CUT_OFF_S
        while True:
            pause_s = self._rng.uniform(0.5, 1.5) * CUT_OFF_EVERY_S
            if self._ledger.now_s() + pause_s > end_s:
                return
            await asyncio.sleep(pause_s)
            async with self._store_breaks:
                spared = [one for one in self._spared() if one.name not in self._standing]
                if spared:
                    await self._cut(store, self._rng.choice(spared))
                await asyncio.sleep(RECOVERS_S)

    async def _cut(self, store: Process, node: Process) -> None:
        number = self._machine.nodes.index(node)
        self._cut_off.add(node.name)
        fault = self._ledger.fault("store", "node without the store")
        self._tell(f"{node.name} cannot reach the store")
        try:
            if await refuse(store.port, number):
                await asyncio.sleep(CUT_OFF_S)
        finally:
            await allow(store.port, number)
            fault.ended_s = self._ledger.now_s()
            self._cut_off.discard(node.name)

    async def _break_store(self, store: Process) -> None:
        """Stop, restart and empty the store, each at a time of its own within the storm."""
        acts = [self._stop_store, self._restart_store, self._empty_store]
        if self._plan.seconds >= 60:
            # Once without data; the others twice.
            acts = [*acts[:2], *acts]
        began_s = self._ledger.now_s()
        span_s = self._plan.seconds / (len(acts) + 0.5)
        for at, act in enumerate(acts):
            pause_s = self._rng.uniform(at + 0.4, at + 0.8) * span_s - (
                self._ledger.now_s() - began_s
            )
            await asyncio.sleep(pause_s)
            async with self._store_breaks:
                await act(store)
                await asyncio.sleep(RECOVERS_S)

    async def _stop_store(self, store: Process) -> None:
        fault = self._ledger.fault("store", "store stopped")
        self._tell("the store stands still")
        store.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(STORE_STOP_S)
        finally:
            store.send(signal.SIGCONT)
            fault.ended_s = self._ledger.now_s()

    async def _restart_store(self, store: Process) -> None:
        fault = self._ledger.fault("store", "store restarted")
        self._tell("the store is restarted with its file")
        await store.end()
        await store.start()
        fault.ended_s = self._ledger.now_s()

    async def _empty_store(self, store: Process) -> None:
        fault = self._ledger.fault("emptied", "store restarted without data")
        other = self._ledger.fault("store", "store restarted without data")
        self._tell("the store comes back empty")
        await store.end()
        with suppress(FileNotFoundError):
            shutil.rmtree(self._machine.folder / "redis" / FOLDER)
        await store.start()
        fault.ended_s = other.ended_s = self._ledger.now_s()
