"""Middleware wraps requests and outbound messages, outside of all hooks; the first is outermost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError
from mcp_gen.session.peer.session import Session
from mcp_wire import latest
from tests.support.frames import HANDSHAKE, encoded, every_revision, with_handshake
from tests.support.peers.raw import RawClient, talking


class Said:
    """Server with a tool `add`; `said` records the events in order."""

    def __init__(self) -> None:
        self.server = Server("middleware")
        self.said: list[str] = []

        @self.server.tool
        async def add(a: int, b: int) -> int:
            self.said.append("tool")
            return a + b

        @self.server.tool
        async def fail() -> int:
            raise McpError(-31000, "no")

        @self.server.tool
        async def report(ctx: Context) -> None:
            await ctx.report_progress(1)
            self.said.append("reported")

    def around(self, name: str, *methods: str) -> Callable[..., Any]:
        """Return a middleware that records its runs for these methods."""

        async def middleware(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
            if method not in (methods or ("tools/call",)):
                return await call_next(params)
            self.said.append(f"{name} in")
            result = await call_next(params)
            self.said.append(f"{name} out")
            return result

        return middleware


def add(client: RawClient, id: int = 1) -> bytes:
    return client.speaker.call(id, "add", a=1, b=2)


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@every_revision
async def test_what_was_added_first_is_outermost_and_hooks_are_inside(revision: str) -> None:
    test = Said()
    test.server.add_middleware(test.around("first"))
    test.server.middleware(test.around("second"))
    test.server.hooks.before_call_tool(lambda *_: test.said.append("hook"))
    async with talking(test.server, revision) as client:
        assert text(await client.ask(add(client))) == "3"
    assert test.said == ["first in", "second in", "hook", "tool", "second out", "first out"]


@every_revision
async def test_a_middleware_gets_the_context_and_the_params_of_the_revision(revision: str) -> None:
    server, seen = Said().server, list[Any]()

    @server.middleware
    async def look(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if method == "tools/call":
            seen.append((ctx.revision, params.arguments, type(params), type(result)))
        return result

    async with talking(server, revision) as client:
        await client.ask(add(client))
    params = mcp_wire.types(revision).CallToolRequestParams
    assert seen == [(revision, {"a": 1, "b": 2}, params, latest.CallToolResult)]


@every_revision
async def test_a_middleware_may_pass_on_other_params(revision: str) -> None:
    server = Said().server

    @server.middleware
    async def double(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            params = msgspec.structs.replace(params, arguments={"a": 20, "b": 22})
        return await call_next(params)

    async with talking(server, revision) as client:
        assert text(await client.ask(add(client))) == "42"


@every_revision
async def test_a_middleware_may_give_another_result(revision: str) -> None:
    server = Said().server

    @server.middleware
    async def shout(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if method != "tools/call":
            return result
        return latest.CallToolResult(content=[latest.TextContent(text="another")])

    async with talking(server, revision) as client:
        assert text(await client.ask(add(client))) == "another"


@every_revision
async def test_a_middleware_may_answer_without_calling(revision: str) -> None:
    test = Said()

    @test.server.middleware
    async def answer(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            return latest.CallToolResult(content=[latest.TextContent(text="at once")])
        return await call_next(params)

    async with talking(test.server, revision) as client:
        assert text(await client.ask(add(client))) == "at once"
    assert test.said == []


@every_revision
async def test_a_middleware_may_refuse(revision: str) -> None:
    server = Said().server

    @server.middleware
    async def refuse(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            raise McpError(-31001, "not today", {"until": "tomorrow"})
        return await call_next(params)

    async with talking(server, revision) as client:
        assert (await client.ask(add(client)))["error"] == {
            "code": -31001,
            "message": "not today",
            "data": {"until": "tomorrow"},
        }


@every_revision
async def test_a_middleware_sees_what_the_handler_raises(revision: str) -> None:
    server, seen = Said().server, list[BaseException]()

    @server.middleware
    async def watch(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        try:
            return await call_next(params)
        except BaseException as error:
            seen.append(error)
            raise

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "fail"))
        assert answer["error"]["code"] == -31000
    assert [type(one) for one in seen] == [McpError]


@every_revision
async def test_a_middleware_that_returns_nothing_is_an_internal_error_that_says_nothing(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Said().server

    @server.middleware
    async def forgets(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        return result if method != "tools/call" else None

    async with talking(server, revision) as client:
        error = (await client.ask(add(client)))["error"]
        assert error == {"code": -32603, "message": "internal error"}
    assert "forgets returned nothing" in caplog.text


@every_revision
async def test_a_middleware_can_be_added_while_clients_are_there(revision: str) -> None:
    test = Said()
    async with talking(test.server, revision) as client:
        await client.ask(add(client, 1))
        test.server.add_middleware(test.around("late"))
        await client.ask(add(client, 2))
    assert test.said == ["tool", "late in", "tool", "late out"]


@every_revision
async def test_a_middleware_is_around_every_request_that_is_answered(revision: str) -> None:
    server, seen = Said().server, list[str]()

    @server.middleware
    async def look(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        seen.append(method)
        return await call_next(params)

    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        await client.ask(client.speaker.request(2, "no/such"))
    first = ["initialize", "notifications/initialized"] if client.speaker.opening else []
    assert seen == [*first, "tools/list"]


@every_revision
async def test_a_middleware_is_around_notifications_and_their_hooks(revision: str) -> None:
    test, told = Said(), asyncio.Event()
    test.server.add_middleware(test.around("m", "notifications/cancelled"))

    @test.server.hooks.on_cancelled
    async def hear(ctx: Any, params: Any) -> None:
        test.said.append("hook")
        told.set()

    async with talking(test.server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        client.send(client.speaker.cancel(99))
        await asyncio.wait_for(told.wait(), 30)
        await client.ask(client.speaker.request(2, "tools/list"))
    assert test.said == ["m in", "hook", "m out"]


@every_revision
async def test_a_middleware_that_fails_at_a_notification_is_logged(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, failed = Said().server, asyncio.Event()

    @server.middleware
    async def fail(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "notifications/cancelled":
            failed.set()
            raise RuntimeError("at a notification")
        return await call_next(params)

    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        client.send(client.speaker.cancel(99))
        await asyncio.wait_for(failed.wait(), 30)
        assert "result" in await client.ask(add(client, 2))
    assert "notifications/cancelled failed" in caplog.text


# --- sending ---


@every_revision
async def test_a_sending_middleware_is_around_notifications_outermost_first(revision: str) -> None:
    test = Said()
    test.server.add_sending_middleware(test.around("first", "notifications/progress"))
    test.server.sending_middleware(test.around("second", "notifications/progress"))
    test.server.hooks.outbound.on_progress(lambda *_: test.said.append("hook"))
    async with talking(test.server, revision) as client:
        params = {"name": "report", "arguments": {}, "_meta": {"progressToken": 5}}
        client.send(client.speaker.request(1, "tools/call", params))
        assert (await client.next())["params"]["progressToken"] == 5
        await client.answer(1)
    around = ["first in", "second in", "hook", "second out", "first out"]
    assert test.said == [*around, "reported"]


@every_revision
async def test_a_sending_middleware_may_keep_a_notification_back_or_change_it(
    revision: str,
) -> None:
    server = Server("sending")

    @server.tool
    async def report(ctx: Context) -> None:
        for number in (1, 2):
            await ctx.report_progress(number)

    @server.sending_middleware
    async def only_two(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if params.progress == 2:
            await call_next(msgspec.structs.replace(params, total=2))

    async with talking(server, revision) as client:
        params = {"name": "report", "arguments": {}, "_meta": {"progressToken": 5}}
        await client.ask(client.speaker.request(1, "tools/call", params))
        assert [one["params"] for one in client.came] == [
            {"progressToken": 5, "progress": 2, "total": 2}
        ]


@with_handshake
async def test_a_sending_middleware_is_around_requests_and_sees_their_results(
    revision: str,
) -> None:
    server, seen = Server("sending"), list[Any]()

    @server.tool
    async def ask(ctx: Context) -> str:
        await ctx.client.ping()
        return "pinged"

    @server.sending_middleware
    async def look(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        seen.append((type(ctx), method, type(result).__name__))
        return result

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "ask"))
        asked = await client.next()
        client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "result": {}}))
        assert text(await client.answer(1)) == "pinged"
    assert seen == [(Context, "ping", "Result")]


@with_handshake
async def test_a_sending_middleware_may_answer_in_the_clients_place(revision: str) -> None:
    server = Server("sending")

    @server.tool
    async def ask(ctx: Context) -> str:
        return type(await ctx.client.ping()).__name__

    @server.sending_middleware
    async def answer(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        return latest.EmptyResult()

    async with talking(server, revision) as client:
        assert text(await client.ask(client.speaker.call(1, "ask"))) == "Result"
        assert client.came == []


@with_handshake
async def test_what_belongs_to_no_request_is_sent_with_the_session(revision: str) -> None:
    server, seen = Server("sending"), list[Any]()

    @server.sending_middleware
    async def look(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append(ctx)
        return await call_next(params)

    async with talking(server, revision) as client:
        (session,) = server.sessions()
        await session.log("info", "hello")
        assert (await client.next())["params"]["data"] == "hello"
    assert seen == [session]
    assert isinstance(session, Session)


# --- immediate errors ---


async def takes_too_little(ctx: Any, method: str, params: Any) -> Any: ...


def is_not_async(ctx: Any, method: str, params: Any, call_next: Any) -> Any: ...


@pytest.mark.parametrize(
    ("middleware", "advice"),
    [
        (takes_too_little, r"takes_too_little: expected the parameters \(ctx, method, params,"),
        (is_not_async, "is_not_async: write `async def`"),
    ],
)
@pytest.mark.parametrize("add", ["add_middleware", "add_sending_middleware"])
def test_what_is_no_middleware_is_refused_with_advice(
    add: str, middleware: Any, advice: str
) -> None:
    with pytest.raises(UsageError, match=advice):
        getattr(Server("refuses"), add)(middleware)


async def test_an_object_with_an_async_call_is_a_middleware() -> None:
    test = Said()

    class Middleware:
        async def __call__(self, ctx: Any, method: str, params: Any, call_next: Any) -> Any:
            test.said.append(method)
            return await call_next(params)

    test.server.add_middleware(Middleware())
    async with talking(test.server, HANDSHAKE) as client:
        await client.ask(add(client))
    assert "tools/call" in test.said
