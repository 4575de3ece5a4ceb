"""Decoding accepts what the published schema accepts, but for the deviations in the overlay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from codegen.verify.instances import mutations
from mcp_wire import decode, encode
from tests.support.checks.failures import failures
from tests.wire.as_read import as_read, meant, published
from tests.wire.revisions import Kept, every_revision, fullest, kept, smallest, text

AT_ONCE = 25
"""Number of mutations that are tried per instance, spread over all of them."""

EXAMPLES = 5
"""Number of instances of each definition: the smallest, the fullest, and random ones."""


def instances(there: Kept, name: str) -> Iterator[tuple[Any, Random]]:
    """Yield instances of a definition, each with the generator that further choices may use."""
    for number in range(EXAMPLES):
        seeded = Random(f"{there.revision} {name} {number}")
        choose = {0: smallest, 1: fullest}.get(number, seeded.choice)
        yield there.instance(name, choose), seeded


def problem_of(revision: str, name: str, value: Any) -> str:
    """Return the decoding error of a value; empty if it is accepted."""
    try:
        decode(kept(revision).named(name), json.dumps(value).encode())
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def come_back(revision: str, name: str, value: Any) -> Any:
    return json.loads(encode(decode(kept(revision).named(name), json.dumps(value).encode())))


def without_null(value: Any) -> Any:
    if isinstance(value, list):
        return [without_null(item) for item in value]
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return value


def is_part(part: Any, value: Any) -> bool:
    """Return True if `part` is `value` with some keys left out, at any depth."""
    if isinstance(part, list) and isinstance(value, list) and len(part) == len(value):
        return all(map(is_part, part, value))
    if isinstance(part, dict) and isinstance(value, dict):
        return all(key in value and is_part(item, value[key]) for key, item in part.items())
    return text(part) == text(value)


def check(revision: str, name: str, value: Any) -> tuple[bool, str]:
    """Compare decoding with both schemas; return the published one's verdict, and the error."""
    there = kept(revision)
    valid = published(there, name).is_valid(value)
    problem = problem_of(revision, name, value)
    assert (problem == "") == as_read(there, name).is_valid(value), problem or "accepted"
    if valid and not problem and meant(there, name).is_valid(value):
        back = come_back(revision, name, value)
        if as_read(there, name, closed=True).is_valid(value):
            # A null may be valid as an extra key of another arm than the one that is read.
            assert text(back) in (text(value), text(without_null(value)))
        else:
            assert is_part(back, value)
    return valid, problem


@every_revision
def test_what_the_published_schema_accepts_is_read_and_comes_back_equal(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        for value, _ in instances(there, name):
            assert published(there, name).is_valid(value), value
            assert text(come_back(revision, name, value)) == text(value)

    assert failures(there.decoded, check) == {}


@every_revision
def test_one_violation_is_refused_unless_the_overlay_says_otherwise(revision: str) -> None:
    there = kept(revision)

    def check_mutations(name: str) -> None:
        for value, seeded in instances(there, name):
            every = [*mutations(value)]
            step = len(every) // AT_ONCE + 1
            for changed in every[seeded.randrange(step) :: step]:
                _, problem = check(revision, name, changed)
                # In a union another member may choose another arm, which then lacks what it needs.
                if problem and name in there.model.structs and is_inside(changed, value):
                    assert problem.rpartition(" - at `$")[2][:1] in (".", "["), problem

    assert failures(there.decoded, check_mutations) == {}


def is_inside(changed: Any, value: Any) -> bool:
    """Return True if a member is wrong, not the object itself."""
    both = isinstance(changed, dict) and isinstance(value, dict)
    return both and changed.keys() == value.keys()


@every_revision
def test_values_of_both_verdicts_are_met_and_some_are_read_by_a_row(revision: str) -> None:
    checked = [
        check(revision, name, value)
        for name in kept(revision).decoded
        for value in mutations(kept(revision).instance(name, smallest))
    ]
    verdicts = {(valid, problem == "") for valid, problem in checked}
    assert {(True, True), (False, False), (False, True)} <= verdicts


@every_revision
def test_what_comes_back_lacks_only_the_keys_that_the_revision_does_not_name(revision: str) -> None:
    value = {"uri": "file:///a", "com.example/extra": 1}
    assert come_back(revision, "Root", value) == {"uri": "file:///a"}
    assert not as_read(kept(revision), "Root", closed=True).is_valid(value)


# --- The rows, each in an example ---


def refusal(revision: str, name: str, value: Any) -> tuple[bool, str]:
    """Return the published schema's verdict, and the decoding error."""
    valid = published(kept(revision), name).is_valid(value)
    return valid, problem_of(revision, name, value)


@every_revision
def test_a_bound_is_not_checked(revision: str) -> None:
    assert refusal(revision, "ModelPreferences", {"costPriority": 2}) == (False, "")


@every_revision
def test_a_format_is_not_checked(revision: str) -> None:
    assert refusal(revision, "Root", {"uri": "{"}) == (False, "")


@every_revision
def test_an_optional_null_is_read_as_absent(revision: str) -> None:
    assert refusal(revision, "Root", {"uri": "file:///a", "name": None}) == (False, "")


@every_revision
def test_a_required_null_is_refused(revision: str) -> None:
    problem = "Expected `str`, got `null` - at `$.uri`"
    assert refusal(revision, "Root", {"uri": None}) == (False, problem)


@every_revision
def test_an_absent_constant_is_read_where_nothing_else_is_possible(revision: str) -> None:
    assert refusal(revision, "PromptReference", {"name": "a"}) == (False, "")


@every_revision
def test_an_absent_constant_is_refused_where_it_tells_a_union_apart(revision: str) -> None:
    value = {"argument": {"name": "a", "value": ""}, "ref": {"name": "a"}}
    name = "CompleteRequestParams"
    assert problem_of(revision, name, value) == (
        "Object missing required field `type` - at `$.ref`"
    )


@every_revision
def test_a_wrong_constant_is_refused(revision: str) -> None:
    value = {"type": "ref/other", "name": "a"}
    problem = "Invalid value 'ref/other' - at `$.type`"
    assert refusal(revision, "PromptReference", value) == (False, problem)


@every_revision
@pytest.mark.parametrize("number", [1.0, 1.5])
def test_an_integer_has_no_fraction(revision: str, number: float) -> None:
    value = {"content": [], "ttl": 0, "total": number, "values": []}
    problem = problem_of(revision, "Completion", value)
    assert problem == "Expected `int | null`, got `float` - at `$.total`"


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_an_error_in_an_arm_that_stands_alone_has_a_whole_path(revision: str) -> None:
    value = {"type": "boolean", "title": 1}
    problem = "Expected `str | null`, got `int` - at `$.title`"
    assert problem_of(revision, "PrimitiveSchemaDefinition", value) == problem
