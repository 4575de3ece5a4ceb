"""Spec tests of tools, prompts, pagination, multi round-trip requests, caches and subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Change, Client, McpGenError, SessionLost
from mcp_gen.core.transport.protocols import Duplex
from tests.client.scripted import CannedServer
from tests.client.spec.scripted_servers import DONE, far, in_a_call, listed, tool, whole
from tests.support.peers.reach import Reach, Reached
from tests.support.requirement import requirement

FORM: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
ODD = ("", " ", "0", "null", "Grüße", "../../x", '{"a":1}', "=?base64?eA==?=", "x" * 2000)
KEY = "io.modelcontextprotocol/subscriptionId"


# --- tools ---


@requirement("tools:client:errors")
async def test_what_went_wrong_in_a_tool_is_a_result(reach: Reach) -> None:
    failed = whole(reach, content=[{"type": "text", "text": "no luck"}], isError=True)
    async with reach(far(reach, {"tools/call": failed})) as reached:
        result = await reached.session.call_tool("t")
        assert (result.is_error, result.content[0].text) == (True, "no luck")


@requirement("tools:client:results-validated")
@pytest.mark.parametrize(
    "wrong", [{"content": 5}, {"content": [{"type": "text"}]}, {"content": [], "isError": "no"}, {}]
)
async def test_a_result_of_the_wrong_shape_is_an_error(reach: Reach, wrong: Any) -> None:
    async with reach(far(reach, {"tools/call": whole(reach, **wrong)})) as reached:
        with pytest.raises(McpGenError):
            await reached.session.call_tool("t")


def promising(reach: Reach, schema: Any, data: Any = None) -> CannedServer:
    """Return a server whose tool declares an output schema, and returns this data."""
    return far(
        reach,
        {
            "tools/list": listed(reach, tools=[tool(outputSchema=schema)]),
            "tools/call": whole(reach, content=[], structuredContent=data or {"x": 1}),
        },
    )


@requirement("tools:client:structured", "base:client:schemas:2020-12")
async def test_data_that_does_not_fit_the_schema_is_an_error(reach: Reach) -> None:
    schema = {**POINT, "dependentRequired": {"x": ["y"]}}
    async with reach(promising(reach, POINT)) as reached:
        assert await reached.session.call_tool("t", returns=dict) == {"x": 1}
    async with reach(promising(reach, schema)) as reached:
        with pytest.raises(McpGenError, match="not what the tool promised"):
            await reached.session.call_tool("t", returns=dict)


@requirement("base:client:schemas:dialect")
@pytest.mark.parametrize(
    ("dialect", "fits"),
    [("http://json-schema.org/draft-07/schema#", True), (None, False)],
)
async def test_data_is_checked_by_the_dialect_of_its_schema(
    reach: Reach, dialect: str | None, fits: bool
) -> None:
    # Draft 7 does not know this keyword.
    schema = {**POINT, "dependentRequired": {"x": ["y"]}}
    schema |= {"$schema": dialect} if dialect else {}
    async with reach(promising(reach, schema)) as reached:
        call = reached.session.call_tool("t", returns=dict)
        (found,) = await asyncio.gather(call, return_exceptions=True)
        assert (found == {"x": 1}) == fits


@requirement("base:client:schemas:unknown-dialect")
async def test_a_dialect_that_is_not_known_is_said(reach: Reach) -> None:
    schema = {**POINT, "$schema": "https://example.org/odd"}
    async with reach(promising(reach, schema)) as reached:
        with pytest.raises(McpGenError, match=r"https://example\.org/odd"):
            await reached.session.call_tool("t", returns=dict)


@requirement("base:client:schemas:no-network", "base:client:schemas:unresolved")
@pytest.mark.parametrize("to", ["http://127.0.0.1:9/x.json", "#/$defs/nowhere", "file:///x.json"])
async def test_a_reference_that_leads_elsewhere_is_an_error(reach: Reach, to: str) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": to}}}
    async with reach(promising(reach, schema)) as reached:
        with pytest.raises(McpGenError):
            await reached.session.call_tool("t", returns=dict)


# --- prompts and pages ---


@requirement("prompts:client:validated")
@pytest.mark.parametrize(
    "message", [{"role": "nobody", "content": {"type": "text", "text": "a"}}, {"role": "user"}, 5]
)
async def test_a_prompt_of_the_wrong_shape_is_an_error(reach: Reach, message: Any) -> None:
    async with reach(far(reach, {"prompts/get": whole(reach, messages=[message])})) as reached:
        with pytest.raises(McpGenError):
            await reached.session.get_prompt("p")


def in_pages(reach: Reach, method: str, what: str, *pages: list[Any], cursors: Any) -> CannedServer:
    """Return a server with these pages, each but the first by its cursor."""
    by_cursor = dict(zip([None, *cursors], pages, strict=True))
    after = dict(zip([None, *cursors], [*cursors, None], strict=True))

    def page(params: Any) -> dict[str, Any]:
        cursor = (params or {}).get("cursor")
        following = {} if after[cursor] is None else {"nextCursor": after[cursor]}
        return listed(reach, **{what: by_cursor[cursor]}, **following)

    return far(reach, {method: page})


@requirement("prompts:client:pages")
async def test_prompts_are_walked_page_by_page(reach: Reach) -> None:
    pages = [[{"name": name}] for name in "abc"]
    server = in_pages(reach, "prompts/list", "prompts", *pages, cursors=["1", "2"])
    async with reach(server) as reached:
        assert [one.name async for one in reached.session.prompts()] == ["a", "b", "c"]


async def names(reached: Reached) -> list[str]:
    return [one.name async for one in reached.session.tools()]


@requirement("pagination:client:page-size")
async def test_pages_may_have_any_number_of_items(reach: Reach) -> None:
    pages = [[tool("a")], [], [tool("b"), tool("c"), tool("d")], []]
    server = in_pages(reach, "tools/list", "tools", *pages, cursors=["1", "2", "3"])
    async with reach(server) as reached:
        assert await names(reached) == ["a", "b", "c", "d"]


@requirement("pagination:client:both")
@pytest.mark.parametrize("cursors", [[], ["1"]])
async def test_a_list_may_be_in_pages_or_not(reach: Reach, cursors: list[str]) -> None:
    pages = [[tool("a")], [tool("b")]] if cursors else [[tool("a"), tool("b")]]
    server = in_pages(reach, "tools/list", "tools", *pages, cursors=cursors)
    async with reach(server) as reached:
        assert await names(reached) == ["a", "b"]


@requirement("pagination:client:opaque", "pagination:client:empty-cursor")
async def test_a_cursor_goes_back_as_it_came(reach: Reach) -> None:
    server = in_pages(reach, "tools/list", "tools", *([[tool("a")]] * 10), cursors=ODD)
    async with reach(server) as reached:
        assert len(await names(reached)) == 10
        sent = [one.get("params", {}).get("cursor") for one in reached.asked("tools/list")]
        assert sent == [None, *ODD]


# --- rounds ---


def asks(state: str | None = None, **questions: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"resultType": "input_required"}
    found |= {"inputRequests": questions} if questions else {}
    return {"result": found if state is None else {**found, "requestState": state}}


def in_rounds(reach: Reach, *results: dict[str, Any]) -> CannedServer:
    left = [*results, whole(reach, **DONE)]
    replies: dict[str, Any] = {
        "tools/call": lambda _: left.pop(0),
        "tools/list": listed(reach, tools=[tool()]),
    }
    return far(reach, replies)


def filling() -> Client:
    return Client("test", elicitation=lambda session, params: {"name": "Ada"})


@requirement("mrtr:client:answers")
async def test_questions_are_answered_before_the_request_is_made_again(reach: Reach) -> None:
    async with reach(in_rounds(reach, asks(a=FORM, b=FORM)), filling()) as reached:
        assert (await reached.session.call_tool("t", {"x": 1})).content[0].text == "done"
        again = reached.asked("tools/call")[1]["params"]
        answer = {"action": "accept", "content": {"name": "Ada"}}
        assert again["inputResponses"] == {"a": answer, "b": answer}
        assert (again["name"], again["arguments"]) == ("t", {"x": 1})


@requirement("mrtr:client:state")
@pytest.mark.parametrize("state", ODD[1:])
async def test_the_state_goes_back_as_it_came(reach: Reach, state: str) -> None:
    async with reach(in_rounds(reach, asks(state, a=FORM)), filling()) as reached:
        await reached.session.call_tool("t")
        assert reached.asked("tools/call")[1]["params"]["requestState"] == state


@requirement("mrtr:client:no-state")
async def test_where_there_was_no_state_none_is_sent(reach: Reach) -> None:
    async with reach(in_rounds(reach, asks("s", a=FORM), asks(b=FORM)), filling()) as reached:
        await reached.session.call_tool("t")
        sent = ["requestState" in one["params"] for one in reached.asked("tools/call")]
        assert sent == [False, True, False]


@requirement("mrtr:client:id")
async def test_every_round_has_an_id_of_its_own(reach: Reach) -> None:
    async with reach(in_rounds(reach, asks(a=FORM), asks("s")), filling()) as reached:
        await reached.session.call_tool("t")
        assert len({one["id"] for one in reached.asked("tools/call")}) == 3


@requirement("mrtr:client:own-request")
async def test_answers_and_state_get_into_no_other_request(reach: Reach) -> None:
    async with reach(in_rounds(reach, asks("s", a=FORM)), filling()) as reached:
        await reached.session.call_tool("t")
        await reached.session.list_tools()
        others = [reached.asked("tools/call")[0], *reached.asked("tools/list")]
        keys = {key for one in others for key in one["params"]}
        assert {"inputResponses", "requestState"} & keys == set()


# --- cache ---


def kept(reach: Reach, ttl_ms: int | None, scope: str = "public") -> CannedServer:
    hints = {"cacheScope": scope} | ({} if ttl_ms is None else {"ttlMs": ttl_ms})

    def page(params: Any) -> dict[str, Any]:
        cursor = params.get("cursor")
        more = {} if cursor else {"nextCursor": "2"}
        return whole(reach, tools=[tool(cursor or "1")], **hints, **more)

    def read(params: Any) -> dict[str, Any]:
        contents = [{"uri": params["uri"], "text": params["uri"]}]
        return whole(reach, contents=contents, **hints)

    return far(reach, {"tools/list": page, "resources/read": read})


@requirement("caching:client:positive")
async def test_a_result_is_good_for_its_time(reach: Reach) -> None:
    async with reach(kept(reach, 60_000)) as reached:
        for _ in range(3):
            await reached.session.list_tools()
        assert len(reached.asked("tools/list")) == 1


@requirement("caching:client:zero", "caching:client:absent", "caching:client:negative")
@pytest.mark.parametrize("ttl_ms", [0, None, -1, -60_000])
async def test_a_result_without_a_time_is_not_kept(reach: Reach, ttl_ms: int | None) -> None:
    async with reach(kept(reach, ttl_ms)) as reached:
        for _ in range(2):
            await reached.session.list_tools()
        assert len(reached.asked("tools/list")) == 2


@requirement("caching:client:expired", "caching:client:no-polling")
async def test_a_result_is_asked_for_again_when_its_time_is_over_and_it_is_wanted(
    reach: Reach,
) -> None:
    loop = asyncio.get_running_loop()
    async with reach(kept(reach, 5)) as reached:
        await reached.session.list_tools()
        over = loop.time() + 0.02
        while loop.time() < over:
            await reached.session.read_resource("a://1")
        assert len(reached.asked("tools/list")) == 1
        await reached.session.list_tools()
        assert len(reached.asked("tools/list")) == 2


@requirement("caching:client:key")
async def test_what_was_kept_answers_the_same_request_alone(reach: Reach) -> None:
    async with reach(kept(reach, 60_000)) as reached:
        for uri in ("a://1", "a://2", "a://1"):
            found = await reached.session.read_resource(uri)
            # The server here gives texts alone.
            assert found.contents[0].text == uri  # type: ignore[union-attr]
        assert len(reached.asked("resources/read")) == 2


@requirement("caching:client:rounds")
async def test_what_came_of_a_round_is_not_kept(reach: Reach) -> None:
    contents = [{"uri": "a://1", "text": "a"}]
    done = whole(reach, contents=contents, ttlMs=60_000, cacheScope="public")
    left = [asks("s", a=FORM), done] * 2
    server = far(reach, {"resources/read": lambda _: left.pop(0)})
    async with reach(server, filling()) as reached:
        for _ in range(2):
            await reached.session.read_resource("a://1")
        assert len(reached.asked("resources/read")) == 4


@requirement("caching:client:pages")
async def test_a_page_is_asked_for_again_by_its_cursor(reach: Reach) -> None:
    async with reach(kept(reach, 0)) as reached:
        await reached.session.list_tools("2")
        await reached.session.list_tools("2")
        sent = [one["params"]["cursor"] for one in reached.asked("tools/list")]
        assert sent == ["2", "2"]


@requirement("caching:client:cursor")
async def test_a_cursor_that_is_refused_voids_all_pages(reach: Reach) -> None:
    server = kept(reach, 60_000)
    page = server.replies["tools/list"]
    refused = {"error": {"code": -32602, "message": "no such cursor"}}
    server.on("tools/list", lambda params: refused if "cursor" in params else page(params))
    async with reach(server) as reached:
        await reached.session.list_tools()
        with pytest.raises(McpGenError):
            await reached.session.list_tools("2")
        await reached.session.list_tools()
        sent = [one["params"].get("cursor") for one in reached.asked("tools/list")]
        assert sent == [None, "2", None]


# --- subscriptions ---


def listening(reach: Reach, *granted: str) -> CannedServer:
    """Return a server that acknowledges this part of the requested subscription filter."""
    server = far(reach)
    receive = server.receive

    def acknowledge(message: bytes) -> None:
        receive(message)
        frame = server.came[-1] if server.came else {}
        if frame.get("method") == "subscriptions/listen":
            told = {"notifications": dict.fromkeys(granted, True), "_meta": {KEY: frame["id"]}}
            server.send(method="notifications/subscriptions/acknowledged", params=told)

    # A scripted server sends nothing by itself: here it acknowledges subscriptions.
    server.receive = acknowledge  # type: ignore[method-assign]
    return server


@requirement("subscriptions:client:acknowledged")
async def test_the_client_sees_what_the_server_will_tell_of(reach: Reach) -> None:
    async with (
        reach(listening(reach, "toolsListChanged")) as reached,
        reached.session.watch(tools=True, prompts=True) as changes,
    ):
        told = changes.honoured
        assert (told.tools_list_changed, told.prompts_list_changed) == (True, None)


@requirement("subscriptions:client:correlated")
async def test_what_belongs_to_another_subscription_is_not_heard(reach: Reach) -> None:
    server = listening(reach, "toolsListChanged", "promptsListChanged")
    async with (
        reach(server) as reached,
        reached.session.watch(tools=True, prompts=True) as changes,
    ):
        (asked,) = reached.asked("subscriptions/listen")
        for meta in ({KEY: "another"}, {KEY: asked["id"] + 1}, {}):
            server.send(method="notifications/prompts/list_changed", params={"_meta": meta})
        told = {"_meta": {KEY: asked["id"]}}
        server.send(method="notifications/tools/list_changed", params=told)
        assert await anext(changes) == Change("tools")


class Lives:
    """Server that starts again with each connection."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self.now = far(reach)

    async def serve(self, transport: Duplex) -> None:
        self.now = listening(self._reach, "toolsListChanged")
        await self.now.serve(transport)


@requirement("subscriptions:client:again", "stdio:client:restarts")
async def test_a_new_connection_is_asked_anew_to_tell_of_changes(reach: Reach) -> None:
    server = Lives(reach)
    async with reach(server) as reached:
        async with reached.session.watch(tools=True) as changes:
            await server.now.hang_up()
            with pytest.raises(SessionLost):
                await anext(changes)
        async with reached.session.watch(tools=True):
            assert len(reached.asked("subscriptions/listen")) == 2
        assert reached.connections == 2


# --- absent capabilities ---


@requirement("transports:client:no-answers")
@pytest.mark.parametrize("method", ["ping", "roots/list", "sampling/createMessage"])
async def test_a_client_sends_no_answer(reach: Reach, method: str) -> None:
    assert mcp_wire.profile(reach.revision).asks_client == "input_required"
    server = far(reach, {"tools/list": listed(reach, tools=[])})
    async with reach(server, Client("test", roots=["file:///a"])) as reached:
        async with in_a_call(reached, server):
            server.send(id="q", method=method)
        await reached.session.list_tools()  # earlier messages have arrived
        assert reached.answers() == []
