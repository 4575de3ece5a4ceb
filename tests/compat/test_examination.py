"""The examination ends, whatever a server does, and whatever is wrong with a check."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.judging import CHECK_FAILED
from mcp_gen.compat.checks.trial import ServerTrial
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.patience import Patience, Waits
from mcp_gen.compat.reference.call import ReferenceCall, Unanswered
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import MemoryOpener
from tests.compat.examining import examined

NEWEST = mcp_wire.REVISIONS[-2]
LONG_S = 3.0
"""A full wait: no answer is so slow, on no machine."""


async def report_on(
    server: type[ReferenceServer], revisions: tuple[str, ...] = (NEWEST,), timeout_s: float = LONG_S
) -> Report:
    """Return the report on a server that nothing is called of."""
    opens = MemoryOpener(lambda spoken: DuplexServing(server(spoken)))
    try:
        return await examine_server(
            opens, target="", transport="memory", revisions=revisions, timeout_s=timeout_s
        )
    finally:
        await opens.aclose()


@pytest.fixture
def full_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the waits of full length that were in vain, in seconds, as they come."""
    found: list[float] = []
    note = Waits.in_vain

    def in_vain(waits: Waits, waited_s: float) -> None:
        if waited_s >= LONG_S:
            found.append(waited_s)
        note(waits, waited_s)

    monkeypatch.setattr(Waits, "in_vain", in_vain)
    return found


def whys(report: Report) -> list[str]:
    return [one.why for one in report.outcomes if one.verdict == "not tested"]


# --- servers that hang, and servers that die ---


class HangsOnUnknownMethods(ReferenceServer):
    """Never answers a request of an unknown method."""

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method not in self.profile.methods:
            raise Unanswered
        return await super().answer(call)


async def test_a_server_that_hangs_on_one_check_costs_its_time_out_once(
    full_waits: list[float],
) -> None:
    report = await report_on(HangsOnUnknownMethods, mcp_wire.REVISIONS[:4])
    assert {one.requirement for one in report.failed()} == {"base:supported"}
    assert len(report.failed()) == 4
    # The revisions are examined at the same time.
    assert 1 <= len(full_waits) <= 4


class StopsAnswering(ReferenceServer):
    """Answers nothing any more once a request of an unknown method has come."""

    stopped = False

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method not in self.profile.methods:
            type(self).stopped = True
        if self.stopped:
            raise Unanswered
        return await super().answer(call)


async def test_a_server_that_stops_answering_is_left_alone(full_waits: list[float]) -> None:
    StopsAnswering.stopped = False
    report = await report_on(StopsAnswering)
    assert "the server stopped answering" in whys(report)
    # One for the method, and one for the next check.
    assert len(full_waits) == 2


class Dying(DuplexServing):
    """Dies of a request of an unknown method."""

    def receive(self, message: bytes) -> None:
        if b"unheard-of" in message:
            asyncio.get_running_loop().create_task(self._transport.aclose())
            self.closed(None)
            return
        super().receive(message)


async def test_a_server_that_dies_in_the_middle_is_opened_again() -> None:
    opens = MemoryOpener(lambda spoken: Dying(ReferenceServer(spoken)))
    report = await examine_server(
        opens, target="", transport="memory", revisions=(NEWEST,), timeout_s=LONG_S
    )
    await opens.aclose()
    passed = {one.requirement for one in report.outcomes if one.verdict == "passed"}
    assert "tools:names:unique" in passed
    assert not any(CHECK_FAILED in why for why in whys(report))


def test_a_wait_in_vain_is_the_only_long_one_of_its_turn_at_any_revision() -> None:
    patience = Patience(5.0)
    here, there = Waits(patience), Waits(patience)
    here.begin("a check")
    assert here.timeout_s == 5.0
    here.in_vain(5.0)
    there.begin("a check")
    assert here.timeout_s == there.timeout_s == 1.0
    there.begin("another check")
    assert there.timeout_s == 5.0


def test_a_shorter_wait_is_long_enough_for_a_server_that_is_slow() -> None:
    patience = Patience(5.0)
    patience.heard(1.5)
    assert patience.shorter_s == 4.5
    patience.heard(3.0)
    assert patience.shorter_s == patience.longest_s == 9.0


def test_a_wait_is_doubtful_once_an_answer_was_so_slow_that_it_would_be_longer_now() -> None:
    waits = Waits(Patience(1.0))
    waits.begin("a check")
    waits.in_vain(waits.timeout_s)
    doubts = []
    for waited_s in (0.3, 0.4):
        waits.patience.heard(waited_s)
        doubts.append(waits.is_doubtful)
    waits.begin("another check")
    assert [*doubts, waits.is_doubtful] == [False, True, False]


async def test_an_examination_can_be_of_some_areas_alone() -> None:
    opens = MemoryOpener(lambda spoken: DuplexServing(ReferenceServer(spoken)))
    report = await examine_server(
        opens, target="", transport="memory", revisions=(NEWEST,), areas=("ping", "tools")
    )
    await opens.aclose()
    assert {one.area for one in report.outcomes} == {"ping", "tools"}


def test_a_process_gets_time_to_start_until_one_has_started_or_none_has() -> None:
    patience = Patience(5.0)
    assert patience.start_s == 20.0
    patience.open_in_vain()
    assert (patience.start_s, patience.open_s) == (1.0, 1.0)
    patience.heard(4.0, is_first=True)
    assert (patience.start_s, patience.shorter_s) == (12.0, 1.0)


# --- checks that fail ---


@contextmanager
def replaced(id: str, **members: Any) -> Generator[None]:
    """Replace members of a check for a while."""
    kept = checks()[id]
    checks()[id] = msgspec.structs.replace(kept, **members)
    try:
        yield
    finally:
        checks()[id] = kept


class SlowFromThenOn(HangsOnUnknownMethods):
    """Takes half a second for a ping, on any connection, once it was asked an unknown method."""

    is_slow = False

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method not in self.profile.methods:
            SlowFromThenOn.is_slow = True
        return await super().answer(call)

    async def ping(self, call: ReferenceCall) -> Json:
        await asyncio.sleep(0.5 if self.is_slow else 0)
        return {}


async def waiting_probe(trial: ServerTrial) -> None:
    client = await trial.main()
    reply = await client.ask_frame(client.request_frame("com.example/unheard-of"))
    if reply.timed_out:
        trial.broken("an answer", "none", reply.asked)


@pytest.mark.parametrize(
    ("server", "verdict"), [(HangsOnUnknownMethods, "failed"), (SlowFromThenOn, "not tested")]
)
async def test_an_answer_is_missing_only_if_others_are_not_nearly_as_late(
    server: type[ReferenceServer], verdict: str
) -> None:
    opens = MemoryOpener(lambda spoken: DuplexServing(server(spoken)))
    with replaced("tools:errors:unknown", probe=waiting_probe):
        report = await examine_server(
            opens,
            target="",
            transport="memory",
            revisions=(NEWEST,),
            areas=("tools",),
            timeout_s=1.0,
        )
    await opens.aclose()
    (outcome,) = [one for one in report.outcomes if one.requirement == "tools:errors:unknown"]
    assert outcome.verdict == verdict
    assert bool(outcome.findings) is (verdict == "failed")


async def failing_probe(trial: object) -> None:
    raise LookupError("no such thing")


def failing_rule(transcript: object, found: object) -> None:
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("id", "members"),
    [("base:supported", {"probe": failing_probe}), ("base:json-rpc", {"rule": failing_rule})],
)
async def test_a_check_that_fails_is_told_as_a_fault_of_ours(id: str, members: Any) -> None:
    with replaced(id, **members):
        report = await report_on(ReferenceServer)
    (outcome,) = [one for one in report.outcomes if one.requirement == id]
    assert (outcome.verdict, outcome.why) == (
        "not tested",
        "the check failed: LookupError: no such thing",
    )
    assert len(report.counts()) > 1, "the examination goes on"


async def test_a_check_that_fails_fails_our_tests() -> None:
    with replaced("base:supported", probe=failing_probe), pytest.raises(AssertionError):
        await examined(ReferenceServer, NEWEST)
