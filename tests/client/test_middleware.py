"""Client middleware wraps messages of servers, and messages to servers, outside of all hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Context, McpError, Server, UsageError, text_of
from mcp_gen.core.relay import relay_of
from mcp_wire import latest
from tests.client.using import live, using
from tests.support.frames import ALL, every_revision

ASKING = [one for one in ALL if mcp_wire.profile(one).elicit is not None]


@dataclass
class Name:
    """A form."""

    name: str


def adding() -> Server:
    server = Server("adds")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return str(answer)

    @server.tool
    async def pings(ctx: Context) -> str:
        return type(await ctx.client.ping()).__name__

    @server.tool
    async def reports(ctx: Context) -> None:
        await ctx.report_progress(1, 2)

    return server


class Recorder:
    """Middleware that records which methods pass it, and in which session."""

    def __init__(self, *methods: str) -> None:
        self.methods = methods
        self.said: list[str] = []
        self.contexts: list[Any] = []

    async def __call__(self, session: Any, method: str, params: Any, call_next: Any) -> Any:
        self.said.append(method)
        self.contexts.append(session)
        return await call_next(params)


# --- messages to servers ---


@every_revision
async def test_sending_middleware_sees_every_call_in_its_session(revision: str) -> None:
    client, seen = Client("test"), Recorder()
    client.add_sending_middleware(seen)
    async with using(client, adding(), revision) as session:
        await session.list_tools()
        await session.call_tool("add", {"a": 1, "b": 2})
        assert seen.said[-2:] == ["tools/list", "tools/call"]
        assert seen.contexts[-1] is session


@every_revision
async def test_sending_middleware_changes_the_params(revision: str) -> None:
    client = Client("test")

    @client.sending_middleware
    async def add_ten(session: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            params = msgspec.structs.replace(params, arguments={**params.arguments, "b": 10})
        return await call_next(params)

    async with using(client, adding(), revision) as session:
        assert text_of(await session.call_tool("add", {"a": 1, "b": 2})) == "11"


@every_revision
async def test_sending_middleware_answers_a_call_itself(revision: str) -> None:
    client = Client("test")

    @client.sending_middleware
    async def answer(session: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            return latest.CallToolResult(content=[latest.TextContent(text="mine")])
        return await call_next(params)

    async with using(client, adding(), revision, result_revision=mcp_wire.LATEST) as session:
        assert text_of(await session.call_tool("unknown")) == "mine"


@every_revision
async def test_sending_middleware_refuses_a_call(revision: str) -> None:
    client = Client("test")

    @client.sending_middleware
    async def refuse(session: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            raise McpError(-31000, "not today")
        return await call_next(params)

    async with using(client, adding(), revision) as session:
        with pytest.raises(McpError, match="not today"):
            await session.call_tool("add", {"a": 1, "b": 2})


async def test_the_sending_middleware_added_first_is_outermost_and_all_are_outside_of_hooks() -> (
    None
):
    client, order = Client("test"), list[str]()

    def around(name: str) -> Any:
        async def middleware(session: Any, method: str, params: Any, call_next: Any) -> Any:
            if method == "tools/call":
                order.append(name)
            return await call_next(params)

        return middleware

    client.add_sending_middleware(around("first"))
    client.add_sending_middleware(around("second"))

    @client.hooks.outbound.before_call_tool
    def hook(session: Any, params: Any) -> None:
        order.append("hook")

    async with using(client, adding(), None) as session:
        await session.call_tool("add", {"a": 1, "b": 2})
    assert order == ["first", "second", "hook"]


@every_revision
async def test_sending_middleware_sees_the_handshake_without_a_session(revision: str) -> None:
    client, seen = Client("test"), Recorder()
    client.add_sending_middleware(seen)
    async with using(client, adding(), revision):
        pass
    opening = "initialize" if mcp_wire.profile(revision).handshake else "server/discover"
    assert (seen.said[0], seen.contexts[0]) == (opening, None)


@live
async def test_sending_middleware_wraps_notifications(revision: str) -> None:
    client, seen = Client("test", roots=[]), Recorder()
    client.add_sending_middleware(seen)
    async with using(client, adding(), revision) as session:
        await client.add_roots("file:///a")
        changed = "notifications/roots/list_changed"
        assert (seen.said[-1], seen.contexts[-1]) == (changed, session)


async def test_sending_middleware_that_is_added_later_applies_from_then_on() -> None:
    client, seen = Client("test"), Recorder()
    async with using(client, adding(), None) as session:
        client.add_sending_middleware(seen)
        await session.call_tool("add", {"a": 1, "b": 2})
    assert seen.said == ["tools/call"]


@every_revision
async def test_sending_middleware_wraps_what_a_mounted_session_sends(revision: str) -> None:
    client, seen = Client("test"), Recorder()
    client.add_sending_middleware(seen)
    async with using(client, adding(), revision) as session:
        relay = relay_of(session)
        call = session.profile.call_tool
        assert relay is not None
        assert call is not None
        params = call.params(name="add", arguments={"a": 1, "b": 2}, meta={})
        raw = await relay.request(call, params)
        assert msgspec.json.decode(raw)["content"] == [{"type": "text", "text": "3"}]
    assert "tools/call" in seen.said


# --- messages of servers ---


@pytest.mark.parametrize("revision", ASKING)
async def test_middleware_wraps_what_a_server_asks_at_every_revision(revision: str) -> None:
    client, seen = Client("test", elicitation=lambda session, form: {"name": "Ada"}), Recorder()
    client.add_middleware(seen)
    async with using(client, adding(), revision) as session:
        answer = await session.call_tool("greet")
        assert "Ada" in text_of(answer)
        assert seen.contexts == [session] * len(seen.contexts)
    assert "elicitation/create" in seen.said


@pytest.mark.parametrize("revision", ASKING)
async def test_middleware_answers_for_the_handler(revision: str) -> None:
    client = Client("test", elicitation=lambda session, form: {"name": "Ada"})

    @client.middleware
    async def bob(session: ClientSession, method: str, params: Any, call_next: Any) -> Any:
        if method == "elicitation/create":
            return latest.ElicitResult(action="accept", content={"name": "Bob"})
        return await call_next(params)

    async with using(client, adding(), revision) as session:
        assert "Bob" in text_of(await session.call_tool("greet"))


@live
async def test_middleware_that_is_added_later_wraps_the_next_request(revision: str) -> None:
    client, seen = Client("test"), Recorder()
    async with using(client, adding(), revision) as session:
        await session.call_tool("pings")
        client.add_middleware(seen)
        await session.call_tool("pings")
    assert seen.said == ["ping"]


@every_revision
async def test_middleware_wraps_notifications_of_the_server(revision: str) -> None:
    client, seen = Client("test"), Recorder()
    client.add_middleware(seen)
    async with using(client, adding(), revision) as session:
        await session.call_tool("reports", progress=lambda done, total, message: None)
    assert "notifications/progress" in seen.said


@live
async def test_middleware_that_returns_nothing_is_an_internal_error_to_the_server(
    revision: str,
) -> None:
    client = Client("test")

    @client.middleware
    async def forgets(session: Any, method: str, params: Any, call_next: Any) -> None:
        await call_next(params)

    async with using(client, adding(), revision) as session:
        with pytest.raises(McpError) as caught:
            await session.call_tool("pings")
    assert caught.value.code == -32603


# --- what is no middleware ---


def test_a_middleware_that_is_not_async_is_refused() -> None:
    client: Any = Client("test")

    def plain(session: Any, method: str, params: Any, call_next: Any) -> None: ...

    for add in (client.middleware, client.sending_middleware):
        with pytest.raises(UsageError, match="async def"):
            add(plain)


def test_a_middleware_with_other_parameters_is_refused() -> None:
    client: Any = Client("test")

    async def short(session: Any, call_next: Any) -> None: ...

    for add in (client.add_middleware, client.add_sending_middleware):
        with pytest.raises(UsageError, match="ctx, method, params, call_next"):
            add(short)
