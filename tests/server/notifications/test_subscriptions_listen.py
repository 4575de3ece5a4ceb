"""`subscriptions/listen`: acknowledged first, filtered, and closed in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, McpError, PeerLimits, Server
from mcp_gen.session.duplex.server import GRACE_S
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import headers_of, request
from tests.support.peers.raw import RawClient, talking

LISTENING = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).listen]
NOT_LISTENING = [one for one in mcp_wire.REVISIONS if one not in LISTENING]
every_listening = pytest.mark.parametrize("revision", LISTENING)

KEY = "io.modelcontextprotocol/subscriptionId"
ALL = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["a://1"],
}


def declaring(*features: Any, **options: Any) -> Server:
    return Server("listen", declare=features or ("tools", "prompts", "resources"), **options)


def nothing() -> None:
    """A tool or a prompt."""


def listen(client: RawClient, id: Any, **wanted: Any) -> None:
    params = {"notifications": wanted}
    client.send(client.speaker.request(id, "subscriptions/listen", params))


@asynccontextmanager
async def listening(
    server: Server, revision: str, id: Any = 1, **wanted: Any
) -> AsyncIterator[RawClient]:
    """Return a client with one acknowledged `subscriptions/listen` request."""
    async with talking(server, revision) as client:
        listen(client, id, **wanted)
        acknowledged = await client.next()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        yield client


async def heard(client: RawClient) -> list[str]:
    """Return the methods received before the response to a new request."""
    client.send(client.speaker.request("now", "server/discover"))
    methods: list[str] = []
    while (frame := await client.next()).get("id") != "now":
        methods.append(frame["method"])
    return methods


def change_everything(server: Server) -> None:
    server.notify.tool_list_changed()
    server.notify.prompt_list_changed()
    server.notify.resource_list_changed()
    server.notify.resource_updated("a://1")
    server.notify.resource_updated("a://2")


# --- acknowledged ---


@every_listening
@pytest.mark.parametrize("id", [7, "7", 0, "", -1])
async def test_the_first_message_acknowledges_with_the_id_of_the_request(
    revision: str, id: Any
) -> None:
    async with talking(declaring(), revision) as client:
        listen(client, id, **ALL)
        assert await client.next() == {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": ALL, "_meta": {KEY: id}},
        }


@every_listening
@pytest.mark.parametrize(
    ("features", "granted"),
    [
        (("tools",), {"toolsListChanged"}),
        (("prompts",), {"promptsListChanged"}),
        (("resources",), {"resourcesListChanged", "resourceSubscriptions"}),
        (("logging",), set[str]()),
    ],
    ids=lambda one: "-".join(sorted(one)),
)
async def test_only_what_is_declared_is_granted(
    revision: str, features: Any, granted: set[str]
) -> None:
    async with talking(declaring(*features), revision) as client:
        listen(client, 1, **ALL)
        params = (await client.next())["params"]
        assert params["notifications"] == {key: ALL[key] for key in granted}


@every_listening
async def test_what_is_not_wanted_is_not_granted(revision: str) -> None:
    async with talking(declaring(), revision) as client:
        listen(client, 1, toolsListChanged=False, promptsListChanged=True)
        assert (await client.next())["params"]["notifications"] == {"promptsListChanged": True}


@every_listening
async def test_what_was_not_granted_is_not_told_when_it_is_declared_later(revision: str) -> None:
    server = declaring("prompts")
    async with listening(server, revision, **ALL) as client:
        server.add_tool(nothing)
        server.add_prompt(nothing)
        await asyncio.sleep(0)
        assert await heard(client) == ["notifications/prompts/list_changed"]


@pytest.mark.parametrize("revision", NOT_LISTENING)
async def test_older_revisions_have_no_such_request(revision: str) -> None:
    async with talking(declaring(), revision) as client:
        listen(client, 1, **ALL)
        assert (await client.answer(1))["error"]["code"] == -32601


@every_listening
async def test_a_request_without_a_filter_is_invalid_params(revision: str) -> None:
    async with talking(declaring(), revision) as client:
        answer = await client.ask(client.speaker.request(1, "subscriptions/listen"))
        assert answer["error"]["code"] == -32602


# --- notifications ---


@every_listening
@pytest.mark.parametrize(
    ("wanted", "methods"),
    [
        ({"toolsListChanged": True}, ["notifications/tools/list_changed"]),
        ({"promptsListChanged": True}, ["notifications/prompts/list_changed"]),
        ({"resourcesListChanged": True}, ["notifications/resources/list_changed"]),
        ({"resourceSubscriptions": ["a://1"]}, ["notifications/resources/updated"]),
        ({"resourceSubscriptions": ["a://1", "a://2"]}, ["notifications/resources/updated"] * 2),
        ({"resourceSubscriptions": ["a://1"] * 2}, ["notifications/resources/updated"]),
        ({"resourceSubscriptions": []}, []),
        ({}, []),
    ],
    ids=str,
)
async def test_exactly_what_was_wanted_is_told(
    revision: str, wanted: Any, methods: list[str]
) -> None:
    server = declaring()
    async with listening(server, revision, **wanted) as client:
        change_everything(server)
        await asyncio.sleep(0)
        assert await heard(client) == methods


@every_listening
@pytest.mark.parametrize("id", [7, "7"])
async def test_every_notification_has_the_id_of_the_request(revision: str, id: Any) -> None:
    server = declaring()
    async with listening(server, revision, id, **ALL) as client:
        change_everything(server)
        told = [(await client.next())["params"] for _ in range(4)]
        assert told == [{"_meta": {KEY: id}}] * 3 + [{"_meta": {KEY: id}, "uri": "a://1"}]


@every_listening
async def test_adding_a_tool_is_told(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, **ALL) as client:
        for i in range(10):
            server.add_tool(nothing, name=f"t{i}")
        await asyncio.sleep(0)
        assert await heard(client) == ["notifications/tools/list_changed"]


@every_listening
async def test_another_thread_may_add(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, **ALL) as client:
        await asyncio.to_thread(server.add_tool, nothing)
        assert (await client.next())["method"] == "notifications/tools/list_changed"


@every_listening
async def test_a_tool_that_changes_the_list_is_told_of_on_the_listening_request(
    revision: str,
) -> None:
    server = declaring()

    @server.tool
    def grow() -> None:
        server.add_tool(nothing)

    async with listening(server, revision, **ALL) as client:
        client.send(client.speaker.call(2, "grow"))
        frames = [await client.next(), await client.next()]
        told = next(frame for frame in frames if "method" in frame)
        assert told["params"]["_meta"] == {KEY: 1}


@every_listening
async def test_several_requests_of_one_client_are_told_each_under_its_id(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 1, toolsListChanged=True) as client:
        listen(client, "1", toolsListChanged=True, promptsListChanged=True)
        await client.next()
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        told = [await client.next() for _ in range(3)]
        assert [(one["method"], one["params"]["_meta"][KEY]) for one in told] == [
            ("notifications/tools/list_changed", 1),
            ("notifications/tools/list_changed", "1"),
            ("notifications/prompts/list_changed", "1"),
        ]


@every_listening
async def test_sessions_and_listeners_are_told_of_the_same_change(revision: str) -> None:
    server = declaring()
    async with (
        talking(server, HANDSHAKE) as session,
        listening(server, revision, **ALL) as client,
    ):
        await session.ask(session.speaker.request(1, "tools/list"))
        server.notify.tool_list_changed()
        assert "params" not in await session.next()
        assert (await client.next())["params"] == {"_meta": {KEY: 1}}


@every_listening
async def test_many_listeners_are_told(revision: str) -> None:
    server = declaring(peer_limits=PeerLimits(max_listens=500))
    async with listening(server, revision, 0, **ALL) as client:
        for id in range(1, 500):
            listen(client, id, toolsListChanged=True)
            await client.next()
        server.notify.tool_list_changed()
        told = [(await client.next())["params"]["_meta"][KEY] for _ in range(500)]
        assert told == list(range(500))


@every_listening
async def test_listeners_on_another_loop_are_told_there(revision: str) -> None:
    server = declaring()
    ready, done = threading.Event(), threading.Event()
    came: list[list[str]] = []

    async def elsewhere() -> None:
        async with listening(server, revision, **ALL) as client:
            ready.set()
            methods = [(await client.next())["method"]]
            came.append(methods + await heard(client))
            done.set()

    thread = threading.Thread(target=asyncio.run, args=(elsewhere(),))
    thread.start()
    async with listening(server, revision, **ALL) as client:
        assert await asyncio.to_thread(ready.wait, 5)
        server.notify.tool_list_changed()
        methods = [(await client.next())["method"]]
        assert await asyncio.to_thread(done.wait, 5)
        came.append(methods + await heard(client))
    thread.join()
    assert came == [["notifications/tools/list_changed"]] * 2


# --- hooks ---


@every_listening
async def test_hooks_see_what_is_told(revision: str) -> None:
    server = declaring()
    seen: list[Any] = []

    @server.hooks.outbound.on_subscriptions_acknowledged
    def acknowledged(ctx: Context, params: Any) -> None:
        seen.append((ctx.request_id, params.notifications.resource_subscriptions))

    @server.hooks.outbound.on_resource_updated
    async def updated(ctx: Context, params: Any) -> None:
        await asyncio.sleep(0)
        seen.append((ctx.request_id, params.uri, params.meta))

    async with listening(server, revision, 5, **ALL) as client:
        server.notify.resource_updated("a://1")
        assert (await client.next())["params"] == {"uri": "a://1", "_meta": {KEY: 5}}
    assert seen == [(5, ["a://1"]), (5, "a://1", {KEY: 5})]


@every_listening
async def test_sending_middleware_is_around_all_that_is_told(revision: str) -> None:
    server = declaring()
    seen: list[Any] = []

    @server.sending_middleware
    async def look(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        seen.append((ctx.request_id, method))
        return await call_next(params)

    async with listening(server, revision, 5, **ALL) as client:
        server.notify.tool_list_changed()
        assert (await client.next())["params"] == {"_meta": {KEY: 5}}
        server.notify.end_listening()
        assert "result" in await client.next()
        cancelled = (await client.next())["method"]
    assert seen == [
        (5, "notifications/subscriptions/acknowledged"),
        (5, "notifications/tools/list_changed"),
        (5, cancelled),
    ]


@every_listening
async def test_what_is_cancelled_while_a_hook_runs_is_not_sent(revision: str) -> None:
    server = declaring()
    begun = asyncio.Event()

    @server.hooks.outbound.on_tool_list_changed
    async def hook(ctx: Context, params: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with listening(server, revision, 5, **ALL) as client:
        server.notify.tool_list_changed()
        await begun.wait()
        client.send(client.speaker.cancel(5))
        assert await heard(client) == []


@every_listening
async def test_hooks_around_the_request_may_refuse_it(revision: str) -> None:
    server = declaring()

    @server.hooks.before_subscriptions_listen
    async def refuse(ctx: Context, params: Any) -> None:
        raise McpError(-32000, "no")

    async with talking(server, revision) as client:
        listen(client, 1, **ALL)
        assert (await client.next())["error"]["message"] == "no"


# --- ended ---


@every_listening
async def test_a_request_that_is_cancelled_is_told_nothing_more(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        client.send(client.speaker.cancel(5))
        await heard(client)
        change_everything(server)
        await asyncio.sleep(0)
        assert await heard(client) == []


@every_listening
async def test_nothing_is_sent_in_the_turn_in_which_it_is_cancelled(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        client.send(client.speaker.cancel(5))
        # After the delivery: the cancelled task has not ended yet.
        asyncio.get_running_loop().call_soon(server.notify.tool_list_changed)
        assert await heard(client) == []


@every_listening
async def test_an_id_may_be_used_again_after_its_request_was_cancelled(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        client.send(client.speaker.cancel(5))
        await heard(client)
        listen(client, 5, toolsListChanged=True)
        await client.next()
        server.notify.tool_list_changed()
        await asyncio.sleep(0)
        assert await heard(client) == ["notifications/tools/list_changed"]


@every_listening
async def test_the_server_ends_it_with_a_result_and_says_that_it_is_torn_down(
    revision: str,
) -> None:
    server = declaring()
    async with listening(server, revision, "five", **ALL) as client:
        server.notify.end_listening()
        result = (await client.next())["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"][KEY] == "five"
        assert await client.next() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "five"},
        }
        change_everything(server)
        await asyncio.sleep(0)
        assert await heard(client) == []


@every_listening
async def test_the_result_comes_first_though_hooks_look_at_it(revision: str) -> None:
    server = declaring()
    cancelled: list[Any] = []

    @server.hooks.after_subscriptions_listen
    async def look(ctx: Context, params: Any, result: Any) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    @server.hooks.outbound.on_cancelled
    async def hear(ctx: Context, params: Any) -> None:
        cancelled.append(params.request_id)

    async with listening(server, revision, 5, **ALL) as client:
        server.notify.end_listening()
        assert "result" in await client.next()
        assert (await client.next())["method"] == "notifications/cancelled"
    assert cancelled == [5]


@every_listening
async def test_other_threads_may_end_it(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        await asyncio.to_thread(server.notify.end_listening)
        assert "result" in await client.next()


@every_listening
async def test_a_server_that_ends_a_session_answers_at_once(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        (session,) = server.sessions()
        session.end()
        async with asyncio.timeout(GRACE_S / 2):
            assert "result" in await client.answer(5)


@every_listening
async def test_a_client_that_hangs_up_is_not_waited_for(revision: str) -> None:
    server = declaring()
    async with asyncio.timeout(GRACE_S / 2):
        async with listening(server, revision, 5, **ALL):
            pass
    change_everything(server)


@every_listening
async def test_nothing_is_kept_of_a_request_that_has_ended(revision: str) -> None:
    server = declaring()
    async with listening(server, revision, 5, **ALL) as client:
        client.send(client.speaker.cancel(5))
        await heard(client)
        listeners = server.notify._listeners
        assert (listeners._by_topic, listeners._by_channel) == ({}, {})


@every_listening
async def test_a_transport_that_carries_only_answers_has_no_such_request(revision: str) -> None:
    speaker = Speaker(revision)
    message = speaker.request(1, "subscriptions/listen", {"notifications": ALL})
    headers = {**headers_of(speaker, message), "accept": "application/json"}
    reply = await request(declaring().asgi(), message, headers)
    assert reply.json["error"]["code"] == -32601
