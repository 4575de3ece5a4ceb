"""Spec tests of messages, errors and metadata of clients."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from mcp_gen import McpError, McpGenError
from tests.client.spec.scripted_servers import DONE, far, in_a_call, listed, tool, whole
from tests.server.spec.servers import TEXT, rich, waiting
from tests.support.peers.reach import Reach, Reached
from tests.support.requirement import requirement

KEY = re.compile(
    r"([a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.|(?=/)))+/[a-zA-Z0-9]([\w.-]*[a-zA-Z0-9])?"
)
"""Pattern of a `_meta` key with a prefix."""


async def used(reached: Reached) -> None:
    """Make one request of each kind."""
    session = reached.session
    await asyncio.gather(*(session.call_tool("echo", {"text": str(one)}) for one in range(3)))
    await session.list_tools()
    await session.list_prompts()
    await session.get_prompt("greet", {"name": "Ada"})
    await session.list_resources()
    await session.read_resource("test://text")
    async for _ in session.resource_templates():
        pass


def requests(reached: Reached) -> list[Any]:
    return [one for one in reached.sent if "method" in one and "id" in one]


# --- messages ---


@requirement("base:client:json-rpc", "base:client:supported")
async def test_a_client_speaks_at_every_revision(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await used(reached)
        assert {one["jsonrpc"] for one in reached.sent} == {"2.0"}


@requirement("base:client:utf-8")
async def test_texts_of_every_script_arrive(reach: Reach) -> None:
    async with reach(rich()) as reached:
        answer = await reached.session.call_tool("echo", {"text": TEXT})
        assert answer.content[0].text == TEXT
        assert all(data.decode("utf-8") for data in reached.sent_bytes())


@requirement("base:client:requests:id-kind")
async def test_ids_of_requests_are_strings_or_integers(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await used(reached)
        assert {type(one["id"]) for one in requests(reached)} <= {str, int}


@requirement("base:client:requests:id-once", "base:client:requests:id-open")
async def test_no_id_is_used_twice(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await used(reached)
        ids = [(type(one["id"]), one["id"]) for one in requests(reached)]
        assert len(set(ids)) == len(ids) > 5


@requirement("base:client:notifications:no-id")
async def test_notifications_of_the_client_have_no_id(reach: Reach) -> None:
    async with reach(waiting()) as reached:
        call = asyncio.create_task(reached.session.call_tool("hold"))
        await reached.session.call_tool("until_holding")
        call.cancel()
        await reached.session.call_tool("until_stopped")
        told = [one for one in reached.sent if one["method"].startswith("notifications/")]
        assert told or reach.profile.stream_drop_cancels
        assert [one for one in told if "id" in one] == []


@requirement("base:client:notifications:unanswered")
async def test_notifications_are_not_answered(reach: Reach) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        server.send(method="notifications/unheard-of", params={"a": 1})
        server.send(method="notifications/message", params={"level": "info", "data": "a"})
    assert reached.answers() == []


@requirement("base:client:answers:id")
@pytest.mark.parametrize("id", ["seven", 7, "7", 0, ""])
async def test_an_answer_has_the_id_of_the_question(reach: Reach, id: Any) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        server.send(id=id, method="ping")
        answer = await server.next(None)
        assert (type(answer["id"]), answer["id"]) == (type(id), id)


@requirement("base:client:answers:shape")
@pytest.mark.parametrize("method", ["ping", "roots/list", "nothing/of-the-kind"])
async def test_an_answer_has_a_result_or_an_error(reach: Reach, method: str) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        server.send(id="q", method=method)
        answer = await server.next(None)
        assert len({"result", "error"} & answer.keys()) == 1
        if "error" in answer:
            assert {type(answer["error"]["code"]), type(answer["error"]["message"])} == {int, str}


# --- results ---


@requirement("base:client:result-type:unknown")
async def test_a_result_of_an_unknown_type_is_an_error(reach: Reach) -> None:
    server = far(reach, {"tools/call": {"result": {"resultType": "odd", **DONE}}})
    async with reach(server) as reached:
        with pytest.raises(McpGenError, match="odd"):
            await reached.session.call_tool("t")


@requirement("base:client:result-type:absent")
async def test_a_result_without_a_type_is_complete(reach: Reach) -> None:
    server = far(
        reach,
        {"tools/call": {"result": DONE}, "tools/list": {"result": {"tools": [tool("a")]}}},
    )
    async with reach(server) as reached:
        assert (await reached.session.call_tool("t")).content[0].text == "done"
        assert [one.name for one in (await reached.session.list_tools()).tools] == ["a"]


@requirement("base:client:meta:unknown-reserved")
@pytest.mark.parametrize("value", [1, "a", None, [{}], {"a": 1}])
async def test_reserved_keys_may_have_any_value(reach: Reach, value: Any) -> None:
    meta = {"modelcontextprotocol.io/unheard-of": value, "dev.mcp/other": value}
    server = far(reach, {"tools/call": whole(reach, _meta=meta, **DONE)})
    async with reach(server) as reached:
        assert (await reached.session.call_tool("t")).content[0].text == "done"


# --- errors ---


@requirement("base:client:errors:no-meaning")
@pytest.mark.parametrize("code", [-32000, -32001, -32004, -32019])
async def test_a_code_of_old_is_an_error_like_any_other(reach: Reach, code: int) -> None:
    error = {"error": {"code": code, "message": "no", "data": {"supported": [], "uri": "a://b"}}}
    server = far(reach, {"tools/call": error, "resources/read": error})
    async with reach(server) as reached:
        for asking in (reached.session.call_tool("t"), reached.session.read_resource("a://b")):
            with pytest.raises(McpError) as caught:
                await asking
            assert (type(caught.value), caught.value.code) == (McpError, code)
        assert not reached.session.is_lost


@requirement("base:client:errors:not-found-early")
async def test_the_early_code_for_no_such_resource_is_taken_as_it(reach: Reach) -> None:
    error = {"error": {"code": -32002, "message": "no such thing", "data": {"uri": "a://b"}}}
    async with reach(far(reach, {"resources/read": error})) as reached:
        with pytest.raises(McpError, match="no such thing") as caught:
            await reached.session.read_resource("a://b")
        assert (caught.value.code, caught.value.data) == (-32002, {"uri": "a://b"})


# --- client info ---


@requirement("base:client:metadata:required")
async def test_every_request_has_its_metadata(reach: Reach) -> None:
    key, able = reach.profile.protocol_version_key, "io.modelcontextprotocol/clientCapabilities"
    async with reach(rich()) as reached:
        await used(reached)
        for one in requests(reached):
            meta = one["params"]["_meta"]
            assert (meta[key], type(meta[able])) == (reach.revision, dict)


@requirement("base:client:metadata:client-info")
async def test_every_request_says_who_makes_it(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await used(reached)
        key = "io.modelcontextprotocol/clientInfo"
        names = {one["params"]["_meta"][key]["name"] for one in requests(reached)}
        assert names == {"test"}


@requirement("base:client:meta:key-names")
async def test_keys_of_the_client_in_meta_are_well_formed(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await reached.session.call_tool("echo", {"text": "a"}, progress=lambda *_: None)
        keys = {key for one in requests(reached) for key in one.get("params", {}).get("_meta", {})}
        assert [key for key in keys - {"progressToken"} if not KEY.fullmatch(key)] == []


@requirement("base:client:identity:no-behaviour")
async def test_servers_of_any_name_are_treated_alike(reach: Reach) -> None:
    asked: list[Any] = []
    for name in ("one", "evil"):
        info = {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "1"}}
        server = far(
            reach,
            {
                "tools/call": whole(reach, _meta=info, **DONE),
                "tools/list": listed(reach, tools=[tool()], _meta=info),
            },
        )
        async with reach(server) as reached:
            await reached.session.list_tools()
            await reached.session.call_tool("t")
            asked.append(reached.sent)
    assert asked[0] == asked[1]


@requirement("base:client:process-lifetime")
async def test_one_process_serves_all_tasks(reach: Reach) -> None:
    async with reach(rich()) as reached:
        for text in ("a", "b"):
            call = reached.session.call_tool("echo", {"text": text})
            answer = await asyncio.get_running_loop().create_task(call)
            assert answer.content[0].text == text
        assert reached.connections == 1
