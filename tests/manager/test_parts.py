"""Parts of the manager alone: names, model formats, back-off and the resource cache."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen import Client, Reconnect, Server, UsageError
from mcp_gen.manager.model_formats import export_tools
from mcp_gen.manager.names import names_for, server_part, split
from mcp_gen.manager.resource_cache import ResourceCache
from mcp_gen.types import Tool
from tests.manager.managed_servers import Wire, managing, named_server
from tests.support.frames import HANDSHAKE, PER_REQUEST

# --- names ---


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("files", "files"),
        ("my files!", "my_files"),
        ("a__b", "a_b"),
        ("_a_", "a"),
        ("a.b/c", "a_b_c"),
        ("A-1", "A-1"),
        ("日本", "server"),
        ("", "server"),
    ],
)
def test_the_part_of_a_server_has_only_what_models_take(name: str, part: str) -> None:
    assert server_part(name) == part


def test_a_part_that_is_taken_gets_a_number() -> None:
    assert server_part("a b", {"a_b", "a_b_2"}) == "a_b_3"


@pytest.mark.parametrize("server", ["files", "a__b", "_a_", "日本"])
@pytest.mark.parametrize("tool", ["read", "_read", "__read", "read__all", "a_"])
def test_a_name_leads_back_to_its_server_and_tool(server: str, tool: str) -> None:
    part = server_part(server)
    (name,) = names_for(part, [tool])
    assert split(name) == (part, tool)


def test_of_two_tools_that_become_the_same_the_one_that_is_unchanged_keeps_its_name() -> None:
    assert names_for("s", ["a.b", "a_b", "a b"]) == {
        "mcp__s__a_b_2": "a.b",
        "mcp__s__a_b": "a_b",
        "mcp__s__a_b_3": "a b",
    }


# --- exports ---

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "when": {"oneOf": [{"type": "string"}, {"type": "integer"}], "default": "now"},
        "who": {"anyOf": [{"$ref": "#/$defs/name"}, {"type": "null"}]},
    },
    "$defs": {"name": {"type": "string"}},
}


def tool(schema: dict[str, Any] | None = None, **fields: Any) -> Tool:
    return Tool(name="t", input_schema=SCHEMA if schema is None else schema, **fields)


def test_tools_for_chat_completions_are_functions_with_their_schemas_as_they_are() -> None:
    assert export_tools("openai", [("mcp__s__t", tool(description="Does."))]) == [
        {
            "type": "function",
            "function": {"name": "mcp__s__t", "description": "Does.", "parameters": SCHEMA},
        }
    ]


def test_tools_for_responses_are_not_strict() -> None:
    assert export_tools("openai-responses", [("mcp__s__t", tool())]) == [
        {
            "type": "function",
            "name": "mcp__s__t",
            "description": "",
            "parameters": SCHEMA,
            "strict": False,
        }
    ]


def test_tools_for_messages_have_an_input_schema() -> None:
    assert export_tools("anthropic", [("mcp__s__t", tool(title="T"))]) == [
        {"name": "mcp__s__t", "description": "T", "input_schema": SCHEMA}
    ]


def test_a_schema_without_properties_gets_some() -> None:
    (found,) = export_tools("anthropic", [("n", tool({"type": "object"}))])
    assert found["input_schema"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("api", "longest"),
    [("openai", 64), ("openai-responses", 64), ("anthropic", 128), ("gemini", 64)],
)
def test_a_name_that_an_api_does_not_take_is_left_out_and_told(api: Any, longest: int) -> None:
    found = export_tools(api, [("b" * (longest + 1), tool()), ("a" * longest, tool())])
    assert len(found) == 1
    (said,) = found.problems
    assert f"its name has {longest + 1} characters, {api} takes {longest}" in said


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
def test_too_many_tools_are_told(api: Any) -> None:
    tools = [(f"t{n}", tool()) for n in range(129)]
    assert export_tools(api, tools[1:]).problems == []
    found = export_tools(api, tools)
    assert (len(found), found.problems) == (
        129,
        [f"129 tools, {api} takes 128: pass on a part of them"],
    )


def test_a_choice_at_the_top_of_a_schema_is_kept_and_told() -> None:
    found = export_tools("anthropic", [("n", tool({"type": "object", "oneOf": []}))])
    assert "oneOf" in found[0]["input_schema"]
    assert found.problems == ["n: `oneOf` at the top of its schema, which anthropic refuses"]


def test_an_api_that_is_not_known_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="there is 'openai', 'openai-responses', 'anthropic'"):
        export_tools("other", [])  # type: ignore[arg-type]


async def test_a_manager_exports_the_tools_of_all_servers_as_plain_json() -> None:
    servers = {name: named_server(name) for name in ("left", "right")}
    async with managing(servers) as (manager, _):
        found = await manager.tools_for("openai")
    assert json.loads(json.dumps(found)) == found
    assert [one["function"]["name"] for one in found] == ["mcp__left__who", "mcp__right__who"]


# --- delays ---


def test_each_attempt_waits_longer_up_to_a_limit() -> None:
    policy = Reconnect(first_s=1, factor=2, max_s=5, jitter=0)
    assert [policy.delay_s(attempt) for attempt in (1, 2, 3, 4, 10_000)] == [1, 2, 4, 5, 5]


def test_a_part_of_the_delay_is_left_to_chance() -> None:
    policy = Reconnect(first_s=1, jitter=0.5)
    delays = {policy.delay_s(1) for _ in range(50)}
    assert len(delays) > 10
    assert all(0.5 <= one <= 1 for one in delays)


def test_a_server_that_goes_away_again_and_again_is_taken_up_later_but_not_much() -> None:
    policy = Reconnect(first_s=1, factor=2, max_s=60, jitter=0)
    assert [policy.delay_s(1, unstable) for unstable in (0, 1, 3, 100)] == [1, 2, 8, 8]


# --- resource cache ---


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def a_cache(**limits: Any) -> tuple[ResourceCache, Clock]:
    clock = Clock()
    options = {"ttl_s": 10.0, "max_entries": 3, "max_bytes": 100, **limits}
    return ResourceCache(**options, clock=clock), clock


def text(value: str) -> Any:
    return SimpleNamespace(contents=[SimpleNamespace(text=value)])


def put(cache: ResourceCache, server: str, uri: str, value: str = "a") -> None:
    cache.put(server, uri, None, text(value), cache.changes)


def kept(cache: ResourceCache, *places: tuple[str, str]) -> list[bool]:
    return [cache.get(server, uri, None) is not None for server, uri in places]


def test_what_was_read_is_good_for_a_while() -> None:
    cache, clock = a_cache()
    put(cache, "s", "a://1")
    clock.now = 9.9
    assert kept(cache, ("s", "a://1")) == [True]
    clock.now = 10
    assert kept(cache, ("s", "a://1")) == [False]
    assert cache.size_bytes == 0


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    cache, _ = a_cache()
    for uri in "abc":
        put(cache, "s", uri)
    assert kept(cache, ("s", "a")) == [True]
    put(cache, "s", "d")
    assert kept(cache, ("s", "a"), ("s", "b"), ("s", "c"), ("s", "d")) == [True, False, True, True]


def test_contents_are_kept_up_to_so_many_bytes() -> None:
    cache, _ = a_cache()
    put(cache, "s", "a", "x" * 60)
    put(cache, "s", "b", "x" * 60)
    put(cache, "s", "c", "x" * 101)
    assert kept(cache, ("s", "a"), ("s", "b"), ("s", "c")) == [False, True, False]
    assert cache.size_bytes == 60


def test_one_server_is_forgotten_and_the_others_are_not() -> None:
    cache, _ = a_cache()
    put(cache, "left", "a")
    put(cache, "right", "a")
    cache.forget("left")
    assert kept(cache, ("left", "a"), ("right", "a")) == [False, True]


def test_a_resource_is_forgotten_with_its_parts() -> None:
    cache, _ = a_cache()
    put(cache, "s", "a://x")
    put(cache, "s", "a://x/y")
    put(cache, "s", "a://z")
    cache.forget("s", "a://x")
    assert kept(cache, ("s", "a://x"), ("s", "a://x/y"), ("s", "a://z")) == [False, False, True]


def test_what_was_forgotten_is_counted() -> None:
    cache, _ = a_cache()
    assert cache.changes == 0
    cache.forget("s", "a")
    cache.forget()
    assert cache.changes == 2


def test_what_was_asked_for_before_something_was_forgotten_is_not_kept() -> None:
    cache, _ = a_cache()
    changes = cache.changes
    cache.forget("s", "a")
    cache.put("s", "a", None, text("old"), changes)
    assert kept(cache, ("s", "a")) == [False]


def test_what_was_read_for_one_is_not_shown_to_another() -> None:
    cache, _ = a_cache()
    cache.put("s", "a", "ada", text("private"), cache.changes)
    assert cache.get("s", "a", "grace") is None


class Reads:
    """Server that counts reads."""

    def __init__(self, revision: str = HANDSHAKE) -> None:
        self.reads = 0
        self.server = Server("reads", revisions=(revision,))
        self.server.resource("reads://it")(self.it)

    async def it(self) -> str:
        self.reads += 1
        return str(self.reads)


async def test_a_resource_is_read_once_while_it_is_good() -> None:
    reads = Reads()
    async with managing({"r": reads.server}) as (manager, _):
        said = [(await manager.read_resource("reads://it")).contents[0].text for _ in range(3)]
        manager.forget_resources("r")
        said.append((await manager.read_resource("reads://it")).contents[0].text)
    assert said == ["1", "1", "1", "2"]


async def test_a_resource_that_was_updated_is_read_again() -> None:
    reads = Reads()
    async with managing({"r": reads.server}) as (manager, told):
        await manager.read_resource("reads://it")
        session = await manager.session("r")
        async with session.watch("reads://it"):
            reads.server.notify.resource_updated("reads://it")
            event = await told.next("resource_updated")
            again = await manager.read_resource("reads://it")
    assert (event.server, event.uri, again.contents[0].text) == ("r", "reads://it", "2")


async def test_a_server_that_says_how_long_a_resource_is_good_is_believed() -> None:
    reads = Reads(PER_REQUEST)  # stale at once by default
    async with managing({"r": reads.server}) as (manager, _):
        for _ in range(2):
            await manager.read_resource("reads://it")
    assert reads.reads == 2


async def test_without_a_time_nothing_is_kept() -> None:
    reads = Reads()
    async with managing({"r": reads.server}, resource_ttl_s=0) as (manager, _):
        for _ in range(2):
            await manager.read_resource("reads://it")
    assert reads.reads == 2


async def test_what_a_server_was_is_forgotten_when_it_comes_back() -> None:
    reads = Reads()
    wire = Wire(reads.server)
    async with Client("test") as client, managing({"r": wire}, client=client) as (manager, told):
        await manager.read_resource("reads://it")
        await wire.cut()
        await told.next("reconnected")
        assert (await manager.read_resource("reads://it")).contents[0].text == "2"
