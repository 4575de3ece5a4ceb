"""Spec tests of JSON Schemas: dialects, references and limits."""

from __future__ import annotations

from functools import partial
from typing import Any

import jsonschema_rs
import pytest

from mcp_gen import Context, Server, UsageError
from mcp_gen.types import Tool
from tests.server.spec.servers import rich
from tests.support.peers.connect import Connect
from tests.support.requirement import requirement

OLDER = "http://json-schema.org/draft-07/schema#"
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def with_schema(schema: dict[str, Any]) -> Server:
    """Return a server with a tool of this input schema."""
    server = Server("schemas")

    async def take(ctx: Context, arguments: dict[str, Any]) -> str:
        return "taken"

    server.add_tool(Tool(name="take", input_schema={"type": "object", **schema}), take)
    return server


async def taken(connect: Connect, schema: dict[str, Any], arguments: Any) -> bool:
    """Return True if a call with these arguments reaches the tool."""
    async with connect(partial(with_schema, schema)) as client:
        frame = await client.begin("tools/call", {"name": "take", "arguments": arguments}).answer
    return "result" in frame and not frame["result"].get("isError")


PAIR = {"properties": {"pair": {"prefixItems": [{"type": "integer"}, {"type": "string"}]}}}


@requirement("base:schemas:2020-12")
async def test_a_schema_without_a_dialect_is_read_as_2020_12(connect: Connect) -> None:
    assert await taken(connect, PAIR, {"pair": [1, "a"]})
    assert not await taken(connect, PAIR, {"pair": ["a", 1]})
    assert not await taken(connect, {"dependentRequired": {"a": ["b"]}}, {"a": 1})


@requirement("base:schemas:dialect")
async def test_a_schema_is_read_in_the_dialect_that_it_names(connect: Connect) -> None:
    older = {"$schema": OLDER, **PAIR}
    assert await taken(connect, older, {"pair": ["a", 1]})
    items = {"properties": {"pair": {"items": [{"type": "integer"}]}}}
    assert not await taken(connect, {"$schema": OLDER, **items}, {"pair": ["a"]})
    assert await taken(connect, {"$schema": NEWEST, **PAIR}, {"pair": [1, "a"]})


@requirement("base:schemas:recommended")
async def test_schemas_made_from_hints_are_good_2020_12(connect: Connect) -> None:
    async with connect(rich) as client:
        (tools,) = await client.pages("tools/list", "tools")
    for tool in tools:
        for schema in (tool["inputSchema"], tool.get("outputSchema", {})):
            assert schema.get("$schema", NEWEST) == NEWEST
            jsonschema_rs.meta.validate({"$schema": NEWEST, **schema})


@requirement("base:schemas:unknown-dialect")
@pytest.mark.parametrize("dialect", ["https://example.org/mine", "draft-99", "", 7])
def test_an_unknown_dialect_is_refused_with_its_name(dialect: Any) -> None:
    with pytest.raises(UsageError, match=r"\$schema|dialect"):
        with_schema({"$schema": dialect})


@requirement("base:schemas:no-network", "base:schemas:unresolved")
@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/schema.json",
        "https://example.org/schema.json#/$defs/a",
        "//example.org/a",
        "other.json",
        "file:///etc/passwd",
    ],
)
def test_a_reference_to_elsewhere_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="take"):
        with_schema({"properties": {"a": {"$ref": reference}}})


@requirement("base:schemas:unresolved")
async def test_a_reference_that_leads_nowhere_allows_nothing(connect: Connect) -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/nothing"}}}
    try:
        with_schema(schema)
    except UsageError:
        return
    assert not await taken(connect, schema, {"a": 1})


@requirement("base:schemas:bounded")
@pytest.mark.parametrize("way", ["deep", "many"])
def test_a_schema_that_is_too_much_work_is_refused(way: str) -> None:
    schema: dict[str, Any] = {}
    if way == "deep":
        for _ in range(500):
            schema = {"not": schema}
    else:
        schema = {"anyOf": [{"const": number} for number in range(20_000)]}
    with pytest.raises(UsageError, match="take"):
        with_schema({"properties": {"a": schema}})


@requirement("base:schemas:bounded")
async def test_arguments_without_end_do_no_harm(connect: Connect) -> None:
    node = {"$ref": "#/$defs/node"}
    tree = {"$defs": {"node": {"type": "array", "items": node}}, "properties": {"a": node}}
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    async with connect(partial(with_schema, tree)) as client:
        await client.begin("tools/call", {"name": "take", "arguments": {"a": deep}}).answer
        await client.settled()
