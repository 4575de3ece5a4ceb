"""A session is at home at every node: calls, changes, its end, its owner and its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen import Context, Server, SessionState
from mcp_gen.auth import MemoryProxyStore, OAuthProxy
from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.stores.state import MemoryStateStore, StateStore
from mcp_gen.session.cluster import link
from tests.cluster.sessions.nodes import RoamingClient, eventually, nodes_of, plain_server, texts_of
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import begin, end, request
from tests.support.peers.raw import WAIT_S


async def recalls(client: RoamingClient, key: str, value: str) -> None:
    """Wait until a node has heard of a value, with a time limit."""
    async with asyncio.timeout(WAIT_S):
        while True:
            reply = await client.ask(client.speaker.call(20, "recall", key=key))
            if texts_of(reply.json) == [value]:
                return


@with_sessions
async def test_a_session_is_answered_by_every_node(revision: str) -> None:
    async with nodes_of(plain_server, 3) as nodes:
        client = await nodes.client(revision)
        said: list[str] = []
        for number, app in enumerate(nodes.apps):
            reply = await client.at(app).ask(client.speaker.call(number, "where"))
            said += texts_of(reply.json)
        assert said == ["0", "1", "2"]


async def test_a_session_ended_at_one_node_is_unknown_at_all() -> None:
    async with nodes_of(plain_server, 3) as nodes:
        client = await nodes.client()
        for number, app in enumerate(nodes.apps[:2]):
            await client.at(app).ask(client.speaker.call(number, "where"))
        assert (await end(nodes.apps[2], client.session)).status == 204
        statuses: list[int] = []
        for app in nodes.apps:
            statuses.append((await client.at(app).ask(client.speaker.call(9, "where"))).status)
        assert statuses == [404, 404, 404]


async def test_a_change_at_one_node_is_known_at_the_others() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        first, second = nodes.apps
        await client.at(second).ask(client.speaker.call(1, "recall", key="a"))
        await client.at(first).ask(client.speaker.call(2, "remember", key="a", value=[1, None]))
        await recalls(client.at(second), "a", "[1, None]")


async def test_nodes_that_change_different_keys_at_once_lose_none() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        for number, app in enumerate(nodes.apps):
            await client.at(app).ask(client.speaker.call(number, "where"))
        asked = [
            client.at(app).post(client.speaker.call(10 + n, "remember", key=str(n), value=n))
            for n, app in enumerate(nodes.apps)
        ]
        await asyncio.gather(*(one.whole() for one in asked))
        for key in ("0", "1"):
            for app in nodes.apps:
                await recalls(client.at(app), key, key)


async def test_a_value_that_is_no_json_is_refused_where_it_is_set() -> None:
    async with nodes_of(plain_server, 1) as nodes:
        await nodes.client()
        (session,) = nodes.servers[0].sessions()
        with pytest.raises(UsageError, match="expected a value that is JSON"):
            session.state["a"] = object()


async def test_tools_of_one_session_are_refused() -> None:
    async with nodes_of(plain_server, 1) as nodes:
        await nodes.client()
        (session,) = nodes.servers[0].sessions()
        with pytest.raises(UsageError, match="not possible with `cluster=`"):
            nodes.servers[0].for_session(session).tool("mine")(lambda: "mine")


def test_a_server_per_connection_is_refused() -> None:
    with pytest.raises(UsageError, match="per_connection"):
        Server.per_connection(lambda: Server("own")).asgi(cluster=MemoryCluster())


def test_other_stores_are_refused() -> None:
    with pytest.raises(UsageError, match="leave out session_store="):
        Server("two").asgi(cluster=MemoryCluster(), session_store=MemorySessionStore())


def test_states_that_outlive_the_values_of_once_are_refused() -> None:
    Server("short", request_state_ttl_s=3600).asgi(cluster=MemoryCluster())
    with pytest.raises(UsageError, match="request_state_ttl_s=7200: the cluster keeps values of"):
        Server("long", request_state_ttl_s=7200).asgi(cluster=MemoryCluster())


@pytest.mark.parametrize("is_shared", [False, True])
def test_logins_that_one_process_keeps_are_warned_of(
    is_shared: bool, caplog: pytest.LogCaptureFixture
) -> None:
    shared: dict[str, Any] = {"store": MemoryProxyStore(), "secret": "s" * 32}
    auth = OAuthProxy(
        upstream="https://login.example",
        client_id="id",
        client_secret="secret",
        resource="https://api.example/mcp",
        **(shared if is_shared else {}),
    )
    Server("auth").asgi(cluster=MemoryCluster(), auth=auth)
    assert ("OAuthProxy keeps logins in this process" in caplog.text) is not is_shared


async def test_the_number_of_sessions_is_limited_over_all_nodes() -> None:
    async with nodes_of(plain_server, 2, max_sessions=2) as nodes:
        await nodes.client(at=0)
        await nodes.client(at=1)
        for app in nodes.apps:
            refused = await request(app, Speaker(HANDSHAKE).initialize(0))
            assert (refused.status, "retry-after" in refused.headers) == (503, True)


async def test_a_full_cluster_ends_the_session_that_was_silent_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with nodes_of(plain_server, 2, max_sessions=2) as nodes:
        silent, used = await nodes.client(at=0), await nodes.client(at=0)
        later_s = 300.0
        now = time.time()
        clock = SimpleNamespace(time=lambda: now + later_s, monotonic=time.monotonic)
        monkeypatch.setattr(link, "time", clock)
        (id, *_) = used.session.values()
        assert await nodes.clusters[1].sessions.touch({id: now + later_s - 120}) == []
        begun = await nodes.client(at=1)
        for client, status in ((silent, 404), (used, 200), (begun, 200)):
            for app in nodes.apps:
                reply = await client.at(app).ask(client.speaker.call(1, "where"))
                assert reply.status == status
        assert await nodes.clusters[0].sessions.count() == 2
        refused = await request(nodes.apps[0], Speaker(HANDSHAKE).initialize(0))
        assert refused.status == 503


async def test_sessions_get_503_while_the_bus_is_down_and_requests_without_one_go_on() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        nodes.clusters[0].disconnect()
        refused = await client.at(nodes.apps[0]).ask(client.speaker.call(1, "where"))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json["id"] == 1
        assert (await request(nodes.apps[0], client.speaker.initialize(0))).status == 503
        lone = await nodes.client(PER_REQUEST)
        assert (await lone.ask(lone.speaker.call(1, "where"))).status == 200
        nodes.clusters[0].reconnect()
        assert (await client.ask(client.speaker.call(2, "where"))).status == 200


async def test_a_store_that_comes_back_empty_ends_the_sessions() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        nodes.clusters[0].empty()
        for app in nodes.apps:
            assert (await client.at(app).ask(client.speaker.call(1, "where"))).status == 404
        again = await nodes.client()
        assert (await again.ask(again.speaker.call(1, "where"))).status == 200


async def test_a_session_goes_on_when_the_app_that_began_it_has_ended() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        await nodes.apps[0].aclose()
        reply = await client.at(nodes.apps[1]).ask(client.speaker.call(1, "where"))
        assert texts_of(reply.json) == ["1"]


async def test_a_session_whose_client_is_silent_ends_at_all_nodes() -> None:
    async with nodes_of(plain_server, 2, session_idle_s=0.05) as nodes:
        client = await nodes.client()
        async with asyncio.timeout(WAIT_S):
            while await nodes.clusters[1].sessions.count():
                await nodes.clusters[1].beat()
        await eventually(lambda: not nodes.servers[0].sessions())
        for app in nodes.apps:
            assert (await client.at(app).ask(client.speaker.call(1, "where"))).status == 404


async def test_a_session_that_a_node_has_just_used_is_not_looked_up() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        loads: list[str] = []
        store = nodes.clusters[0].sessions
        load = store.load

        async def counted(id: str) -> Any:
            loads.append(id)
            return await load(id)

        store.load = counted
        for number in range(3):
            await client.ask(client.speaker.call(number, "where"))
        assert loads == []
        await client.at(nodes.apps[1]).ask(client.speaker.call(9, "where"))
        assert len(loads) == 1


async def test_the_log_level_of_a_session_holds_at_every_node() -> None:
    async with nodes_of(lambda _: Server("logs", declare={"logging"}), 2) as nodes:
        client = await nodes.client()
        set_level = client.speaker.request(1, "logging/setLevel", {"level": "error"})
        await client.at(nodes.apps[1]).ask(set_level)
        await client.at(nodes.apps[0]).ask(client.speaker.request(2, "ping"))
        assert [server.sessions()[0].log_level for server in nodes.servers] == ["error", "error"]


def counting_server(store: StateStore | None) -> Server:
    """Return a server that counts the calls of a principal."""
    state = SessionState(key=lambda ctx: ctx.principal, store=store)
    server = Server("counting", session_state=state)

    @server.tool
    async def count(ctx: Context) -> str:
        number = await ctx.state.get("n", int, 0) + 1
        await ctx.state.set("n", number)
        return str(number)

    return server


def mounting(server: Server) -> Server:
    """Return a server with another one in it."""
    outer = Server("outer")
    outer.mount(None, server)
    return outer


async def counts(
    store: Callable[[], StateStore | None], make: Callable[[Server], Server] = lambda one: one
) -> list[str]:
    """Return what a client hears that calls the tool at each node in turn."""
    said: list[str] = []

    def principal(_scope: dict[str, object]) -> str:
        return "ann"

    async with nodes_of(lambda _: make(counting_server(store())), 2, principal=principal) as nodes:
        client = await nodes.client(PER_REQUEST)
        for app in (*nodes.apps, *nodes.apps):
            said += texts_of((await client.at(app).ask(client.speaker.call(1, "count"))).json)
    return said


async def test_the_state_of_a_key_is_the_same_at_every_node() -> None:
    assert await counts(lambda: None) == ["1", "2", "3", "4"]


async def test_the_state_of_a_mounted_server_is_the_same_at_every_node() -> None:
    assert await counts(lambda: None, mounting) == ["1", "2", "3", "4"]


async def test_a_state_store_of_the_user_is_kept() -> None:
    assert await counts(MemoryStateStore) == ["1", "1", "2", "2"]


async def test_a_session_begun_twice_is_two() -> None:
    async with nodes_of(plain_server, 2) as nodes:
        one = await begin(nodes.apps[0], Speaker(HANDSHAKE))
        other = await begin(nodes.apps[1], Speaker(HANDSHAKE))
        assert one != other
