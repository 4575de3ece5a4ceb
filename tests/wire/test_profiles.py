"""Profiles: complete facts and methods of each revision, as in `facts.toml`."""

from __future__ import annotations

import ast
import inspect
import typing
from collections import Counter
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_wire.method import Method
from mcp_wire.profile import ErrorCodes, Profile
from tests.wire.docstrings import attributes, documented
from tests.wire.revisions import every_revision, kept, overlay_rows


def test_the_revisions_are_the_folders_of_the_schemas() -> None:
    folders = kept(mcp_wire.LATEST).folder.parent.glob("*/schema.json")
    assert list(mcp_wire.REVISIONS) == sorted(path.parent.name for path in folders)


def test_the_latest_revision_is_the_last() -> None:
    assert mcp_wire.REVISIONS[-1] == mcp_wire.LATEST


@pytest.mark.parametrize("revision", ["2024-11-06", "", "draft"])
def test_an_unknown_revision_is_a_lookup_error_naming_those_there_are(revision: str) -> None:
    with pytest.raises(LookupError) as caught:
        mcp_wire.profile(revision)
    assert str(caught.value) == (
        f"no revision {revision!r}; "
        "there are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
    )


# --- Facts ---


@every_revision
def test_a_profile_names_its_revision(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    assert (profile.revision, profile.module, profile.spec) == (
        revision,
        mcp_wire.types(revision).__name__,
        kept(revision).facts["spec"],
    )


@every_revision
def test_the_facts_are_those_of_facts_toml(revision: str) -> None:
    stated = {name: row.get("value") for name, row in kept(revision).facts["facts"].items()}
    profile = mcp_wire.profile(revision)
    assert {name: getattr(profile, name) for name in stated} == stated


@every_revision
def test_the_codes_of_json_rpc_are_the_same_at_every_revision(revision: str) -> None:
    errors = mcp_wire.profile(revision).errors
    assert (errors.parse_error, errors.invalid_request, errors.method_not_found) == (
        -32700,
        -32600,
        -32601,
    )
    assert (errors.invalid_params, errors.internal_error) == (-32602, -32603)


def test_a_lifecycle_begins_with_initialize_until_each_request_speaks_for_itself() -> None:
    *earlier, latest = mcp_wire.REVISIONS
    assert {**dict.fromkeys(earlier, "initialize"), latest: "per_request"} == mcp_wire.LIFECYCLES


def test_the_lifecycles_are_those_of_the_profiles() -> None:
    stated = {one: mcp_wire.profile(one).lifecycle for one in mcp_wire.REVISIONS}
    assert stated == mcp_wire.LIFECYCLES


def test_the_version_keys_are_those_of_the_profiles() -> None:
    stated = {one: mcp_wire.profile(one).protocol_version_key for one in mcp_wire.REVISIONS}
    assert {one: key for one, key in stated.items() if key} == mcp_wire.VERSION_KEYS


@every_revision
def test_every_field_of_a_profile_is_stated_somewhere(revision: str) -> None:
    given = {"revision", "spec", "module", "methods", "errors", "http_status"}
    roles = {row["name"] for row in overlay_rows("role")}
    facts = kept(revision).facts["facts"].keys()
    assert set(Profile.__struct_fields__) == given | roles | facts


@pytest.mark.parametrize("kind", [Profile, ErrorCodes])
def test_every_fact_has_a_line(kind: type) -> None:
    assert attributes(kind) - documented(kind).keys() == set()


@every_revision
def test_a_fact_has_the_type_that_the_profile_declares(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    declared = typing.get_type_hints(Profile)
    for name in kept(revision).facts["facts"]:
        value = getattr(profile, name)
        assert msgspec.convert(value, declared[name]) == value


@every_revision
def test_the_error_codes_are_those_of_facts_toml(revision: str) -> None:
    stated = {name.lower(): row["code"] for name, row in kept(revision).facts["errors"].items()}
    errors = mcp_wire.profile(revision).errors
    assert {name: getattr(errors, name) for name in errors.__struct_fields__} == {
        **dict.fromkeys(errors.__struct_fields__),
        **stated,
    }


@every_revision
def test_the_http_statuses_of_errors_are_those_of_facts_toml(revision: str) -> None:
    stated = {
        row["code"]: row["http_status"]
        for row in kept(revision).facts["errors"].values()
        if "http_status" in row
    }
    assert mcp_wire.profile(revision).http_status == stated


@every_revision
def test_a_role_is_played_by_the_method_of_its_row(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    expected = {row["name"]: profile.methods.get(row["method"]) for row in overlay_rows("role")}
    assert {name: getattr(profile, name) for name in expected} == expected


# --- Methods ---


@every_revision
def test_what_a_method_carries_is_of_its_own_revision(revision: str) -> None:
    home = kept(revision).types.__name__
    foreign = {
        method.name: homes - {home}
        for method in mcp_wire.profile(revision).methods.values()
        if (homes := {kind.__module__ for kind in carried(method)}) != {home}
    }
    assert foreign == {}


def carried(method: Method[Any, Any]) -> list[type]:
    return [kind for kind in (method.params, *method.results) if kind is not dict]


@every_revision
def test_a_request_has_a_result_and_a_notification_has_none(revision: str) -> None:
    wrong = {
        method.name: (method.kind, method.results, method.result)
        for method in mcp_wire.profile(revision).methods.values()
        if not ((method.kind == "request") is bool(method.results) is (method.result is not None))
    }
    assert wrong == {}


@every_revision
def test_every_method_stands_under_its_own_name(revision: str) -> None:
    methods = mcp_wire.profile(revision).methods
    assert list(methods) == [method.name for method in methods.values()]


@every_revision
def test_every_method_has_one_constant(revision: str) -> None:
    constants = [
        value for value in vars(kept(revision).methods).values() if isinstance(value, Method)
    ]
    assert Counter(map(id, constants)) == Counter(
        map(id, mcp_wire.profile(revision).methods.values())
    )


@every_revision
def test_no_constant_is_written_twice(revision: str) -> None:
    tree = ast.parse(inspect.getsource(kept(revision).methods))
    names = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@every_revision
def test_every_message_of_the_schema_is_a_method(revision: str) -> None:
    there = kept(revision)
    wires = {
        schema["properties"]["method"]["const"]
        for name, schema in there.definitions.items()
        if "const" in schema.get("properties", {}).get("method", {})
    }
    assert mcp_wire.profile(revision).methods.keys() == wires
