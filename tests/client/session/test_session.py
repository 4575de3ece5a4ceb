"""A session with one server: calls, errors and timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    ClientSession,
    InvalidResult,
    McpError,
    ProtocolError,
    RequestTimeout,
    Server,
    SessionLost,
)
from mcp_wire import UnknownContent, latest
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision, with_handshake
from tests.support.peers.scripted import MemoryPeer, connected, opening, served

WAIT_S = 30.0


def scripted(revision: str, **answers: Callable[[Any], Any]) -> MemoryPeer:
    """Return a server that answers the opening, `tools/list` and `tools/call` as given."""
    methods = {"list_tools": "tools/list", "call_tool": "tools/call"}
    return MemoryPeer({**opening(revision), **{methods[k]: v for k, v in answers.items()}})


def result(revision: str, **members: Any) -> dict[str, Any]:
    profile = mcp_wire.profile(revision)
    typed = {} if profile.handshake else {"resultType": "complete"}
    cached = {"ttlMs": 0, "cacheScope": "private"} if profile.cache_hints else {}
    return {**typed, **(cached if "tools" in members else {}), **members}


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


# --- results ---


@every_revision
async def test_a_tool_is_listed_and_called(revision: str) -> None:
    server = Server("adds")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    async with served(server, revision) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["add"]
        answer = await session.call_tool("add", {"a": 1, "b": 2})
        assert answer.content[0].text == "3"
        assert answer.is_error is None


@every_revision
async def test_results_are_of_the_newest_revision_where_none_is_pinned(revision: str) -> None:
    server = Server("one", revisions=[revision])
    server.add_tool(lambda: None, name="nothing")
    async with served(server, None) as session:
        (tool,) = (await session.list_tools()).tools
        assert type(tool) is latest.Tool
        assert session.revision == revision


@every_revision
async def test_all_pages_of_a_list_are_walked(revision: str) -> None:
    pages = {
        None: result(revision, tools=[tool("a"), tool("b")], nextCursor="2"),
        "2": result(revision, tools=[], nextCursor=""),
        "": result(revision, tools=[tool("c")]),
    }
    server = scripted(revision, list_tools=lambda params: pages[params.get("cursor")])
    async with connected(server, revision) as session:
        assert [tool.name async for tool in session.tools()] == ["a", "b", "c"]


@every_revision
async def test_one_page_of_a_list_is_asked_for_by_its_cursor(revision: str) -> None:
    server = scripted(revision, list_tools=lambda params: result(revision, tools=[]))
    async with connected(server, revision) as session:
        await session.list_tools("the cursor")
    assert (await server.heard("tools/list"))["params"]["cursor"] == "the cursor"


@every_revision
async def test_a_content_block_of_an_unknown_kind_is_kept(revision: str) -> None:
    block = {"type": "hologram", "depth": 1.50, "more": {"a": [None]}}
    content = [{"type": "text", "text": "a"}, block]
    server = scripted(revision, call_tool=lambda _: result(revision, content=content))
    async with connected(server, revision, right=False) as session:
        text, unknown = (await session.call_tool("t")).content
        assert text.text == "a"
        assert isinstance(unknown, UnknownContent)
        assert (unknown.type, unknown.as_dict()) == ("hologram", block)


@every_revision
async def test_keys_that_the_revision_lacks_are_passed_over(revision: str) -> None:
    content: list[Any] = []
    server = scripted(revision, call_tool=lambda _: result(revision, content=content, more=[1]))
    async with connected(server, revision, right=False) as session:
        assert (await session.call_tool("t")).content == []


@every_revision
async def test_a_result_of_the_wrong_shape_is_refused_with_its_path(revision: str) -> None:
    wrong = result(revision, content=[{"type": "text", "text": 5}])
    server = scripted(revision, call_tool=lambda _: wrong)
    async with connected(server, revision, right=False) as session:
        with pytest.raises(InvalidResult, match=r"^tools/call: .*\$\.content\[0\]\.text`$"):
            await session.call_tool("t")


async def test_a_result_that_asks_for_more_is_no_result_where_the_method_has_no_rounds() -> None:
    asks = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    async with connected(
        scripted(PER_REQUEST, list_tools=lambda _: asks), PER_REQUEST, right=False
    ) as session:
        with pytest.raises(ProtocolError, match="input_required"):
            await session.list_tools()


@every_revision
async def test_calls_do_not_wait_for_one_another(revision: str) -> None:
    server = Server("order")
    release = asyncio.Event()

    @server.tool
    async def slow() -> str:
        await release.wait()
        return "slow"

    @server.tool
    async def fast() -> str:
        release.set()
        return "fast"

    async with served(server, revision) as session:
        slow_one = asyncio.create_task(session.call_tool("slow"))
        assert (await session.call_tool("fast")).content[0].text == "fast"
        assert (await slow_one).content[0].text == "slow"


@every_revision
async def test_meta_is_sent_beside_what_the_revision_wants(revision: str) -> None:
    server = scripted(revision, call_tool=lambda _: result(revision, content=[]))
    async with connected(server, revision) as session:
        await session.call_tool("t", meta={"com.example/a": 1})
    sent = (await server.heard("tools/call"))["params"]["_meta"]
    assert sent["com.example/a"] == 1
    key = mcp_wire.profile(revision).protocol_version_key
    assert key is None or sent[key] == revision


# --- errors ---


@every_revision
async def test_an_error_comes_with_its_code_its_message_and_its_data(revision: str) -> None:
    error = {"code": -31000, "message": "no", "data": {"why": [1]}}
    server = scripted(revision, call_tool=lambda _: {"error": error})
    async with connected(server, revision) as session:
        with pytest.raises(McpError) as caught:
            await session.call_tool("t")
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -31000,
        "no",
        {"why": [1]},
    )


@every_revision
async def test_what_a_tool_says_went_wrong_is_a_result(revision: str) -> None:
    server = Server("fails")

    @server.tool
    def fail() -> None:
        raise ValueError("the disk is full")

    async with served(server, revision) as session:
        answer = await session.call_tool("fail")
    assert (answer.is_error, answer.content[0].text) == (True, "the disk is full")


# --- no answer ---


class Waits:
    """Server whose tool waits for ever, and records its cancellation."""

    def __init__(self) -> None:
        self.server = Server("waits")
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

        @self.server.tool
        async def wait() -> None:
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


@every_revision
async def test_a_timeout_ends_the_call_and_cancels_it_on_the_server(revision: str) -> None:
    waits = Waits()
    async with served(waits.server, revision) as session:
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer in 0\.01 s"):
            await session.call_tool("wait", timeout_s=0.01)
        await soon(waits.stopped)


@every_revision
async def test_a_cancelled_call_is_cancelled_on_the_server(revision: str) -> None:
    waits = Waits()
    async with served(waits.server, revision) as session:
        calling = asyncio.create_task(session.call_tool("wait"))
        await soon(waits.began)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await soon(waits.stopped)


@every_revision
async def test_the_session_goes_on_after_a_timeout(revision: str) -> None:
    waits = Waits()
    async with served(waits.server, revision) as session:
        with pytest.raises(RequestTimeout):
            await session.call_tool("wait", timeout_s=0.01)
        assert len((await session.list_tools()).tools) == 1


@every_revision
async def test_an_answer_after_the_timeout_is_passed_over(revision: str) -> None:
    server = scripted(revision, list_tools=lambda _: result(revision, tools=[]))
    async with connected(server, revision) as session:
        with pytest.raises(RequestTimeout):
            await session.call_tool("t", timeout_s=0.01)
        late = (await server.heard("tools/call"))["id"]
        answer = {"jsonrpc": "2.0", "id": late, "result": result(revision, content=[])}
        server.say(msgspec.json.encode(answer))
        assert (await session.list_tools()).tools == []


@every_revision
async def test_a_call_that_cannot_be_encoded_leaves_nothing_that_waits(revision: str) -> None:
    server = scripted(revision, call_tool=lambda params: result(revision, content=[]))
    async with connected(server, revision) as session:
        with pytest.raises(UnicodeEncodeError):
            await session.call_tool("t", {"text": "\ud800"})
        assert session._connection._connection.abandon() == []
        await session.call_tool("t")


@every_revision
async def test_a_connection_that_is_lost_ends_the_calls_that_wait(revision: str) -> None:
    server = scripted(revision)
    async with connected(server, revision) as session:
        calls = [asyncio.create_task(session.call_tool("t")) for _ in range(3)]
        await server.heard("tools/call")
        await server.hang_up()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SessionLost] * 3


@every_revision
async def test_a_call_after_the_connection_was_lost_fails_at_once(revision: str) -> None:
    server = scripted(revision)
    async with connected(server, revision) as session:
        waiting = asyncio.create_task(session.call_tool("t"))
        await server.heard("tools/call")
        await server.hang_up()
        await asyncio.wait([waiting])
        for _ in range(2):
            with pytest.raises(SessionLost):
                await session.call_tool("t")
        assert isinstance(waiting.exception(), SessionLost)


@every_revision
async def test_closing_a_session_ends_the_calls_that_wait(revision: str) -> None:
    server = scripted(revision)
    async with connected(server, revision) as session:
        waiting = asyncio.create_task(session.call_tool("t"))
        await server.heard("tools/call")
        await session.aclose()
        with pytest.raises(SessionLost, match="closed"):
            await waiting


async def test_closing_a_session_waits_for_no_callback() -> None:
    begun, ended = asyncio.Event(), list[str]()

    async def sample(session: ClientSession, params: Any) -> Any:
        begun.set()
        try:
            await asyncio.sleep(0.1)  # what ends soon has to be cancelled all the same
            ended.append("by itself")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    server = scripted(HANDSHAKE)
    async with Client("test", sampling=sample) as client:
        session = await client.connect(await server.start(), revision=HANDSHAKE)
        params = {"messages": [], "maxTokens": 1}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
        server.say(msgspec.json.encode(asked))
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        await session.aclose()
    assert ended == ["cancelled"]


async def test_leaving_the_client_ends_all_of_its_sessions() -> None:
    sessions: list[ClientSession] = []
    async with Client("two") as client:
        sessions = [await client.connect(Waits().server) for _ in range(2)]
    for session in sessions:
        with pytest.raises(SessionLost):
            await session.list_tools()


# --- server notifications ---


@with_handshake
async def test_the_servers_ping_is_answered(revision: str) -> None:
    server = scripted(revision)
    async with connected(server, revision):
        server.say(b'{"jsonrpc":"2.0","id":"ping","method":"ping"}')
        assert await heard_answer(server, "ping") == {"result": {}}


@with_handshake
async def test_a_question_that_the_client_did_not_offer_to_answer_is_refused(revision: str) -> None:
    server = scripted(revision)
    async with connected(server, revision):
        server.say(b'{"jsonrpc":"2.0","id":"roots","method":"roots/list"}')
        answer = await heard_answer(server, "roots")
        assert answer["error"]["code"] == -32601


@every_revision
@pytest.mark.parametrize(
    "message",
    [
        b"nonsense",
        b"\xff",
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
    ],
)
async def test_what_the_server_gets_wrong_does_not_end_the_session(
    revision: str, message: bytes
) -> None:
    server = scripted(revision, list_tools=lambda _: result(revision, tools=[tool("a")]))
    async with Client("robust") as client:
        session = await client.connect(await server.start(), revision=revision)
        server.say(message)
        assert [tool.name for tool in (await session.list_tools()).tools] == ["a"]


async def heard_answer(server: MemoryPeer, id: str) -> dict[str, Any]:
    """Return the client's answer to a server request."""
    async with asyncio.timeout(WAIT_S):
        while True:
            for frame in server.asked:
                if frame.get("id") == id:
                    return {key: frame[key] for key in frame.keys() & {"result", "error"}}
            await asyncio.sleep(0)
