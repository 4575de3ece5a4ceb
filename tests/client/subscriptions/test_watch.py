"""Change subscriptions: one API at every revision."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Change,
    ChangeWatch,
    Client,
    McpError,
    RequestTimeout,
    Server,
    SessionLost,
    UsageError,
)
from tests.client.using import declaring, using
from tests.support.frames import ALL, PER_REQUEST, every_revision
from tests.support.peers.scripted import MemoryPeer, opening

WAIT_S = 30.0
LISTENING = [one for one in ALL if mcp_wire.profile(one).listen]
SUBSCRIBING = [one for one in ALL if not mcp_wire.profile(one).listen]
listening = pytest.mark.parametrize("revision", LISTENING)
subscribing = pytest.mark.parametrize("revision", SUBSCRIBING)
KEY = "io.modelcontextprotocol/subscriptionId"


async def heard(watch: ChangeWatch, count: int) -> list[Change]:
    async with asyncio.timeout(WAIT_S):
        return [await anext(watch) for _ in range(count)]


@every_revision
async def test_all_kinds_of_changes_are_heard(revision: str) -> None:
    server = declaring()
    async with (
        using(Client("c"), server, revision) as session,
        session.watch("a://1", tools=True, prompts=True, resources=True) as changes,
    ):
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        server.notify.resource_list_changed()
        server.notify.resource_updated("a://1")
        assert set(await heard(changes, 4)) == {
            Change("tools"),
            Change("prompts"),
            Change("resources"),
            Change("resource", "a://1"),
        }


@every_revision
async def test_only_what_is_watched_is_heard(revision: str) -> None:
    server = declaring()
    async with (
        using(Client("c"), server, revision) as session,
        session.watch("a://1") as changes,
        session.watch("b://1", prompts=True),
    ):
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        server.notify.resource_updated("b://1")
        server.notify.resource_updated("a://1")
        assert await heard(changes, 1) == [Change("resource", "a://1")]


@every_revision
async def test_several_watches_hear_the_same_change(revision: str) -> None:
    server = declaring()
    async with using(Client("c"), server, revision) as session:
        async with session.watch("a://1") as one, session.watch("a://1", tools=True) as other:
            server.notify.resource_updated("a://1")
            assert await heard(one, 1) == await heard(other, 1)
        async with session.watch("a://1") as again:
            server.notify.resource_updated("a://1")
            assert await heard(again, 1) == [Change("resource", "a://1")]


@every_revision
async def test_what_changed_twice_before_it_was_looked_at_is_told_once(revision: str) -> None:
    server = declaring()
    async with (
        using(Client("c"), server, revision) as session,
        session.watch("a://1", "a://2") as changes,
    ):
        for uri in ("a://1", "a://1", "a://1", "a://2"):
            server.notify.resource_updated(uri)
            # The server itself may coalesce notifications of one turn of the loop.
            await session.list_resources()
        assert await heard(changes, 2) == [
            Change("resource", "a://1"),
            Change("resource", "a://2"),
        ]


@every_revision
async def test_the_watch_says_what_the_server_will_tell_of(revision: str) -> None:
    async with (
        using(Client("c"), Server("t", declare=["tools"]), revision) as session,
        session.watch("a://1", tools=True, prompts=True) as changes,
    ):
        honoured = msgspec.to_builtins(changes.honoured)
    assert honoured == {"toolsListChanged": True}


@every_revision
async def test_a_session_that_is_lost_ends_the_watch(revision: str) -> None:
    answers = opening(revision)
    server = MemoryPeer(answers)
    _acknowledges(server, answers)
    async with (
        using(Client("c"), await server.start(), revision) as session,
        session.watch(tools=True) as changes,
    ):
        waiting = asyncio.create_task(heard(changes, 1))
        await asyncio.sleep(0)
        await server.hang_up()
        with pytest.raises(SessionLost):
            await waiting


@every_revision
async def test_a_watch_over_nothing_is_refused(revision: str) -> None:
    async with using(Client("c"), declaring(), revision) as session:
        with pytest.raises(UsageError, match="watch: name the URIs"):
            session.watch()


@every_revision
async def test_a_watch_is_used_as_a_context_once(revision: str) -> None:
    async with using(Client("c"), declaring(), revision) as session:
        changes = session.watch(tools=True)
        with pytest.raises(UsageError, match="async with"):
            await anext(changes)
        async with changes:
            pass
        with pytest.raises(UsageError, match="used before"):
            async with changes:
                pass


# --- one request that stays open ---


def _acknowledges(server: MemoryPeer, answers: dict[str, Any]) -> None:
    """Let a scripted server acknowledge subscription requests."""

    def listen(params: Any) -> Any:
        id = server.asked[-1]["id"]
        told = {"notifications": params["notifications"], "_meta": {KEY: id}}
        server.say(_notice("subscriptions/acknowledged", **told))
        return None

    answers["subscriptions/listen"] = listen


def _notice(name: str, **params: Any) -> bytes:
    frame = {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}
    return msgspec.json.encode(frame)


def listener() -> MemoryPeer:
    answers = opening(PER_REQUEST)
    server = MemoryPeer(answers)
    _acknowledges(server, answers)
    return server


async def test_leaving_the_watch_cancels_its_request() -> None:
    server = listener()
    async with using(Client("c"), await server.start(), PER_REQUEST) as session:
        async with session.watch(tools=True):
            asked = await server.heard("subscriptions/listen")
            assert asked["params"]["notifications"] == {"toolsListChanged": True}
        cancelled = await server.heard("notifications/cancelled")
        assert cancelled["params"]["requestId"] == asked["id"]


@pytest.mark.parametrize("how", ["result", "cancelled", "both"])
async def test_the_watch_ends_when_the_server_ends_it_in_good_order(how: str) -> None:
    server = listener()
    async with (
        using(Client("c"), await server.start(), PER_REQUEST) as session,
        session.watch(tools=True) as changes,
    ):
        id = (await server.heard("subscriptions/listen"))["id"]
        server.say(_notice("tools/list_changed", _meta={KEY: id}))
        result = {"resultType": "complete", "_meta": {KEY: id}}
        if how != "cancelled":
            server.say(msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}))
        if how != "result":
            server.say(_notice("cancelled", requestId=id))
        async with asyncio.timeout(WAIT_S):
            assert [change async for change in changes] == [Change("tools")]


async def test_what_belongs_to_another_subscription_is_not_heard() -> None:
    server = listener()
    async with (
        using(Client("c"), await server.start(), PER_REQUEST) as session,
        session.watch(tools=True) as changes,
    ):
        id = (await server.heard("subscriptions/listen"))["id"]
        server.say(_notice("prompts/list_changed", _meta={KEY: str(id)}))
        server.say(_notice("prompts/list_changed", _meta={KEY: id + 1}))
        server.say(_notice("prompts/list_changed"))
        server.say(_notice("tools/list_changed", _meta={KEY: id}))
        assert await heard(changes, 1) == [Change("tools")]


@listening
async def test_a_server_that_does_not_let_listen_says_so(revision: str) -> None:
    refusal = {"error": {"code": -32601, "message": "no"}}
    server = MemoryPeer({**opening(revision), "subscriptions/listen": lambda params: refusal})
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(McpError) as caught:
            async with session.watch(tools=True):
                pass
    assert caught.value.code == -32601


@listening
async def test_a_server_that_acknowledges_nothing_is_waited_for_no_longer(revision: str) -> None:
    server = MemoryPeer(opening(revision))
    client = Client("c", timeout_s=0.01)
    async with using(client, await server.start(), revision) as session:
        with pytest.raises(RequestTimeout, match="no acknowledgement"):
            async with session.watch(tools=True):
                pass
        assert await server.heard("notifications/cancelled")


# --- a subscription for each resource ---


@subscribing
async def test_a_resource_is_subscribed_to_once_and_let_go_at_the_end(revision: str) -> None:
    asked: list[str] = []
    server = declaring()
    server.hooks.before_subscribe(lambda ctx, params: asked.append(f"+{params.uri}"))
    server.hooks.before_unsubscribe(lambda ctx, params: asked.append(f"-{params.uri}"))
    async with using(Client("c"), server, revision) as session, session.watch("a://1"):
        async with session.watch("a://1", "a://2"):
            pass
        assert asked == ["+a://1", "+a://2", "-a://2"]
    assert asked[3:] == ["-a://1"]
