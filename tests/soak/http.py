"""Mixed traffic over real sockets at every revision: every response arrives, nothing is left.

Clients run in rounds. After each round all clients close, and the server becomes idle: it must have
no more tasks, sessions and sockets than at first, and over the rounds no more memory.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import mcp_wire
from mcp_wire.profile import Profile
from tests.soak.child import Child, serving
from tests.soak.farewell import farewell
from tests.soak.report import Report
from tests.soak.server import KEPT_S, State
from tests.soak.traffic.act import Act
from tests.soak.traffic.acts import ACTS
from tests.soak.traffic.kinds import peer
from tests.soak.traffic.peers import Expired, Peer
from tests.soak.traffic.pieces import PIECES
from tests.soak.traffic.rude import RUDE
from tests.support.checks.watch import Watch

__all__ = ["Plan", "soak"]

ROUNDS = 3
"""Minimum number of rounds: the first is a rehearsal, the others can be compared."""
REST_S = 30.0
"""Time limit for the server to become idle, in seconds: requests of lost clients may still run."""
ACT_S = 25.0
LATE_S = 90.0
"""Time limit of a client's act beyond the round, in seconds; each wait has its own limit, too."""
LOOK_S = 0.05
ROUND_S = 20.0
IDLE_S = 3.0
LONGEST_LIFE = 15
POLITE = 0.6
"""Share of clients that end their sessions; the others leave that to the server."""


@dataclass(frozen=True)
class Plan:
    """Duration, number of clients and random seed."""

    seed: int
    seconds: float
    clients: int = 32
    round_s: float = ROUND_S
    idle_s: float = IDLE_S
    """Idle timeout of a session on the server, in seconds."""
    rest_s: float = REST_S

    @classmethod
    def of(cls, seed: int, seconds: float, clients: int) -> Plan:
        """Return a plan with a dozen rounds or more, as far as the time allows."""
        round_s = min(ROUND_S, max(1.0, seconds / 12))
        return cls(seed, seconds, clients, round_s, min(IDLE_S, max(1.0, round_s / 4)))


async def soak(
    plan: Plan,
    tell: Callable[[str], None] = lambda line: None,
    complain: Callable[[str], None] = lambda what: None,
) -> Report:
    """Run the soak; `tell` gets progress lines, `complain` each failure at once."""
    report = Report(plan.seed, complain)
    async with serving(plan.idle_s) as child:
        run = _Soak(plan, child, report, tell)
        try:
            await run.run()
        except (ConnectionError, EOFError, TimeoutError) as error:
            report.blame([f"the server cannot be asked any more: {error!r}"])
        child.stop()
        report.status = await child.ended()
    report.warnings = child.warnings
    report.blame(f"the server's log: {line}" for line in child.complaints)
    if report.status != 0:
        report.blame([f"the server ended with {report.status}"])
    report.judge()
    return report


class _Soak:
    def __init__(
        self, plan: Plan, child: Child, report: Report, tell: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._child = child
        self._report = report
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._until_s = 0.0
        rng = random.Random(f"{plan.seed} rehearsal")
        profiles = map(mcp_wire.profile, mcp_wire.REVISIONS)
        self._doing: dict[Peer, str] = {}
        """Current act of each client."""
        self._to_rehearse = [(one.revision, act) for one in profiles for act in _fitting(one)]
        """Acts that are run once before random ones."""
        rng.shuffle(self._to_rehearse)

    def _elapsed_s(self) -> float:
        return self._loop.time() - self._began_s

    async def run(self) -> None:
        """Run all rounds; at the end the server shuts down while it is busy."""
        at_first = await self._child.state()
        while len(self._report.rounds) < ROUNDS or self._elapsed_s() < self._plan.seconds:
            number = len(self._report.rounds) + 1
            await self._traffic(number)
            if await self._rest(number, at_first):
                # More of the same follows; the cause is reported already.
                break
        rng = random.Random(f"{self._plan.seed} farewell")
        self._report.blame(await farewell(self._child, rng))
        self._report.seconds = self._elapsed_s()

    async def _traffic(self, number: int) -> None:
        self._until_s = self._loop.time() + self._plan.round_s
        looking = self._loop.create_task(self._look(number))
        seeds = [f"{self._plan.seed} {number} {client}" for client in range(self._plan.clients)]
        clients = [self._loop.create_task(self._client(seed)) for seed in seeds]
        _, late = await asyncio.wait(clients, timeout=self._plan.round_s + LATE_S)
        doing = [f"{one.speaker.revision}: {act}" for one, act in self._doing.items()]
        self._report.blame(f"{what}: does not come to an end" for what in doing)
        for task in late:
            task.cancel()
        looking.cancel()
        await asyncio.wait([looking, *clients])
        for task in clients:
            if task.cancelled() or task.exception():
                self._report.blame([f"round {number}: a client failed: {task}"])

    async def _look(self, number: int) -> None:
        with suppress(ConnectionError, EOFError, TimeoutError):
            while True:
                await asyncio.sleep(min(2.0, self._plan.round_s / 3))
                self._say(number, await self._child.state())

    def _say(self, number: int, state: State) -> None:
        report = self._report
        report.peak_kb = max(report.peak_kb, state.resident_kb)
        self._tell(
            f"{self._elapsed_s():4.0f} s, round {number}: {report.answers:,} answers, "
            f"{sum(report.done.values()):,} acts, {report.found_wrong} wrong; the server has "
            f"{state.resident_kb:,} KB, {state.sessions} sessions, {state.tasks} tasks"
        )

    # --- a round ---

    async def _client(self, seed: str) -> None:
        """Run one client after the other, until the round is over."""
        rng = random.Random(seed)
        while self._child.running and (self._to_rehearse or self._loop.time() < self._until_s):
            if self._to_rehearse:
                revision, act = self._to_rehearse.pop()
                await self._life(revision, rng, [act], 1)
            else:
                revision = rng.choice(mcp_wire.REVISIONS)
                acts = _fitting(mcp_wire.profile(revision))
                await self._life(revision, rng, acts, rng.randint(1, LONGEST_LIFE))

    async def _life(self, revision: str, rng: random.Random, acts: list[Act], most: int) -> None:
        """Run one client: it opens, does some of these acts, and closes."""
        watch = Watch()
        someone = peer(self._child.port, revision, rng, watch)
        if someone.profile.session_header:
            someone.idle_s = self._plan.idle_s
        self._doing[someone] = "begin"
        try:
            await someone.begin()
            for done in range(most):
                if someone.gone or (done and self._loop.time() >= self._until_s):
                    break
                (act,) = rng.choices(acts, [act.weight for act in acts])
                self._doing[someone] = act.name
                # Heartbeats on a stream would keep a client waiting for ever.
                async with asyncio.timeout(ACT_S):
                    await act.does(someone)
                self._report.done[act.name, revision] += 1
            self._doing[someone] = "end"
            await someone.end(politely=rng.random() < POLITE and not someone.gone)
        except Expired:
            self._report.expired += 1
            await someone.end(politely=False)
        except Exception as error:
            what = f"{revision}: {self._doing[someone]}: {type(error).__name__}: {error}"
            self._report.blame([what])
            await someone.end(politely=False)
        del self._doing[someone]
        self._report.answers += someone.answers
        self._report.blame(f"{revision}: {one}" for one in watch.violations)

    async def _rest(self, number: int, at_first: State) -> list[str]:
        """Wait until the server is idle as at first; record its state and return what is left."""
        deadline_s = self._loop.time() + self._plan.rest_s
        await asyncio.sleep(KEPT_S * 1.2)
        while True:
            state = await self._child.state()
            left = _left(state, at_first)
            if not left or self._loop.time() > deadline_s:
                break
            await asyncio.sleep(LOOK_S)
        self._report.blame(f"after round {number}: {one}" for one in left)
        self._report.rounds.append(await self._settled(deadline_s))
        self._say(number, state)
        return left

    async def _settled(self, deadline_s: float) -> State:
        """Return the state once it has no fewer objects than the state before.

        On a busy machine the server may have heard of the clients' ends only now: the timers of
        their connections hold them a little longer.
        """
        state = await self._child.state("kinds")
        while self._loop.time() < deadline_s:
            await asyncio.sleep(KEPT_S * 1.2)
            # A request that has waited is served before a timer that is due: the second one is not.
            await self._child.state()
            before, state = state, await self._child.state("kinds")
            if state.objects >= before.objects:
                break
        return state


def _left(state: State, at_first: State) -> list[str]:
    """Return what exists now and did not at first."""
    counts = {name: getattr(state, name) for name in ("tasks", "files", "sessions", "waiting")}
    more = {name: number - getattr(at_first, name) for name, number in counts.items()}
    return [f"{number} {name} are left" for name, number in more.items() if number > 0]


def _fitting(profile: Profile) -> list[Act]:
    return [act for act in (*ACTS, *PIECES, *RUDE) if act.fits(profile)]
