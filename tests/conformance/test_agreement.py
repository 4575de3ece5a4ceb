"""The suite and the doctor are compared check by check, and no disagreement goes unnoticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from mcp_gen.compat.report.model import Offer, Opening, Outcome, Report
from mcp_gen.compat.report.model import Verdict as Found
from mcp_gen.compat.requirements.manifest import requirements
from tests.conformance.agreement.comparison import Compared, compare, counted, faults_of
from tests.conformance.agreement.table import Disagreement, Scenario, Table, disagreements, table
from tests.conformance.run import LEGS, OF
from tests.conformance.suite import Cell, LegName, Verdict
from tests.conformance.suite import Outcome as Ran

NOW = "2025-11-25"
PONG = "ping:answered"
CELL = Cell("server", "ping", NOW, "1.0.0")
TABLE = Table(
    {
        "every": Scenario(covers={"wire": ("base:frames:valid",)}),
        "ping": Scenario(
            covers={"pong": (PONG,), "pong-*": (PONG,)},
            apart={"pong-late": "nobody says when"},
            needs={"pong-tool": ("tools ping",)},
        ),
    }
)
KNOWN = Disagreement(
    leg="server",
    peer="peer",
    scenario="ping",
    checks=("pong",),
    revisions=(NOW,),
    suite="passed",
    doctor="failed",
    right="doctor",
    why="it must be answered",
    text="https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping",
)


def report(verdict: Found, agreed: str | None = NOW) -> Report:
    outcome = Outcome(
        requirement=PONG, level="must", says="", revision=NOW, link="", verdict=verdict
    )
    return Report(
        target="peer",
        side="server",
        transport="http",
        version="1",
        took_s=0.0,
        openings=(Opening(asked=NOW, answer="", agreed=agreed),),
        listings=(Offer(revision=NOW, items={"tools": ("add",)}),),
        outcomes=(outcome,),
    )


def found(verdict: Verdict, doctor: Found, check: str = "pong") -> tuple[Compared, ...]:
    return compare(TABLE, {CELL: Ran(verdicts={check: verdict})}, report(doctor))


@pytest.mark.parametrize(
    ("suite", "doctor", "kind"),
    [
        ("passed", "passed", "agreed"),
        ("failed", "failed", "agreed"),
        ("passed", "failed", "differ"),
        ("failed", "passed", "differ"),
        ("failed", "not tested", "differ"),
        ("passed", "not tested", "suite alone"),
        ("not tested", "failed", "doctor alone"),
        ("not tested", "not tested", "neither"),
    ],
)
def test_two_verdicts_agree_or_differ_or_one_is_missing(
    suite: Verdict, doctor: Found, kind: str
) -> None:
    (one,) = found(suite, doctor)
    assert one.kind == kind


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        ("pong-again", "differ"),
        ("pong-late", "apart"),
        ("pong-tool", "no fixture"),
        ("wire", "differ"),
        ("unheard-of", "unknown"),
    ],
)
def test_a_check_is_compared_as_the_table_has_it(check: str, kind: str) -> None:
    (one,) = found("failed", "passed", check)
    assert one.kind == kind


def test_nothing_is_compared_at_a_revision_that_the_peer_does_not_speak() -> None:
    assert compare(TABLE, {CELL: Ran(verdicts={"pong": "failed"})}, report("passed", None)) == ()


def test_a_disagreement_that_nobody_has_decided_is_a_fault() -> None:
    (fault,) = faults_of("peer", found("failed", "passed"), [])
    assert fault == ("ping at 2025-11-25, pong: the suite says failed, the doctor passed")


def test_a_check_that_the_table_does_not_have_is_a_fault() -> None:
    (fault,) = faults_of("peer", found("passed", "passed", "unheard-of"), [])
    assert fault == "the table has no line for unheard-of of ping"


@pytest.mark.parametrize("scenario", ["ping", "*"])
def test_a_disagreement_that_is_decided_is_no_fault(scenario: str) -> None:
    known = [changed(KNOWN, scenario=scenario)]
    assert list(faults_of("peer", found("passed", "failed"), known)) == []


def test_a_decision_about_other_verdicts_does_not_count() -> None:
    assert list(faults_of("peer", found("failed", "passed"), [KNOWN])) != []


def test_a_decided_disagreement_that_is_gone_is_a_fault() -> None:
    (fault,) = faults_of("peer", found("passed", "passed"), [KNOWN])
    assert fault == "ping at 2025-11-25, pong: they agree now"


def test_a_decision_about_another_peer_is_not_looked_for() -> None:
    assert list(faults_of("other", found("passed", "passed"), [KNOWN])) == []


def test_scenarios_of_one_side_alone_are_named() -> None:
    assert TABLE.strangers(["tools"]) == [
        "the table has no scenario tools",
        "the suite has no scenario ping",
    ]


def test_a_line_may_be_about_all_scenarios_that_begin_alike() -> None:
    whole = Table({"every": Scenario(), "auth/*": Scenario(apart={"*": "apart"})})
    assert (whole.rows("auth/dpop", "x"), whole.rows("other", "x")) == ((), None)
    assert whole.strangers(["auth/dpop", "auth/other"]) == []
    assert whole.strangers(["tools"]) == [
        "the table has no scenario tools",
        "the suite has no scenario auth/*",
    ]


def test_comparisons_are_counted() -> None:
    again = replace(CELL, scenario="ping", suite="2.0.0")
    outcomes = {one: Ran(verdicts={"pong": "passed"}) for one in (CELL, again)}
    assert counted(compare(TABLE, outcomes, report("passed"))) == {"agreed": 2}


@pytest.mark.parametrize("leg", LEGS)
def test_every_requirement_that_the_table_names_binds_that_side(leg: LegName) -> None:
    named = {id: requirements()[id].applies for id in table(leg).named()}
    assert {id for id, applies in named.items() if applies != leg} == set()


@pytest.mark.parametrize("leg", LEGS)
def test_the_table_has_no_scenario_that_is_not_run(leg: LegName) -> None:
    left_out = tuple(OF[leg].LEFT_OUT)
    assert [name for name in table(leg).scenarios if name.startswith(left_out)] == []


def test_every_decision_has_its_place_in_the_specification() -> None:
    for one in disagreements():
        assert one.checks
        for revision in one.revisions:
            assert one.text.startswith(f"https://modelcontextprotocol.io/specification/{revision}/")


def test_the_suite_and_the_doctor_disagree_on_nothing_of_ours() -> None:
    assert [one for one in disagreements() if one.peer == "ours"] == []
