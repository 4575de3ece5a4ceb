"""Decoding accepts what the published schema accepts, but for the deviations in the overlay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest

from codegen.verify.instances import mutations
from codegen.verify.judge import Tally
from codegen.verify.report import as_text
from codegen.verify.run import Part, Subject, judged
from mcp_wire import decode, encode
from tests.support.checks.failures import failures
from tests.wire.as_read import as_read, published
from tests.wire.revisions import Kept, every_revision, fullest, kept, smallest, text

AT_ONCE = 25
"""Number of mutations that are tried per instance, spread over all of them."""

ENOUGH = 20_000
"""Number of instances of a revision's definitions: each part of each is wrong in one of them."""

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


@cache
def tally(revision: str) -> Tally:
    """Judge instances of every definition, on the wire types and on the models."""
    there = kept(revision)
    subject = Subject(revision, there.document, there.deviations)
    return judged(Part(subject, subject.decoded, ENOUGH, 1))


@every_revision
def test_what_the_published_schema_accepts_is_read_and_comes_back_equal(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        for value, _ in instances(there, name):
            assert published(there, name).is_valid(value), value
            assert text(come_back(revision, name, value)) == text(value)

    assert failures(there.decoded, check) == {}


@every_revision
def test_what_is_read_otherwise_than_published_is_so_by_a_row(revision: str) -> None:
    assert tally(revision).unexplained == 0, as_text({revision: tally(revision)}, 1, 0)


@every_revision
def test_an_unknown_key_is_read_over_by_a_row(revision: str) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    assert published(kept(revision), "Tool").is_valid({**tool, "example": 1})
    assert come_back(revision, "Tool", {**tool, "example": 1}) == tool
    assert kept(revision).deviations.reads("unknown key")


@every_revision
def test_instances_of_all_definitions_are_accepted_refused_and_read_by_a_row(revision: str) -> None:
    found = tally(revision)
    assert found.never_accepted == set()
    assert min(found.accepted, found.refused, found.differing) > 0


@every_revision
def test_the_definitions_that_are_judged_are_those_with_a_decoder(revision: str) -> None:
    there = kept(revision)
    subject = Subject(revision, there.document, there.deviations)
    assert subject.decoded == sorted(there.decoded)


@every_revision
def test_a_wrong_member_is_named_with_its_path(revision: str) -> None:
    there = kept(revision)

    def check_mutations(name: str) -> None:
        for value, seeded in instances(there, name):
            every = [*mutations(value)]
            step = len(every) // AT_ONCE + 1
            for changed in every[seeded.randrange(step) :: step]:
                problem = problem_of(revision, name, changed)
                # In a union another member may choose another arm, which then lacks what it needs.
                if problem and name in there.model.structs and is_inside(changed, value):
                    assert problem.rpartition(" - at `$")[2][:1] in (".", "["), problem

    assert failures(there.decoded, check_mutations) == {}


def is_inside(changed: Any, value: Any) -> bool:
    """Return True if a member is wrong, not the object itself."""
    both = isinstance(changed, dict) and isinstance(value, dict)
    return both and changed.keys() == value.keys()


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
