"""Reconnects of the manager: lost servers are connected again, and calls wait for them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    ChangeWatch,
    Client,
    ClientSession,
    Context,
    HttpError,
    Reconnect,
    RequestTimeout,
    Server,
    ServerConfig,
    SessionLost,
    TransportError,
)
from mcp_gen.core import envelope
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.manager import supervisor
from mcp_gen.session.messages.middleware import CallNext
from mcp_gen.session.messages.sender import DEFAULT_TIMEOUT_S
from mcp_gen.types import ToolAnnotations
from tests.manager.managed_servers import WAIT_S, Wire, managing, named_server
from tests.support.frames import ALL, HANDSHAKE, every_revision
from tests.support.http.loopback import serving

REFUSED = TransportError("nobody is there")


class Held:
    """Server that begins to serve when it is told to `go_on`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def serve(self, transport: Duplex) -> None:
        self.begun.set()
        await self.go_on.wait()
        await self.server.serve(transport)


class Cut:
    """Server that disconnects during a call, `times` times."""

    def __init__(self, times: int = 1, **annotations: Any) -> None:
        self.server = named_server("cut")
        self.wire = Wire(self.server)
        self.times = times
        self.calls = 0
        hints = ToolAnnotations(**annotations)
        self.server.tool(annotations=hints)(self.go)
        self.server.resource("cut://here")(self.here)

    async def go(self) -> str:
        return await self._answer()

    async def here(self) -> str:
        return await self._answer()

    async def _answer(self) -> str:
        self.calls += 1
        if self.times:
            self.times -= 1
            await self.wire.cut()
            return "too late"
        return "here"


@every_revision
async def test_a_server_that_went_away_is_connected_to_again_in_the_same_session(
    revision: str,
) -> None:
    wire = Wire(named_server("left", revisions=(revision,)))
    async with managing({"left": wire}) as (manager, told):
        session = await manager.session("left")
        await wire.cut()
        again = await told.next("reconnecting")
        await told.next("reconnected")
        assert (again.attempt, type(again.error)) == (1, SessionLost)
        assert await manager.session("left") is session
        assert await manager.call_tool("mcp__left__who", returns=str) == "left"
    assert wire.dials >= 2


async def test_a_call_waits_while_the_server_is_away() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}) as (manager, _):
        await wire.cut()
        calls = [manager.call_tool("mcp__left__who", {"text": str(n)}) for n in range(5)]
        answers = await asyncio.gather(*calls)
    assert [one.content[0].text for one in answers] == [f"left{n}" for n in range(5)]


async def test_the_lists_of_a_server_that_is_away_stay_as_they_were() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}, reconnect=Reconnect(first_s=60)) as (manager, told):
        before = await manager.tools()
        await wire.cut()
        await told.next("reconnecting")
        assert await manager.tools() == before
        assert (await manager.reconnect("left")).state == "connected"


async def test_a_connection_that_is_nearly_there_is_replaced_and_the_new_one_is_waited_for() -> (
    None
):
    server, asked, go_on = named_server("left"), asyncio.Event(), asyncio.Event()

    async def slow_to_watch(ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        if method == "subscriptions/listen" and wire.dials == 1:
            asked.set()
            await go_on.wait()
            raise REFUSED
        return await call_next(params)

    server.add_middleware(slow_to_watch)
    wire = Wire(server)
    async with managing({"left": wire}, start_wait_s=0.01) as (manager, told):
        async with asyncio.timeout(WAIT_S):
            await asked.wait()
            again = await manager.reconnect("left")
        assert (again.state, again.error, wire.dials) == ("connected", None, 2)
        assert [one.kind for one in told.events] == ["reconnecting", "connected"]
        go_on.set()


async def test_a_server_that_was_given_up_lists_nothing_while_it_is_connected_to_anew() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}, reconnect=None) as (manager, told):
        assert len(await manager.tools()) == 1
        await wire.cut()
        await told.next("reconnect_failed")
        held = wire.server = Held(named_server("left"))
        connecting = asyncio.create_task(manager.reconnect("left"))
        async with asyncio.timeout(WAIT_S):
            await held.begun.wait()
        assert (manager.servers()["left"].state, await manager.tools()) == ("connecting", [])
        held.go_on.set()
        assert (await connecting).state == "connected"
        assert len(await manager.tools()) == 1


async def test_a_session_that_is_lost_is_not_asked_for_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}) as (manager, told):
        known = await manager.tools()
        wire.server.add_tool(lambda: "new", name="new")
        await told.next("tools_changed")
        with monkeypatch.context() as patch:
            # As in the turn of the loop before the manager sees the loss.
            patch.setattr(ClientSession, "is_lost", True)
            assert await manager.tools() == known
        assert len(await manager.tools()) == len(known) + 1


async def test_the_lists_of_a_server_that_came_back_are_those_that_it_has_now() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}) as (manager, told):
        assert len(await manager.tools()) == 1
        wire.server = Server("left")
        await wire.cut()
        await told.next("reconnected")
        assert await manager.tools() == []


async def test_a_session_alone_does_not_start_a_server_anew() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}, reconnect=Reconnect(first_s=60)) as (manager, told):
        session = await manager.session("left")
        await wire.cut()
        await told.next("reconnecting")
        with pytest.raises(SessionLost):
            await session.call_tool("who")
    assert wire.dials == 1


@pytest.mark.parametrize(("stable_s", "delays_ms"), [(60, [2, 4, 8, 8]), (0, [1, 1, 1, 1])])
async def test_a_server_that_does_not_hold_is_taken_up_later_each_time(
    stable_s: float, delays_ms: list[int]
) -> None:
    wire = Wire(named_server("left"))
    policy = Reconnect(first_s=0.001, jitter=0, stable_s=stable_s)
    async with managing({"left": wire}, reconnect=policy) as (_, told):
        delays: list[int] = []
        for _ in delays_ms:
            await wire.cut()
            delays.append(round(1000 * (await told.next("reconnecting")).delay_s))
            await told.next("reconnected")
    assert delays == delays_ms


async def test_what_changed_while_nobody_could_tell_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_PAUSE_S", 0)
    server = named_server("left")
    ends = asyncio.Event()
    begun: list[ChangeWatch] = []

    class Ends(ChangeWatch):
        """Server whose first stream ends when the test says so."""

        async def __aenter__(self) -> ChangeWatch:
            begun.append(self)
            return await super().__aenter__()

        async def __anext__(self) -> Any:
            if self is begun[0]:
                await ends.wait()
                raise StopAsyncIteration
            again.set()
            return await super().__anext__()

    again = asyncio.Event()
    watched = ClientSession.watch

    def watch(session: ClientSession, *uris: str, **kinds: bool) -> ChangeWatch:
        made = watched(session, *uris, **kinds)
        made.__class__ = Ends
        return made

    monkeypatch.setattr(ClientSession, "watch", watch)
    async with managing({"left": server}) as (manager, _):
        assert len(await manager.tools()) == 1
        manager._changed = lambda *_: None  # type: ignore[method-assign]
        server.remove_tool("who")
        ends.set()
        await asyncio.wait_for(again.wait(), 30)
        assert await manager.tools() == []


async def test_what_was_only_to_be_read_is_read_again() -> None:
    cut = Cut()
    async with managing({"cut": cut.wire}) as (manager, _):
        result = await manager.read_resource("cut://here")
    assert (result.contents[0].text, cut.calls) == ("here", 2)


async def test_a_call_is_made_again_where_that_is_asked_for_and_does_no_harm() -> None:
    cut = Cut(idempotent_hint=True)
    async with managing({"cut": cut.wire}) as (manager, _):
        assert await manager.call_tool("mcp__cut__go", returns=str, retry=True) == "here"
    assert cut.calls == 2


@pytest.mark.parametrize(("annotations", "retry"), [({"idempotent_hint": True}, False), ({}, True)])
async def test_a_call_is_not_made_again_otherwise(annotations: dict[str, Any], retry: bool) -> None:
    cut = Cut(**annotations)
    async with managing({"cut": cut.wire}) as (manager, told):
        with pytest.raises(SessionLost):
            await manager.call_tool("mcp__cut__go", retry=retry)
        await told.next("reconnected")
    assert cut.calls == 1


async def test_a_call_is_made_again_only_once() -> None:
    cut = Cut(times=2, idempotent_hint=True)
    async with managing({"cut": cut.wire}) as (manager, _):
        with pytest.raises(SessionLost):
            await manager.call_tool("mcp__cut__go", retry=True)
    assert cut.calls == 2


async def test_after_so_many_vain_attempts_a_server_is_given_up() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire, "right": named_server("right")}) as (manager, told):
        wire.refusal = REFUSED
        await wire.cut()
        given_up = await told.next("reconnect_failed")
        assert (given_up.attempt, given_up.error) == (3, REFUSED)
        with pytest.raises(SessionLost, match="left is failed: nobody is there"):
            await manager.call_tool("mcp__left__who")
        assert [one.server for one in await manager.tools()] == ["right"]
        wire.refusal = None
        assert (await manager.reconnect("left")).state == "connected"
        assert len(await manager.tools()) == 2
    attempts = [one.attempt for one in told.events if one.kind == "reconnecting"]
    assert attempts == [1, 2, 3]


async def test_a_server_that_is_not_there_yet_is_tried_again() -> None:
    wire = Wire(named_server("late"))
    wire.refusal = REFUSED
    async with managing({"late": wire}, reconnect=Reconnect(first_s=60)) as (manager, told):
        assert manager.servers()["late"].state == "reconnecting"
        wire.refusal = None
        await manager.reconnect("late")
        assert await manager.call_tool("mcp__late__who", returns=str) == "late"
    assert [kind for kind, _ in told.kinds] == ["connect_failed", "reconnecting", "connected"]


async def test_only_the_first_failure_to_connect_is_told_as_one() -> None:
    wire = Wire(None)
    wire.refusal = REFUSED
    async with managing({"bad": wire}) as (_, told):
        await told.next("reconnect_failed")
    kinds = [kind for kind, _ in told.kinds]
    assert kinds == ["connect_failed", *["reconnecting"] * 3, "reconnect_failed"]


@pytest.mark.parametrize(
    ("error", "tried"),
    [
        (HttpError("no", 401), 1),
        (HttpError("no", 404), 1),
        (HttpError("no", 429), 4),
        (HttpError("no", 503), 4),
        (SessionLost("gone"), 4),
        (RequestTimeout("slow"), 4),
    ],
)
async def test_only_what_may_be_otherwise_another_time_is_tried_again(
    error: Exception, tried: int, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(None)
    wire.refusal = error
    async with managing({"bad": wire}) as (manager, told):
        await told.next("connect_failed" if tried == 1 else "reconnect_failed")
        assert manager.servers()["bad"].state == "failed"
    assert len([one for one in told.events if one.kind == "reconnecting"]) == tried - 1
    assert "in a way it should not" not in caplog.text


@pytest.mark.parametrize(
    ("error", "logged"),
    [(ZeroDivisionError(), ["bad: connecting failed in a way it should not"]), (REFUSED, [])],
    ids=repr,
)
async def test_an_error_that_is_none_of_connecting_is_logged_with_its_place(
    error: Exception, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(None)
    wire.refusal = error
    async with managing({"bad": wire}, reconnect=None) as (manager, told):
        await told.next("connect_failed")
        assert manager.servers()["bad"].error is error
    said = [one for one in caplog.records if one.levelname == "ERROR"]
    assert [one.message for one in said] == logged
    assert [one.exc_info[1] for one in said if one.exc_info] == [error] * len(logged)


async def test_a_command_that_cannot_be_started_is_not_tried_again(tmp_path: Path) -> None:
    missing = ServerConfig(command=str(tmp_path / "missing"))
    async with managing({"bad": missing}) as (manager, told):
        await told.next("connect_failed")
        assert manager.servers()["bad"].state == "failed"
    assert [kind for kind, _ in told.kinds] == ["connect_failed"]


async def test_a_command_that_ends_before_it_answers_is_tried_again() -> None:
    ends = ServerConfig(command=sys.executable, args=["-c", "pass"])
    async with managing({"bad": ends}) as (manager, told):
        given_up = await told.next("reconnect_failed")
        assert (given_up.attempt, manager.servers()["bad"].state) == (3, "failed")


async def test_a_call_waits_while_a_server_that_was_given_up_is_connected_to_anew() -> None:
    wire = Wire(None)
    wire.refusal = REFUSED
    calls: list[asyncio.Task[str]] = []

    class CalledAtOnce:
        async def serve(self, transport: Duplex) -> None:
            call = manager.call_tool("mcp__late__who", returns=str)
            calls.append(asyncio.create_task(call))
            await named_server("late").serve(transport)

    async with managing({"late": wire}, reconnect=None) as (manager, _):
        assert manager.servers()["late"].state == "failed"
        wire.refusal, wire.server = None, CalledAtOnce()
        await manager.reconnect("late")
        assert await asyncio.gather(*calls) == ["late"]


@pytest.mark.parametrize("turns", range(1, 6))
async def test_a_manager_can_be_closed_in_the_moment_in_which_it_is_to_reconnect(
    turns: int,
) -> None:
    wire = Wire(named_server("left"))
    later = Reconnect(first_s=60, max_s=60)
    async with managing({"left": wire}, reconnect=later) as (manager, told):
        await manager.session("left")
        await wire.cut()
        await told.next("reconnecting")
        reconnecting = asyncio.create_task(manager.reconnect("left"))
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(WAIT_S):
            await manager.aclose()
            await asyncio.wait([reconnecting])


async def test_without_a_policy_nothing_is_tried_again() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}, reconnect=None) as (manager, told):
        await wire.cut()
        await told.next("reconnect_failed")
        assert manager.servers()["left"].state == "failed"
    assert wire.dials == 1


async def test_a_transport_that_cannot_be_made_again_is_given_up() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire()}) as (_, told):
        await wire.cut()
        await told.next("reconnect_failed")


async def test_a_server_that_is_connected_can_be_connected_to_anew() -> None:
    wire = Wire(named_server("left"))
    async with managing({"left": wire}) as (manager, told):
        assert (await manager.reconnect("left")).state == "connected"
        await told.next("reconnected")
        assert await manager.call_tool("mcp__left__who", returns=str) == "left"
    assert wire.dials == 2


async def test_without_a_timeout_in_the_configuration_calls_have_that_of_all_clients() -> None:
    async with managing({"left": named_server("left")}) as (manager, _):
        assert (await manager.session("left")).default_timeout_s == DEFAULT_TIMEOUT_S


async def test_a_list_that_a_lost_connection_interrupted_is_fetched_once_there_is_another() -> None:
    server = named_server("left")
    wire, cuts = Wire(server), [1]

    @server.hooks.before_list_tools
    async def cut(ctx: Context, params: Any) -> None:
        if cuts:
            cuts.pop()
            await wire.cut()

    async with managing({"left": wire}) as (manager, told):
        assert await manager.tools() == []
        await told.next("reconnected")
        assert len(await manager.tools()) == 1


async def test_a_timeout_of_the_configuration_holds_after_a_reconnect_too() -> None:
    wire = Wire(named_server("left"))
    servers = {"left": ServerConfig(target=wire, timeout_s=7.0)}
    async with managing(servers) as (manager, told):
        session = await manager.session("left")
        assert session.default_timeout_s == 7.0
        await wire.cut()
        await told.next("reconnected")
        assert session.default_timeout_s == 7.0


async def test_connections_that_ended_are_not_kept() -> None:
    wire = Wire(named_server("left"))
    client = Client("test")
    async with client, managing({"left": wire}, client=client) as (_, told):
        for _ in range(5):
            await wire.cut()
            await told.next("reconnected")
        assert len(client._links) == 1


# --- over HTTP, without connections ---


@every_revision
async def test_an_http_server_that_was_away_is_used_again(revision: str) -> None:
    older = mcp_wire.profile(revision).http_transport == "sse_pair"

    def app() -> Any:
        server = named_server("web", revisions=(revision,))
        return server.asgi(legacy_sse_path="/sse" if older else None)

    async with AsyncExitStack() as first:
        web = await first.enter_async_context(serving(app()))
        url = f"{web.origin}/sse" if older else web.url
        often = Reconnect(first_s=0.02, factor=1, limit=500)
        async with managing({"web": url}, reconnect=often) as (manager, _):
            assert await manager.call_tool("mcp__web__who", returns=str) == "web"
            await first.aclose()
            reading = asyncio.create_task(manager.get_prompt("mcp__web__ask", {"topic": "tea"}))
            async with serving(app(), port=web.port):
                said: Any = (await reading).messages[0].content
                assert said.text == "web on tea"
                assert await manager.call_tool("mcp__web__who", returns=str) == "web"
                # The manager closes before its server does.
                await manager.aclose()


async def test_an_http_server_that_hung_up_once_keeps_its_session() -> None:
    server = named_server("web")

    @server.tool
    async def slow(ctx: Context) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    started = asyncio.Event()
    async with serving(server.asgi()) as web, managing({"web": web.url}) as (manager, told):
        session = await manager.session("web")
        manager._servers["web"]._break(SessionLost("the stream of one answer ended"))
        slow_call = asyncio.create_task(session.call_tool("slow"))
        await asyncio.wait_for(started.wait(), 30)
        await told.next("reconnected")
        assert not slow_call.done()
        slow_call.cancel()
        await asyncio.wait([slow_call])


@pytest.mark.parametrize(("status", "openings"), [(500, 1), (403, 2), (200, 2)])
async def test_a_session_whose_ping_is_refused_is_opened_anew_unless_the_server_has_failed(
    status: int, openings: int
) -> None:
    app, refusals = named_server("web").asgi(), [status]

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        message = await receive() if scope["type"] == "http" else {}
        if b'"ping"' in message.get("body", b"") and refusals:
            id = msgspec.json.decode(message["body"])["id"]
            error = envelope.failure(id, envelope.ErrorObject(-32603, "no"))
            # With an error status too, it would be a JSON-RPC error and none of HTTP.
            body = error if refusals == [200] else b""
            headers = [(b"content-type", b"application/json")]
            start = {"type": "http.response.start", "status": refusals.pop(), "headers": headers}
            await send(start)
            await send({"type": "http.response.body", "body": body})
            return
        messages = [message] if message else []

        async def replayed() -> Any:
            return messages.pop() if messages else await receive()

        await app(scope, replayed, send)

    async with serving(refusing) as web:
        config = ServerConfig(url=web.url, revision=HANDSHAKE)
        async with managing({"web": config}) as (manager, told):
            await manager.session("web")
            manager._servers["web"]._break(SessionLost("the stream of one answer ended"))
            await told.next("reconnected")
            assert await manager.call_tool("mcp__web__who", returns=str) == "web"
        assert refusals == []
        assert len(web.asked("initialize")) == openings


async def test_an_older_server_that_hangs_up_on_an_unknown_method_is_connected_to() -> None:
    (older,) = [one for one in ALL if mcp_wire.profile(one).http_transport == "sse_pair"]
    app = named_server("web", revisions=(older,)).asgi(legacy_sse_path="/sse")
    disconnected = asyncio.Event()

    async def hanging_up(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") == "GET":
            disconnected.clear()

            async def until_disconnected() -> Any:
                await disconnected.wait()
                return {"type": "http.disconnect"}

            await app(scope, until_disconnected, send)
            await send({"type": "http.response.body"})
            return
        message = await receive()
        if b"server/discover" in message.get("body", b""):
            disconnected.set()
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body"})
            return
        messages = [message]

        async def replayed() -> Any:
            return messages.pop() if messages else await receive()

        await app(scope, replayed, send)

    async with serving(hanging_up) as web:
        config = ServerConfig(url=f"{web.origin}/sse", transport="sse")
        once = Reconnect(limit=0)
        async with managing({"web": config}, reconnect=once) as (manager, _):
            assert await manager.call_tool("mcp__web__who", returns=str) == "web"
            disconnected.set()
        assert len(web.by("GET")) == 2
