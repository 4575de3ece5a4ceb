"""JSON Schemas of the types: a value is valid if the closed check finds nothing in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from codegen.verify.instances import instance, mutations
from mcp_gen.core.projection.closed import violations
from mcp_wire.json_schemas import json_schema
from tests.support.checks.failures import failures
from tests.wire.revisions import Kept, every_revision, kept
from tests.wire.test_imports import imported_by, revisions_in

INSTANCES, MUTATIONS = 3, 15


@cache
def registry(revision: str) -> Any:
    return jsonschema_rs.Registry([("urn:types", json_schema(revision))])


@cache
def validator(revision: str, name: str) -> jsonschema_rs.Validator:
    schema = {"$ref": f"urn:types#/$defs/{name}"}
    return jsonschema_rs.validator_for(schema, registry=registry(revision))


def decoded(there: Kept) -> list[str]:
    """Return the names of all types that are decoded, those of the overlay included."""
    names = json_schema(there.revision)["$defs"]
    return [name for name in names if name not in there.types.NOT_DECODED]


def values(there: Kept, name: str) -> Iterator[Any]:
    """Yield random values of a type, each with some that are one step away from it."""
    for number in range(INSTANCES):
        seeded = Random(f"{there.revision} {name} {number}")
        if name in there.definitions:
            value = there.instance(name, seeded.choice)
        else:
            value = instance({"$defs": there.normalized}, there.normalized[name], seeded.choice)
        yield value
        every = [*mutations(value)]
        yield from seeded.sample(every, min(MUTATIONS, len(every)))


@every_revision
def test_a_value_is_valid_exactly_if_the_closed_check_finds_nothing(revision: str) -> None:
    there = kept(revision)
    verdicts: set[bool] = set()

    def check(name: str) -> None:
        for value in values(there, name):
            found = list(violations(there.named(name), json.dumps(value).encode(), revision, "$"))
            valid = validator(revision, name).is_valid(value)
            assert valid == (not found), (value, found)
            verdicts.add(valid)

    assert failures(decoded(there), check) == {}
    assert verdicts == {True, False}


@every_revision
def test_the_schema_is_a_schema(revision: str) -> None:
    jsonschema_rs.Draft202012Validator(json_schema(revision))
    assert jsonschema_rs.meta.is_valid(json_schema(revision))


@every_revision
def test_every_type_of_the_package_is_in_the_schema(revision: str) -> None:
    there = kept(revision)
    assert {*there.model.structs, *there.model.aliases} == json_schema(revision)["$defs"].keys()


@every_revision
def test_the_schema_of_one_type_holds_what_it_refers_to_and_no_more(revision: str) -> None:
    schema = json_schema(revision, "Tool")
    assert schema["$ref"] == "#/$defs/Tool"
    assert {"Tool"} <= schema["$defs"].keys() < json_schema(revision)["$defs"].keys()
    assert "CallToolResult" not in schema["$defs"]
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    assert jsonschema_rs.is_valid(schema, tool)
    assert not jsonschema_rs.is_valid(schema, {"name": "t"})


def test_a_key_of_a_later_revision_is_refused() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "icons": []}
    assert not jsonschema_rs.is_valid(json_schema("2025-06-18", "Tool"), tool)


def test_an_open_schema_allows_keys_that_the_revision_does_not_name() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "icons": []}
    assert jsonschema_rs.is_valid(json_schema("2025-06-18", "Tool", closed=False), tool)


def test_what_decoding_assumes_is_required_of_who_sends() -> None:
    result = {"resultType": "complete", "tools": []}
    assert not jsonschema_rs.is_valid(json_schema("2026-07-28", "ListToolsResult"), result)


def test_a_type_has_its_documentation() -> None:
    tool = json_schema("2025-11-25", "Tool")["$defs"]["Tool"]
    assert tool["description"]
    assert tool["properties"]["icons"]["description"]


@pytest.mark.parametrize(
    ("revision", "name", "message"),
    [
        ("2025-01-01", None, "no revision '2025-01-01'; there are 2024-11-05, 2025-03-26,"),
        ("2025-11-25", "Tol", "2025-11-25 has no type 'Tol'; there is Tool"),
        ("2025-11-25", "", "2025-11-25 has no type ''"),
    ],
)
def test_an_unknown_revision_or_type_is_refused(revision: str, name: Any, message: str) -> None:
    with pytest.raises(LookupError) as caught:
        json_schema(revision, name)
    assert str(caught.value).startswith(message)


def test_the_schemas_import_no_revision() -> None:
    used = "json_schemas.json_schema('2025-11-25', 'Tool')"
    assert revisions_in(imported_by(f"from mcp_wire import json_schemas; {used}")) == set()
