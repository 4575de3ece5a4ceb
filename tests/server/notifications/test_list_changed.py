"""`list_changed` notifications: coalesced, for the sessions concerned, once initialized."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from mcp_gen import Context, Server
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_handshake, with_sessions
from tests.support.http.asgi import begin, request
from tests.support.peers.raw import WAIT_S, RawClient, talking

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"

KINDS = {
    "tool_list_changed": TOOLS,
    "prompt_list_changed": PROMPTS,
    "resource_list_changed": RESOURCES,
}
each_kind = pytest.mark.parametrize(("call", "method"), KINDS.items(), ids=KINDS)


def declaring(*features: Any) -> Server:
    return Server("news", declare=features or ("tools", "prompts", "resources"))


def nothing() -> None:
    """A tool or a prompt."""


async def heard(client: RawClient) -> list[str]:
    """Return the methods received before the response to a new request."""
    tools = client.speaker.request("now", "tools/list")
    client.send(tools)
    methods: list[str] = []
    while True:
        frame = await client.next()
        if frame.get("id") == "now":
            return methods
        methods.append(frame["method"])


async def told(server: Server, revision: str, change: Callable[[], object]) -> list[str]:
    """Return the notifications that a session receives for a change."""
    async with talking(server, revision) as client:
        assert await heard(client) == []
        change()
        await asyncio.sleep(0)
        return await heard(client)


def with_subscriptions() -> Server:
    """Return a server with a tool that subscribes like `resources/subscribe`."""
    server = declaring()

    @server.tool
    async def subscribe(uris: list[str], ctx: Context) -> None:
        assert ctx.session is not None
        ctx.session.subscribed.clear()
        ctx.session.subscribed.update(uris)

    return server


async def subscribe(client: RawClient, *uris: str) -> None:
    await client.ask(client.speaker.call("subscribed", "subscribe", uris=uris))


async def updates(client: RawClient) -> list[str]:
    """Return the resources of all update notifications so far."""
    client.send(client.speaker.request("now", "tools/list"))
    uris: list[str] = []
    while (frame := await client.next()).get("id") != "now":
        assert frame["method"] == UPDATED
        uris.append(frame["params"]["uri"])
    return uris


@with_handshake
@each_kind
async def test_a_session_is_told_that_a_list_is_another_one(
    revision: str, call: str, method: str
) -> None:
    server = declaring()
    assert await told(server, revision, getattr(server.notify, call)) == [method]


@with_handshake
async def test_adding_and_removing_says_so(revision: str) -> None:
    server = declaring()
    assert await told(server, revision, partial(server.add_tool, nothing)) == [TOOLS]
    assert await told(server, revision, partial(server.remove_tool, "nothing")) == [TOOLS]
    assert await told(server, revision, partial(server.add_prompt, nothing)) == [PROMPTS]
    assert await told(server, revision, partial(server.remove_prompt, "nothing")) == [PROMPTS]


async def test_a_revision_without_the_notification_is_told_nothing() -> None:
    server = declaring()
    async with talking(server, HANDSHAKE) as client:
        assert await heard(client) == []
        session: Any = server.sessions()[0]
        session._connection.profile = replace(session.profile, tools_changed=None)
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        await asyncio.sleep(0)
        assert await heard(client) == [PROMPTS]


@with_handshake
async def test_a_burst_of_changes_is_told_once_per_kind(revision: str) -> None:
    server = declaring()

    def burst() -> None:
        for i in range(50):
            server.add_tool(nothing, name=f"t{i}")
            server.add_prompt(nothing, name=f"p{i}")
        server.remove_tool("t0")

    assert await told(server, revision, burst) == [TOOLS, PROMPTS]


@with_handshake
async def test_the_next_burst_is_told_again(revision: str) -> None:
    server = declaring()
    async with talking(server, revision) as client:
        for i in range(3):
            server.add_tool(nothing, name=f"t{i}")
            assert (await client.next())["method"] == TOOLS


@with_handshake
async def test_every_session_is_told(revision: str) -> None:
    server = declaring()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(talking(server, revision)) for _ in range(3)]
        for client in clients:
            await heard(client)
        server.notify.tool_list_changed()
        assert [(await client.next())["method"] for client in clients] == [TOOLS] * 3


@with_handshake
async def test_a_session_keeps_to_what_was_declared_when_it_began(revision: str) -> None:
    server = declaring("tools")
    assert await told(server, revision, partial(server.add_prompt, nothing)) == []
    assert await told(server, revision, server.notify.prompt_list_changed) == [PROMPTS]


async def test_where_nothing_is_shaken_nobody_is_told_who_does_not_listen() -> None:
    server = declaring()
    assert await told(server, PER_REQUEST, server.notify.tool_list_changed) == []


# --- after initialization ---


@with_handshake
async def test_nothing_is_sent_before_the_client_is_ready(revision: str) -> None:
    server = declaring()
    async with talking(server, revision, opened=False) as client:
        speaker = client.speaker
        server.add_tool(nothing, name="before")
        await client.ask(speaker.initialize(0))
        server.add_tool(nothing, name="between")
        server.add_tool(nothing, name="again")
        server.notify.prompt_list_changed()
        assert "result" in await client.ask(speaker.request(1, "ping"))
        assert client.came == []
        client.send(speaker.initialized)
        assert await heard(client) == [TOOLS, PROMPTS]


@with_handshake
async def test_nothing_is_sent_while_the_handshake_is_on(revision: str) -> None:
    server = declaring()
    begun, go = asyncio.Event(), asyncio.Event()

    @server.hooks.after_initialize
    async def wait(ctx: Any, params: Any, result: Any) -> None:
        begun.set()
        await go.wait()

    async with talking(server, revision, opened=False) as client:
        client.send(*client.speaker.opening)
        await begun.wait()
        server.notify.tool_list_changed()
        await asyncio.sleep(0)
        assert client.came == []
        go.set()
        assert "result" in await client.next()


@with_sessions
async def test_a_client_is_ready_over_http_too(revision: str) -> None:
    server, speaker = Server("news"), Speaker(revision)
    sessions: list[Any] = []
    opened = asyncio.Event()

    @server.hooks.session_opened
    def keep(session: Any) -> None:
        sessions.append(session)
        opened.set()

    app = server.asgi()
    headers = await begin(app, speaker)
    await asyncio.wait_for(opened.wait(), WAIT_S)
    assert not sessions[0].initialized
    await request(app, speaker.initialized, headers)
    assert sessions[0].initialized


@with_handshake
async def test_being_ready_twice_is_told_nothing_twice(revision: str) -> None:
    server = declaring()
    async with talking(server, revision, opened=False) as client:
        await client.ask(client.speaker.initialize(0))
        server.notify.tool_list_changed()
        # The change is published in a turn of its own: from then on it waits.
        assert "result" in await client.ask(client.speaker.request(1, "ping"))
        client.send(client.speaker.initialized, client.speaker.initialized)
        assert await heard(client) == [TOOLS]


# --- resources ---


@with_handshake
async def test_an_update_reaches_exactly_those_who_subscribed(revision: str) -> None:
    server = with_subscriptions()
    async with talking(server, revision) as one, talking(server, revision) as other:
        await subscribe(one, "a://1", "a://2")
        await subscribe(other, "a://2")
        for uri in ("a://1", "a://2", "a://3"):
            server.notify.resource_updated(uri)
        await asyncio.sleep(0)
        assert await updates(one) == ["a://1", "a://2"]
        assert await updates(other) == ["a://2"]


@with_handshake
async def test_an_update_is_told_once_per_burst(revision: str) -> None:
    server = with_subscriptions()
    async with talking(server, revision) as client:
        await subscribe(client, "a://1", "a://2")
        for uri in ("a://2", "a://1", "a://2"):
            server.notify.resource_updated(uri)
        await asyncio.sleep(0)
        assert await updates(client) == ["a://2", "a://1"]


@with_handshake
async def test_what_is_inside_a_resource_is_another_one(revision: str) -> None:
    server = with_subscriptions()
    async with talking(server, revision) as client:
        await subscribe(client, "file:///folder/")
        server.notify.resource_updated("file:///folder/file")
        await asyncio.sleep(0)
        assert await updates(client) == []


@with_handshake
async def test_who_no_longer_subscribes_is_not_told(revision: str) -> None:
    server = with_subscriptions()
    async with talking(server, revision) as client:
        await subscribe(client, "a://1")
        await subscribe(client)
        server.notify.resource_updated("a://1")
        await asyncio.sleep(0)
        assert await updates(client) == []


# --- hooks ---


@with_handshake
async def test_hooks_see_a_notification_before_it_is_sent(revision: str) -> None:
    server = declaring()
    begun, go = asyncio.Event(), asyncio.Event()
    seen: list[Any] = []

    @server.hooks.outbound.on_tool_list_changed
    async def hook(session: Any, params: Any) -> None:
        begun.set()
        seen.append((session, params.meta))
        await go.wait()

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.tool_list_changed()
        await begun.wait()
        assert seen == [(session, None) for session in server.sessions()]
        assert client.came == []
        go.set()
        assert (await client.next())["method"] == TOOLS


@with_handshake
async def test_hooks_see_which_resource_was_updated(revision: str) -> None:
    server = with_subscriptions()
    seen: list[str] = []

    @server.hooks.outbound.on_resource_updated
    def hook(session: Any, params: Any) -> None:
        seen.append(params.uri)

    async with talking(server, revision) as client:
        await subscribe(client, "a://1")
        server.notify.resource_updated("a://1")
        assert (await client.next())["params"] == {"uri": "a://1"}
    assert seen == ["a://1"]


@with_handshake
async def test_a_hook_that_hangs_keeps_no_session_open(revision: str) -> None:
    server = declaring()
    begun = asyncio.Event()

    @server.hooks.outbound.on_tool_list_changed
    async def hook(session: Any, params: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.tool_list_changed()
        await begun.wait()


@with_handshake
async def test_a_hook_that_hangs_keeps_no_session_open_though_another_has_ended(
    revision: str,
) -> None:
    server = declaring()
    begun = asyncio.Event()

    @server.hooks.outbound.on_prompt_list_changed
    async def hangs(session: Any, params: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    @server.hooks.outbound.on_tool_list_changed
    async def ends(session: Any, params: Any) -> None:
        await begun.wait()

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.prompt_list_changed()
        server.notify.tool_list_changed()
        assert (await client.next())["method"] == TOOLS


@with_handshake
async def test_nothing_is_kept_of_a_change_that_was_sent(revision: str) -> None:
    server = declaring()

    @server.hooks.outbound.on_tool_list_changed
    async def hook(session: Any, params: Any) -> None:
        """Watch the changes."""

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.tool_list_changed()
        assert (await client.next())["method"] == TOOLS
        assert await heard(client) == []
        assert server.notify._sending == {}


@with_handshake
async def test_sending_middleware_is_around_what_is_told(revision: str) -> None:
    server = declaring()
    seen: list[Any] = []

    @server.sending_middleware
    async def count(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append((ctx, method))
        return await call_next(params)

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.tool_list_changed()
        assert (await client.next())["method"] == TOOLS
        assert seen == [(server.sessions()[0], TOOLS)]


@with_handshake
async def test_a_change_that_middleware_cannot_send_is_an_error_in_the_log(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = declaring()

    @server.sending_middleware
    async def broken(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        raise OSError("the audit log is full")

    async with talking(server, revision) as client:
        await heard(client)
        server.notify.tool_list_changed()
        assert await heard(client) == []
    (logged,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert logged.getMessage() == "a notification could not be sent"
    assert str(logged.exc_info[1]) == "the audit log is full"


# --- context of the call ---


@with_handshake
async def test_another_thread_may_add(revision: str) -> None:
    server = declaring()
    async with talking(server, revision) as client:
        await heard(client)
        await asyncio.to_thread(server.add_tool, nothing)
        assert (await client.next())["method"] == TOOLS


def test_without_a_loop_there_is_nobody_to_tell() -> None:
    server = declaring()
    server.notify.tool_list_changed()
    server.add_tool(nothing)
    assert len(server.tools) == 1


@with_handshake
def test_a_loop_that_has_been_closed_does_not_matter(revision: str) -> None:
    server = declaring()

    async def once() -> list[str]:
        return await told(server, revision, server.notify.tool_list_changed)

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(once()) == [TOOLS]
    # No session is notified: the loop has stopped.
    server.notify.tool_list_changed()
    loop.close()
    server.notify.tool_list_changed()
    assert server.runtime.kernel.loops == set()
    assert asyncio.run(once()) == [TOOLS]


@with_handshake
async def test_sessions_on_another_loop_are_told_there(revision: str) -> None:
    server = declaring()
    ready, done = threading.Event(), threading.Event()
    came: list[str] = []

    async def elsewhere() -> None:
        async with talking(server, revision) as client:
            await heard(client)
            ready.set()
            came.append((await client.next())["method"])
            came.extend(await heard(client))

    def run() -> None:
        asyncio.run(elsewhere())
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    async with talking(server, revision) as client:
        await heard(client)
        assert await asyncio.to_thread(ready.wait, 5)
        server.notify.tool_list_changed()
        assert (await client.next())["method"] == TOOLS
        assert await asyncio.to_thread(done.wait, 5)
        assert await heard(client) == []
    thread.join()
    assert came == [TOOLS]


@with_handshake
async def test_a_connection_that_fails_does_not_keep_it_from_the_others(
    revision: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = declaring()
    async with talking(server, revision) as broken:
        await heard(broken)
        (session,) = server.sessions()

        def fail(*arguments: Any) -> None:
            raise OSError("broken")

        monkeypatch.setattr(session, "notify", fail)
        async with talking(server, revision) as client:
            await heard(client)
            with caplog.at_level(logging.ERROR):
                server.notify.tool_list_changed()
                assert (await client.next())["method"] == TOOLS
    assert "could not be sent" in caplog.text
