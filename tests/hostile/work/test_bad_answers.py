"""Wrong answers of a client fail its own request, and fill no log with tracebacks."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Context, Server
from mcp_gen.core.errors import ToolError
from tests.support.frames import HANDSHAKE, PER_REQUEST, encoded
from tests.support.peers.raw import RawClient, talking

CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}


@dataclass
class Form:
    word: str


def asking_server() -> Server:
    server = Server("asks")

    @server.tool
    async def elicit(ctx: Context) -> str:
        return (await ctx.elicit("word?", Form)).action

    @server.tool
    async def sample(ctx: Context) -> str:
        return (await ctx.sample("hello", max_tokens=10)).model

    @server.tool
    async def roots(ctx: Context) -> str:
        return str(await ctx.list_roots())

    @server.tool
    async def fail() -> str:
        raise ValueError("a fault of the tool")

    @server.tool
    async def refuse() -> str:
        raise ToolError("on purpose")

    return server


async def called(client: RawClient, tool: str, answer: dict[str, Any]) -> Any:
    """Call a tool, give this answer to its question, and return the response to the call."""
    client.send(client.speaker.call(7, tool))
    asked = await client.next()
    client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], **answer}))
    return await client.answer(7)


def opening(client: RawClient) -> tuple[bytes, bytes]:
    first = client.speaker.initialize(0).replace(
        b'"capabilities":{}', b'"capabilities":' + encoded(CAPABILITIES)
    )
    return first, client.speaker.initialized


BAD: dict[str, dict[str, Any]] = {
    "a result of another type": {"result": 1},
    "an empty result": {"result": {}},
    "a null result": {"result": None},
    "neither result nor error": {},
    "an error that is a text": {"error": "no"},
    "an error without a code": {"error": {}},
    "an error whose code is a text": {"error": {"code": "x", "message": "no"}},
}


@pytest.mark.parametrize("tool", ["elicit", "sample", "roots"])
@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
async def test_an_answer_of_the_wrong_shape_is_no_internal_error_and_logs_no_traceback(
    tool: str, answer: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with talking(asking_server(), HANDSHAKE, opened=False) as client:
            client.send(*opening(client))
            await client.answer(0)
            response = await called(client, tool, answer)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert response.get("error", {}).get("code") != -32603


async def test_a_question_that_the_client_does_not_answer_logs_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("asks")

    @server.tool
    async def elicit(ctx: Context) -> str:
        return (await ctx.elicit("word?", Form, timeout_s=0.01)).action

    async with talking(server, HANDSHAKE, opened=False) as client:
        client.send(*opening(client))
        await client.answer(0)
        response = await client.ask(client.speaker.call(7, "elicit"))
    assert response["result"]["isError"] is True
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_a_fault_of_the_tool_itself_still_has_its_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with talking(asking_server(), HANDSHAKE) as client:
        await client.ask(client.speaker.call(7, "fail"))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "tool fail failed"
    ]


async def test_a_clients_answer_is_not_passed_on_as_an_error_that_names_pages_to_open() -> None:
    server = Server("asks")

    @server.resource("note://a")
    async def note(ctx: Context) -> str:
        return (await ctx.elicit("word?", Form)).action

    async with talking(server, HANDSHAKE, opened=False) as client:
        client.send(*opening(client))
        await client.answer(0)
        client.send(client.speaker.request(7, "resources/read", {"uri": "note://a"}))
        asked = await client.next()
        error = {"code": -32042, "message": "no", "data": {}}
        client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
        response = await client.answer(7)
    assert response["error"] == {
        "code": -32602,
        "message": "the client answered with -32042, a server's error",
    }


@pytest.mark.parametrize("responses", [{}, {"all": {"action": "accept", "content": {"word": 1}}}])
async def test_a_client_that_never_answers_the_question_of_a_round_is_told_so(
    responses: dict[str, Any],
) -> None:
    server = Server("asks", max_rounds=3)

    @server.tool
    async def elicit(ctx: Context) -> str:
        return (await ctx.elicit("word?", Form)).action

    async with talking(server, PER_REQUEST) as client:
        speaker = client.speaker
        meta = {str(speaker.profile.client_capabilities_key): CAPABILITIES}
        params: dict[str, Any] = {"name": "elicit", "arguments": {}, "_meta": meta}
        for number in range(3):
            response = await client.ask(speaker.request(number, "tools/call", params))
            if "error" in response:
                break
            keys = response["result"]["inputRequests"]
            params["requestState"] = response["result"]["requestState"]
            params["inputResponses"] = dict.fromkeys(keys, responses["all"]) if responses else {}
    assert response["error"] == {
        "code": -32602,
        "message": "no answer that fits the questions after 3 rounds - at `$.inputResponses`",
    }


async def test_a_client_that_answers_a_question_too_late_is_told_so() -> None:
    server = Server("asks", max_rounds=3)

    @server.tool
    async def twice(ctx: Context) -> str:
        await ctx.elicit("one", Form, key="one")
        return (await ctx.elicit("two", Form, key="two")).action

    async with talking(server, PER_REQUEST) as client:
        speaker = client.speaker
        meta = {str(speaker.profile.client_capabilities_key): CAPABILITIES}
        params: dict[str, Any] = {"name": "twice", "arguments": {}, "_meta": meta}
        for number, word in enumerate([None, 1, "a"]):
            if number:
                answer = {"action": "accept", "content": {"word": word}}
                params["inputResponses"] = {"one": answer}
            response = await client.ask(speaker.request(number, "tools/call", params))
            params["requestState"] = response.get("result", {}).get("requestState")
    assert response["error"] == {
        "code": -32602,
        "message": "no answer that fits the questions after 3 rounds - at `$.inputResponses`",
    }


@pytest.mark.parametrize("arguments", [b"1" + b"0" * 5000, b'{"odd":1e999}'])
async def test_arguments_that_nothing_can_hold_are_invalid_params_where_a_handler_asks(
    arguments: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(asking_server(), PER_REQUEST) as client:
        params = {"name": "elicit", "arguments": "HERE", "requestState": "x"}
        message = client.speaker.request(7, "tools/call", params)
        client.send(message.replace(b'"HERE"', arguments))
        response = await client.next()
    assert response["error"]["code"] in (-32602, -32700)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
