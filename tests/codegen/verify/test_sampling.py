"""Instances of the self-test: no part of a definition is left to chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest

from codegen.errors import CodegenError
from codegen.verify.as_read import Validators, complete, injected
from codegen.verify.instances import Mutator, instance
from codegen.verify.run import Part, Subject, judged
from codegen.verify.sampling import Sampler
from tests.codegen.tiny import STRING, const, ref, struct
from tests.support.checks.failures import failures
from tests.wire.as_read import published
from tests.wire.revisions import Kept, every_revision, kept, text


def sampler(there: Kept, name: str, seed: str = "a") -> Sampler:
    finished = injected(complete(there.document, there.deviations), there.deviations)
    return Sampler(name, there.document, finished, ["com.example/extra"], seed)


def made_of(schema: Any, **others: Any) -> Sampler:
    document = {"$defs": {"Tested": schema, **others}}
    return Sampler("Tested", document, document, ["extra"], "a")


def test_an_all_of_and_what_stands_beside_it_make_one_instance() -> None:
    part = struct(a=const("1"))
    whole = {"allOf": [part], **struct(b=const("2"))}
    assert instance({}, {"allOf": [part]}, lambda found: found[0]) == {"a": "1"}
    assert instance({}, whole, lambda found: found[0]) == {"a": "1", "b": "2"}
    assert instance({}, {"allOf": [STRING]}, lambda found: found[-1]) == "text"


@every_revision
def test_each_arm_of_a_union_is_made(revision: str) -> None:
    there = kept(revision)
    unions = {
        name: [arm["$ref"].rpartition("/")[2] for arm in schema["anyOf"]]
        for name, schema in there.definitions.items()
        if all("$ref" in arm for arm in schema.get("anyOf", [{}]))
    }

    def check(union: str) -> None:
        values = [*sampler(there, union).in_turn()]
        for arm in unions[union]:
            assert any(map(published(there, arm).is_valid, values)), arm

    assert "ClientRequest" in unions
    assert failures(unions, check) == {}


def test_each_integer_is_written_with_a_fraction_too() -> None:
    values = [*made_of(struct(n={"const": 5}, s=STRING)).in_turn()]
    assert any(repr(one.get("n")) == "5.0" for one in values if isinstance(one, dict))


@every_revision
def test_each_required_member_is_left_out_once(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        values = [*sampler(there, name).in_turn()]
        schema = there.definitions[name]
        for wire in schema.get("required", ()):
            others = schema["properties"].keys() - {wire}
            assert any(value.keys() == others for value in values if isinstance(value, dict)), wire

    structs = [name for name in there.decoded if "properties" in there.definitions[name]]
    assert failures(structs, check) == {}


def test_each_member_is_null_of_another_type_and_another_value_of_its_type() -> None:
    values = [*made_of(struct(a=STRING)).in_turn()]
    kinds = {type(value["a"]) for value in values if isinstance(value, dict) and "a" in value}
    texts = {value["a"] for value in values if isinstance(value, dict) and "a" in value}
    assert {str, type(None)} < kinds
    assert len({one for one in texts if isinstance(one, str)}) > 1


def test_an_alternative_inside_of_a_member_is_made() -> None:
    arms = {"A": struct(kind=const("a")), "B": struct(kind=const("b")), "C": struct(c=STRING)}
    holder = struct(one={"anyOf": [ref(name) for name in arms]})
    validators = Validators({"$defs": {"Tested": holder, **arms}})
    values = [value for value in made_of(holder, **arms).in_turn() if has_one(value)]
    for arm in arms:
        assert any(validators.of(arm).is_valid(value["one"]) for value in values), arm


def has_one(value: Any) -> bool:
    return isinstance(value, dict) and "one" in value


def first(values: Iterator[Any]) -> list[str]:
    return [text(value) for value in islice(values, 200)]


def test_a_seed_makes_the_same_instances_and_another_seed_others() -> None:
    there = kept("2025-11-25")
    found = [first(sampler(there, "Tool", seed).at_random()) for seed in ("a", "a", "b")]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_definition_without_a_finite_instance_stops_the_run() -> None:
    endless = struct(next=ref("Tested"))
    with pytest.raises(CodegenError, match=r"^Tested: no finite instance can be made of it$"):
        next(made_of(endless).in_turn())


def test_a_definition_of_which_nothing_is_valid_is_named() -> None:
    there = kept("2025-11-25")
    never = {"allOf": [STRING, {"type": "object"}]}
    document = {"$defs": {**there.definitions, "Root": never}}
    subject = Subject("2025-11-25", document, there.deviations)
    assert judged(Part(subject, ["Root", "Tool"], 200, 0)).never_accepted == {"Root"}


def test_a_change_leaves_the_value_that_it_is_made_of_as_it_is() -> None:
    value = {"a": [{"b": 1}], "c": {"d": None}}
    before = text(value)
    mutator = Mutator(Random(1), ["e"])
    assert any(text(one) != before for one in mutator.changes(value, 50))
    assert [*mutator.each_part(value, 3)]
    assert text(value) == before


@pytest.mark.parametrize(
    ("now", "alike", "other"),
    [("t", "x", ["y"]), (["t"], ["y"], "x"), (1, 2, "x"), (True, False, 2)],
)
def test_each_key_is_left_out_null_of_another_type_and_another_value(
    now: Any, alike: Any, other: Any
) -> None:
    made = [*Mutator(Random(1), [], [alike, other]).each_part({"a": now}, 1)]
    assert made[2:6] == [{}, {"a": None}, {"a": other}, {"a": alike}]
