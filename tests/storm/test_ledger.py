"""Violations, as the storm counts them."""

from __future__ import annotations

import pytest

from tests.storm import ledger as ledgers
from tests.storm.ledger import Fault, Ledger, Outcome, documented
from tests.storm.plan import LIMIT_S

GATEWAY = Outcome("http", 502)
GONE = Outcome("http", 404)


def settled(ledger: Ledger, outcome: Outcome, *, session_s: float = 0.0) -> dict[str, int]:
    ledger.settle("a client", "streamable", outcome, ledger.now_s(), session_s)
    return dict(ledger.violations)


def broken(kind: str, ended_s: float | None = None) -> Ledger:
    return Ledger(faults=[Fault(kind, kind, -100.0, ended_s=ended_s)])


def test_a_documented_error_while_its_cause_fails_is_no_violation() -> None:
    ledger = broken("node")
    assert settled(ledger, GATEWAY) == {}
    assert ledger.errors == {("no node took the request", "a client"): 1}


@pytest.mark.parametrize("ledger", [Ledger(), broken("emptied"), broken("node", ended_s=-50.0)])
def test_a_documented_error_without_its_cause_is_a_violation(ledger: Ledger) -> None:
    assert settled(ledger, GATEWAY) == {"error without a reason": 1}


def test_an_error_that_is_not_documented_is_a_violation_whatever_fails() -> None:
    assert settled(broken("node"), Outcome("http", 500)) == {"error not documented": 1}


def test_a_session_may_be_gone_since_the_store_lost_its_data_but_no_later_one() -> None:
    assert settled(broken("emptied", ended_s=-20.0), GONE, session_s=-30.0) == {}
    later = settled(broken("emptied", ended_s=-20.0), GONE, session_s=-10.0)
    assert later == {"error without a reason": 1}


def test_an_effect_that_happened_twice_is_a_violation_unless_its_tool_is_idempotent() -> None:
    ledger = Ledger()
    ledger.expect_effect("count")
    ledger.expect_effect("put", idempotent=True)
    ledger.judge_effects(["count", "put", "put", "count"])
    assert ledger.violations == {"effect twice": 1}


def test_an_effect_that_was_answered_and_not_made_is_a_violation() -> None:
    ledger = Ledger()
    ledger.expect_effect("answered")
    ledger.expect_effect("lost")
    ledger.effects["answered"] = True
    ledger.judge_effects([])
    assert ledger.violations == {"effect missing": 1}


def test_a_message_with_the_mark_of_another_client_is_a_violation() -> None:
    ledger = Ledger()
    ledger.belongs("a client", "mark-000000000001", b'"mark-000000000001"')
    assert ledger.violations == {}
    ledger.belongs("a client", "mark-000000000001", b'"mark-000000000001 mark-000000000002"')
    assert ledger.violations == {"at the wrong client": 1}


def test_a_request_that_took_too_long_is_a_violation() -> None:
    ledger = Ledger()
    ledger.took("a client", "echo", ledger.now_s() - LIMIT_S - 2)
    assert ledger.violations == {"waited too long": 1}


@pytest.mark.parametrize(
    ("faults", "fell"),
    [
        ([Fault("node", "node killed", 1.5, pid=7)], True),
        ([Fault("node", "node killed", 3.0, pid=7)], False),
        ([Fault("node", "node killed", 1.5, pid=8)], False),
        ([Fault("node", "node stopped", -5.0, pid=7, ended_s=-1.0)], False),
        ([Fault("store", "store stopped", 1.0, ended_s=3.0)], False),
        # What it had to tell has to wait for the store.
        (
            [Fault("node", "node killed", 5.0, pid=7), Fault("store", "store", 1.0, ended_s=3.0)],
            True,
        ),
    ],
)
def test_a_node_has_told_of_a_change_unless_it_failed_before_it_could(
    faults: list[Fault], fell: bool
) -> None:
    assert Ledger(faults=faults).fell(7, since_s=0.0, told_s=2.0) is fell


def test_every_documented_error_says_what_it_needs_and_what_it_means() -> None:
    rows = documented()
    assert all(row.needs and set(row.needs) <= ledgers.GRACE_S.keys() for row in rows)
    assert all(row.says.endswith(".") for row in rows)
    assert len({row.name for row in rows}) == len(rows)
