"""The short form of `nox -s soak -- http`: every act at every revision, then two short rounds."""

from __future__ import annotations

import pytest

import mcp_wire
from tests.soak.http import Plan, soak
from tests.soak.report import Report
from tests.soak.server import State
from tests.soak.traffic.acts import ACTS
from tests.soak.traffic.pieces import PIECES
from tests.soak.traffic.rude import RUDE

SHORT = Plan(seed=1, seconds=0, clients=16, round_s=0.4, idle_s=0.4, rest_s=8)


async def test_mixed_traffic_over_http_loses_no_answer_and_leaves_nothing_behind() -> None:
    report = await soak(SHORT)
    assert report.wrong == []
    assert report.status == 0
    everything = {
        (act.name, one)
        for one in mcp_wire.REVISIONS
        for act in (*ACTS, *PIECES, *RUDE)
        if act.fits(mcp_wire.profile(one))
    }
    # A session may expire on a busy machine, with the acts planned for it.
    assert len(everything - report.done.keys()) <= report.expired


def a_report(objects: list[int]) -> Report:
    report = Report(seed=0)
    for number in objects:
        kinds = {"Session": number - 1000, "dict": 900}
        report.rounds.append(State(number, 100, 100, 1, 1, 0, 0, kinds))
    report.judge()
    return report


@pytest.mark.parametrize(
    ("objects", "wrong"),
    [
        ([1000, 3000, 3010, 2990, 3005, 3000], 0),
        ([3000, 1000, 1200, 1400, 1600, 1800], 1),
        ([1000, 3000, 3600], 1),
        ([1000, 3000, 3300], 0),
        ([1000, 9000], 0),
    ],
)
def test_what_grows_after_the_beginning_is_wrong(objects: list[int], wrong: int) -> None:
    assert a_report(objects).found_wrong == wrong


def test_what_there_is_more_of_is_named() -> None:
    (wrong,) = a_report([1000, 1200, 1400, 1900]).wrong
    assert "Session +900" in wrong
