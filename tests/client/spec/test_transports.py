"""Spec tests of the command and HTTP transports of clients."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, TransportError
from tests.client.spec.scripted_servers import DONE, far, listed, tool, whole
from tests.server.spec.servers import TEXT, rich
from tests.support.http.loopback import Got, Line, scripted_web
from tests.support.peers.reach import Reach
from tests.support.requirement import requirement

MARKED = {"type": "string", "x-mcp-header": "Region"}


# --- commands ---


@requirement("stdio:client:supported", "stdio:client:stderr")
async def test_a_command_is_started_and_its_stderr_is_no_error(reach: Reach) -> None:
    # The command writes to stderr before anything else.
    async with reach(rich()) as reached:
        answer = await reached.session.call_tool("echo", {"text": "a"})
        assert answer.content[0].text == "a"


@requirement("stdio:client:lines", "stdio:client:stdin-clean")
async def test_a_message_is_one_line_whatever_it_carries(reach: Reach) -> None:
    server = far(reach, {"tools/call": whole(reach, **DONE)})
    async with reach(server) as reached:
        await reached.session.call_tool("t", {"text": TEXT + "\r\n\x00\x85"})
        for data in reached.sent_bytes():
            assert not {b"\n", b"\r"} & {data[at : at + 1] for at in range(len(data))}
        (call,) = reached.asked("tools/call")
        assert call["params"]["arguments"]["text"] == TEXT + "\r\n\x00\x85"


# --- HTTP: posted messages ---


@requirement("http:client:sse:posts")
async def test_messages_are_posted_to_the_address_of_the_stream(reach: Reach) -> None:
    async with reach(far(reach, {"tools/call": whole(reach, **DONE)})) as reached:
        await reached.session.call_tool("t")
        posts = [one.path for one in reached.web.by("POST") if one.path != "/sse"]
        assert set(posts) == {"/post"}


@requirement("http:client:posts", "http:client:body")
async def test_every_message_is_a_post_of_its_own(reach: Reach) -> None:
    server = far(reach, {"tools/call": whole(reach, **DONE)})
    async with reach(server) as reached:
        await reached.session.call_tool("t")
        assert all(isinstance(one, dict) for one in reached.sent)
        assert len(reached.sent) == len(reached.web.by("POST")) == len(server.came)


@requirement("http:client:accept")
async def test_a_post_takes_json_and_streams(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await reached.session.list_tools()
        for one in reached.web.by("POST"):
            taken = {kind.strip() for kind in one.headers["accept"].split(",")}
            assert taken >= {"application/json", "text/event-stream"}


@requirement("http:client:get-accept")
async def test_a_get_takes_streams(reach: Reach) -> None:
    async with reach(rich()) as reached:
        assert "text/event-stream" in (await reached.web.came("GET")).headers["accept"]


@requirement("http:client:session:sent")
async def test_every_request_after_the_handshake_names_the_session(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await reached.session.list_tools()
        await reached.web.came("GET")
        first, *others = [one.headers.get("mcp-session-id") for one in reached.web.got]
        assert (first, len(set(others)), None in others) == (None, 1, False)


@requirement("http:client:session:secret")
async def test_the_id_of_a_session_is_sent_to_no_other_origin(reach: Reach) -> None:
    async def elsewhere(got: Got, line: Line) -> None:
        await line.answer(200)

    async with scripted_web(elsewhere) as other:

        async def script(got: Got, line: Line) -> None:
            if got.asks == "initialize":
                reply = far(reach).replies["initialize"](got.json["params"])
                assert reply
                await line.result(got, reply["result"], mcp_session_id="s1")
            elif got.asks == "tools/call":
                await line.answer(307, location=other.url.replace("127.0.0.1", "localhost"))
            else:
                await line.answer(202 if got.method == "POST" else 405)

        async with scripted_web(script) as web, Client("test") as client:
            session = await client.connect(web.url, revision=reach.revision)
            with pytest.raises(TransportError) as caught:
                await session.call_tool("t")
            assert "s1" not in str(caught.value)
        assert other.got == []


@requirement("http:client:version", "http:client:version:negotiated", "http:client:version:matches")
async def test_every_request_names_its_revision(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await reached.session.list_tools()
        await reached.session.call_tool("echo", {"text": "a"})
        named = [
            one.headers.get("mcp-protocol-version")
            for one in reached.web.got
            if one.asks != "initialize"
        ]
        assert set(named) == {reach.revision}


@requirement("http:client:metadata-headers")
async def test_every_post_says_what_it_is(reach: Reach) -> None:
    async with reach(rich()) as reached:
        session = reached.session
        await session.call_tool("echo", {"text": "a"})
        await session.get_prompt("greet", {"name": "Ada"})
        await session.read_resource("test://text")
        await session.list_tools()
        said = [
            (one.asks, one.headers.get("mcp-method"), one.headers.get("mcp-name"))
            for one in reached.web.by("POST")
        ]
        about = {
            "tools/call": "echo",
            "prompts/get": "greet",
            "resources/read": "test://text",
        }
        assert said == [(method, method, about.get(method)) for method, *_ in said]


@requirement("http:client:param-headers:rejected", "http:client:param-headers:warned")
@pytest.mark.parametrize(
    ("properties", "why"),
    [
        (
            {"a": {"type": "string", "x-mcp-header": ""}},
            "property `a`: x-mcp-header='': expected the end of a header's name",
        ),
        (
            {"a": {"type": "string", "x-mcp-header": "Re gion"}},
            "property `a`: x-mcp-header='Re gion': expected the end of a header's name",
        ),
        (
            {"a": {"type": "string", "x-mcp-header": "a\r\nb"}},
            r"property `a`: x-mcp-header='a\r\nb': expected the end of a header's name",
        ),
        (
            {"a": {"type": "object", "x-mcp-header": "A"}},
            "property `a`: x-mcp-header='A': "
            "expected its type to be one of boolean, integer, string",
        ),
        (
            {"a": MARKED, "b": {"type": "string", "x-mcp-header": "rEGION"}},
            "property `b`: x-mcp-header='rEGION': another property is marked with this name",
        ),
        (
            {"a": {"type": "array", "items": {"type": "object", "properties": {"b": MARKED}}}},
            "x-mcp-header: only what is reached through `properties` alone can be marked: not what "
            "is in a list, a reference or a choice, as the type of an optional parameter is "
            "(give it a default of its own type)",
        ),
    ],
)
async def test_a_tool_with_wrong_header_annotations_is_not_listed(
    reach: Reach, properties: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = tool("refused", inputSchema={"type": "object", "properties": properties})
    server = far(reach, {"tools/list": listed(reach, tools=[refused, tool("right")])})
    async with reach(server) as reached:
        assert [one.name for one in (await reached.session.list_tools()).tools] == ["right"]
    warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert warnings == [f"the tool 'refused' is left out: {why}"]


@requirement("http:client:headers:case")
async def test_headers_of_the_server_may_be_spelled_as_it_likes(reach: Reach) -> None:
    async def script(got: Got, line: Line) -> None:
        reply = far(reach).replies[got.asks](got.json["params"])
        assert reply
        body = b'{"jsonrpc":"2.0","id":%d,"result":' % got.json["id"]

        body += msgspec.json.encode(reply["result"]) + b"}"
        await line.raw(b"HTTP/1.1 200 OK\r\nCONTENT-type: Application/JSON\r\n")
        await line.raw(b"cOntent-LENGTH: %d\r\nConnection: close\r\n\r\n" % len(body) + body)

    async with scripted_web(script) as web, Client("test") as client:
        assert (await client.connect(web.url, revision=reach.revision)).revision == reach.revision


# --- HTTP: responses ---


@requirement("http:client:both-answers")
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_is_read_from_json_and_from_a_stream(reach: Reach, stream: bool) -> None:

    replies = {**far(reach).replies, "tools/call": lambda _: whole(reach, **DONE)}

    async def script(got: Got, line: Line) -> None:
        if "id" not in (got.json if got.body else {}):
            await line.answer(202 if got.method == "POST" else 405)
            return
        reply: Any = replies[got.asks](got.json["params"])
        message = {"jsonrpc": "2.0", "id": got.json["id"], **reply}
        if stream:
            await line.head(200, "text/event-stream")
            await line.raw(b"data: " + msgspec.json.encode(message) + b"\n\n")
        else:
            await line.answer(200, msgspec.json.encode(message))

    async with scripted_web(script) as web, Client("test") as client:
        session = await client.connect(web.url, revision=reach.revision)
        assert (await session.call_tool("t")).content[0].text == "done"
