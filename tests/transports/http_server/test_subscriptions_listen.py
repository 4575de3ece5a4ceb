"""`subscriptions/listen` over HTTP: the request lasts as long as its stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Server
from mcp_gen.transports.http_server import app as app_module
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import Open, WebClient, surfing
from tests.support.peers.raw import WAIT_S

PEER = Speaker(PER_REQUEST)
SOON_S = 5.0
KEY = str(PEER.profile.subscription_id_key)


def a_server() -> Server:
    server = Server("news")

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


def listen(client: WebClient, id: Any = 1, **headers: str) -> Open:
    wanted = {"notifications": {"toolsListChanged": True}}
    return client.post(PEER.request(id, "subscriptions/listen", wanted), **headers)


async def acknowledged(opened: Open) -> Any:
    frame = await opened.frame()
    assert frame["method"] == "notifications/subscriptions/acknowledged"
    return frame


async def told(opened: Open) -> Any:
    frame = await opened.frame()
    assert frame["method"] == "notifications/tools/list_changed"
    return frame


async def test_a_stream_begins_with_the_acknowledgement_and_goes_on_with_news() -> None:
    server = a_server()
    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = listen(client, "seven")
        frame = await acknowledged(opened)
        assert frame["params"]["notifications"] == {"toolsListChanged": True}
        server.notify.tool_list_changed()
        assert (await told(opened))["params"]["_meta"] == {KEY: "seven"}


async def test_every_listener_hears_of_a_change() -> None:
    server = a_server()
    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = [listen(client, id) for id in range(20)]
        for one in opened:
            await acknowledged(one)
        server.notify.tool_list_changed()
        ids = [(await told(one))["params"]["_meta"][KEY] for one in opened]
    assert ids == list(range(20))


async def test_a_change_on_another_thread_is_told() -> None:
    server = a_server()
    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        await asyncio.to_thread(server.notify.tool_list_changed)
        await told(opened)


async def test_a_listener_that_hangs_up_is_forgotten() -> None:
    server = a_server()
    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        await opened.watched()
        opened.hang_up()
        await asyncio.wait([opened.task], timeout=WAIT_S)
        assert opened.task.exception() is None
        assert server.notify._listeners._by_channel == {}


async def test_a_silent_stream_shows_signs_of_life() -> None:
    async with surfing(a_server().asgi(keep_alive_s=0.01), PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        await opened.comments(3)


async def test_a_listener_that_does_not_read_is_cut_off() -> None:
    server = a_server()
    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        opened.reading.clear()
        async with asyncio.timeout(WAIT_S):
            while server.notify._listeners._by_channel:
                server.notify.tool_list_changed()
                await asyncio.sleep(0)
        opened.reading.set()
        reply = await opened.whole()
    assert len(reply.body) < 3_000_000
    assert not [event for event in reply.events if event.data and "result" in event.json]


async def test_listening_ends_with_an_answer_when_the_app_ends() -> None:
    app = a_server().asgi()
    async with surfing(app, PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        await app.drain()
        answer = await opened.frame()
        assert answer["id"] == 1
        assert answer["result"]["_meta"][KEY] == 1
        await opened.whole()


async def test_listening_that_does_not_end_when_the_app_ends_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app_module, "LAST_WORDS_S", 0.01)
    server, cancelled = a_server(), asyncio.Event()

    @server.middleware
    async def linger(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        await call_next(params)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    app = server.asgi()
    async with surfing(app, PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        await app.drain()
        await asyncio.wait_for(cancelled.wait(), SOON_S)
        await opened.ended()


async def test_a_stream_that_the_server_ends_has_its_result_and_no_cancellation() -> None:
    server, cancelled = a_server(), list[Any]()

    @server.hooks.outbound.on_cancelled
    async def hear(ctx: Any, params: Any) -> None:
        cancelled.append(params.request_id)

    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = listen(client)
        await acknowledged(opened)
        server.notify.end_listening()
        reply = await opened.whole()
    assert "result" in reply.events[-1].json
    assert cancelled == []


async def test_an_app_that_ends_waits_for_what_is_being_answered() -> None:
    server, go_on = a_server(), asyncio.Event()

    @server.tool
    async def wait() -> str:
        await go_on.wait()
        return "waited"

    app = server.asgi()
    async with surfing(app, PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait"))
        await opened.watched()
        await app.drain()
        assert not opened.task.done()
        go_on.set()
        assert (await opened.whole()).status == 200


async def test_who_takes_no_stream_cannot_listen() -> None:
    async with surfing(a_server().asgi(), PER_REQUEST) as client:
        reply = await listen(client, accept="application/json").whole()
    assert (reply.status, reply.json["error"]["code"]) == (404, -32601)
