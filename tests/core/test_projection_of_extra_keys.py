"""Projection of keys that an open type does not name: they are carried along."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen.core.errors import ProjectionError
from mcp_gen.core.projection import project as projection
from mcp_gen.core.projection.closed import violations
from mcp_gen.core.projection.project import Loss, project, restate
from mcp_wire import Wire, encode, extra_keys
from mcp_wire.base import declared_type

EXTRA = {"com.example/x": {"a": [1, None]}, "y": None}
KINDS = ("ClientCapabilities", "ServerCapabilities")

every_step = pytest.mark.parametrize(("of", "to"), [*permutations(mcp_wire.REVISIONS, 2)])


def declared(revision: str, kind: str, **members: Any) -> Any:
    """Return capabilities as a peer of a revision has sent them."""
    return mcp_wire.decode(getattr(mcp_wire.types(revision), kind), json.dumps(members).encode())


@every_step
@pytest.mark.parametrize("kind", KINDS)
def test_extra_keys_are_carried_to_every_revision_without_a_loss(
    of: str, to: str, kind: str
) -> None:
    value, losses = project(declared(of, kind, experimental={}, **EXTRA), to)
    assert (value.extra, losses) == (EXTRA, [])
    assert declared_type(type(value)) is getattr(mcp_wire.types(to), kind)


@every_step
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_carried_is_closed_at_the_target(of: str, to: str, kind: str) -> None:
    value = project(declared(of, kind, **EXTRA), to).value
    assert [*violations(getattr(mcp_wire.types(to), kind), encode(value), to, "$")] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
def test_a_value_of_the_target_is_the_same_object(revision: str, kind: str) -> None:
    value = declared(revision, kind, **EXTRA)
    assert project(value, revision).value is value


def test_extra_keys_inside_a_result_are_carried_along() -> None:
    home = mcp_wire.types("2025-11-25")
    result = home.InitializeResult(
        protocol_version="2025-11-25",
        capabilities=declared("2025-11-25", "ServerCapabilities", **EXTRA),
        server_info=home.Implementation(name="a", version="1"),
    )
    projected = project(result, "2024-11-05")
    assert (projected.value.capabilities.extra, projected.losses) == (EXTRA, [])


def test_a_key_that_the_target_names_becomes_its_field() -> None:
    given = declared("2024-11-05", "ServerCapabilities", completions={}, x=1)
    value, losses = project(given, "2025-03-26")
    assert (value.completions, value.extra, losses) == ({}, {"x": 1}, [])


def test_a_key_that_means_something_else_at_the_target_is_lost() -> None:
    given = declared("2024-11-05", "ServerCapabilities", completions="yes", x=1)
    value, losses = project(given, "2025-03-26")
    assert (value.completions, value.extra) == (None, {"x": 1})
    assert losses == [Loss("$.completions", "2025-03-26 has another value here")]


def test_a_field_that_the_target_lacks_is_lost_and_does_not_become_an_extra_key() -> None:
    given = declared("2025-11-25", "ServerCapabilities", tasks={}, x=1)
    value, losses = project(given, "2025-06-18")
    assert value.extra == {"x": 1}
    assert losses == [Loss("$.tasks", "2025-06-18 has no such field")]


class ClosedCapabilities(Wire):
    """Capabilities of a revision that takes none that it does not name: so far each takes them."""


def test_where_the_target_is_not_open_each_extra_key_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = declared("2025-11-25", "ClientCapabilities", **EXTRA)
    restate(given, "2025-06-18")
    key = (declared_type(type(given)), "2025-06-18")
    plan = projection._plans[key]
    assert plan
    closed = msgspec.structs.replace(plan, target=ClosedCapabilities, kept=())
    monkeypatch.setitem(projection._plans, key, closed)
    value, losses = project(given, "2025-06-18")
    assert value == ClosedCapabilities()
    assert losses == [Loss(f"$.{one}", "2025-06-18 has no such field") for one in EXTRA]


def test_extra_keys_in_the_meta_of_a_request_are_no_reason_to_refuse_it() -> None:
    home = mcp_wire.types("2025-11-25")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": EXTRA,
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
    }
    params = home.CallToolRequestParams(name="t", meta=meta)
    assert project(params, "2026-07-28").value.meta == meta


def test_a_wrong_capability_in_the_meta_of_a_request_is_refused_beside_extra_keys() -> None:
    home = mcp_wire.types("2025-11-25")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": 1, **EXTRA},
        "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
    }
    params = home.CallToolRequestParams(name="t", meta=meta)
    with pytest.raises(ProjectionError, match=r"takes something else"):
        project(params, "2026-07-28")


def test_a_peer_that_sends_other_keys_each_time_adds_no_plan() -> None:
    restate(declared("2025-11-25", "ClientCapabilities", x=1), "2025-06-18")
    before = len(projection._plans)
    for number in range(extra_keys.MAX_CLASSES + 1):
        given = declared("2025-11-25", "ClientCapabilities", **{f"x{number}": 1})
        restate(given, "2025-06-18")
        restate(given, "2025-11-25")
    # The plan to its own revision is one more.
    assert len(projection._plans) <= before + 1
