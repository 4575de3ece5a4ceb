"""Pairs of schemas that are drawn: whatever is called compatible is, value by value."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from jsonschema_rs import Draft202012Validator

from mcp_gen.contracts.subsumption.comparing import Direction, compare_schemas
from tests.contracts.instances import instances
from tests.contracts.schema_pairs import edited, schema_of
from tests.support.property_tests import given, settings, st

PAIRS = 500
VALUES = 1_000
"""Values of each compatible pair."""
TRIES = 4_000
"""Values that are made at most to find so many that fit."""

SEEN: Counter[str] = Counter()


def values_of(schema: Any, random: Random, *, as_sent: bool) -> list[Any]:
    """Return values that fit a schema: `VALUES` of them, where it is not nearly empty."""
    fits = Draft202012Validator(schema).is_valid
    found: list[Any] = []
    for number, value in enumerate(instances(schema, random, as_sent=as_sent)):
        if fits(value):
            found.append(value)
        if len(found) == VALUES or number == TRIES:
            return found
    return found


def judge_pair(seed: int) -> None:
    """Draw a pair, and check its verdict with values."""
    random = Random(seed)
    one = schema_of(random)
    old, new = random.sample([one, edited(one, random)], 2)
    direction: Direction = random.choice(("arguments", "results"))
    as_sent = random.random() < 0.5
    if "properties" not in (old if direction == "arguments" else new):
        # Arguments that are not declared are not sent, also by a tool that declares none.
        direction = "results"
    found = compare_schemas(old, new, direction, as_sent=as_sent)
    sent, taken = (old, new) if direction == "arguments" else (new, old)
    SEEN[found.verdict] += 1
    is_taken = Draft202012Validator(taken).is_valid
    for finding in found.findings:
        if finding.witness:
            SEEN["shown"] += 1
            assert Draft202012Validator(sent).is_valid(finding.witness[0])
            assert not is_taken(finding.witness[0])
    if found.verdict == "compatible":
        values = values_of(sent, random, as_sent=as_sent)
        SEEN["values"] += len(values)
        wrong = [value for value in values if not is_taken(value)]
        assert wrong == [], (sent, taken)
    if found.verdict == "breaks":
        SEEN["breaks that are shown"] += any(one.witness for one in found.findings)


@settings(max_examples=PAIRS)
@given(st.integers(0, 2**63))
def draw_pairs(seed: int) -> None:
    judge_pair(seed)


def test_what_is_called_compatible_takes_a_thousand_values_of_each_of_500_pairs() -> None:
    SEEN.clear()
    draw_pairs()
    pairs = SEEN["compatible"] + SEEN["breaks"] + SEEN["cannot tell"]
    assert pairs >= PAIRS
    assert SEEN["compatible"] >= PAIRS * 0.4
    assert SEEN["breaks"] >= PAIRS * 0.1
    assert SEEN["cannot tell"] <= PAIRS * 0.1
    assert SEEN["breaks that are shown"] >= SEEN["breaks"] * 0.8
    assert SEEN["values"] >= SEEN["compatible"] * VALUES * 0.8
