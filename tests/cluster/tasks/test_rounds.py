"""Rounds of 2026-07-28 in a cluster: each may be answered by another node."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from mcp_gen import Accepted, Context, InvalidParams, Server
from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.server.input_requests.request_state import RequestState, RequestStateSealer
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.http import asgi
from tests.support.peers.answering import EVERYTHING, IN_RESULTS, Capable, accept

INVALID_PARAMS = -32602
KEY = "k" * 32
BOUND = b"b" * 32


@dataclass
class Name:
    name: str


class JsonOnceStore(MemoryOnceStore):
    """Store whose values are JSON, as in a database."""

    values_are_json = True

    async def put(
        self, name: str | None, values: dict[str, Any], principal: str | None = None
    ) -> str:
        encoded = msgspec.json.encode(values)
        return await super().put(name, {"json": encoded}, principal)

    async def get(self, name: str | None, principal: str | None = None) -> dict[str, Any]:
        held = await super().get(name, principal)
        return msgspec.json.decode(held["json"], type=dict[str, Any]) if held else {}


class SharedCluster(MemoryCluster):
    """Cluster with a store of JSON values."""

    store = JsonOnceStore(600.0, time.monotonic)

    @property
    def once(self) -> MemoryOnceStore:
        return self.store


def asking(made: list[str], value: Any, name: str = "asking", keys: Sequence[str] = ()) -> Server:
    server = Server(name, request_state_keys=keys)

    @server.tool
    async def order(ctx: Context) -> str:
        def make() -> Any:
            made.append("made")
            return value

        number = await ctx.once("number", make)
        answer = await ctx.elicit("Who?", Name)
        who = answer.content.name if isinstance(answer, Accepted) else "nobody"
        return f"order {number} of {who} in round {ctx.round}"

    return server


@asynccontextmanager
async def apps_of(servers: Sequence[Server]) -> AsyncGenerator[list[AsgiApp]]:
    """Serve nodes of one cluster over HTTP."""
    cluster = MemoryCluster()
    cluster.__class__ = SharedCluster
    for number, server in enumerate(servers):
        node = cluster if not number else cluster.another_node()
        node.__class__ = SharedCluster
        server.runtime.use_cluster(node)
    apps = [server.asgi() for server in servers]
    try:
        yield apps
    finally:
        for app in apps:
            await app.aclose()


async def call(app: AsgiApp, who: str = "ada", **more: Any) -> Any:
    speaker = Capable(IN_RESULTS[0], EVERYTHING)
    message = speaker.request(1, "tools/call", {"name": "order", "arguments": {}, **more})
    headers = asgi.headers_of(speaker, message)
    answer = (await asgi.request(app, message, headers, **{"mcp_gen.principal": who})).json
    return answer.get("result", answer.get("error"))


def next_round(asked: Any) -> dict[str, Any]:
    (key,) = asked["inputRequests"]
    return {"requestState": asked["requestState"], "inputResponses": {key: accept(name="Ada")}}


async def test_another_node_goes_on_with_the_values_of_the_first_round() -> None:
    made: list[str] = []
    async with apps_of([asking(made, [7]), asking(made, [7])]) as (a, b):
        done = await call(b, **next_round(await call(a)))
    assert done["content"][0]["text"] == "order [7] of Ada in round 2"
    assert made == ["made"]


async def test_another_node_goes_on_with_a_tool_of_a_mounted_server() -> None:
    made: list[str] = []

    def outer() -> Server:
        middle, server = Server("middle"), Server("outer")
        middle.mount(None, asking(made, [7]))
        server.mount(None, middle)
        return server

    async with apps_of([outer(), outer()]) as (a, b):
        done = await call(b, **next_round(await call(a)))
    assert done["content"][0]["text"] == "order [7] of Ada in round 2"
    assert made == ["made"]


async def test_a_server_that_is_mounted_while_it_runs_shares_its_rounds() -> None:
    made: list[str] = []
    servers = [Server("outer", declare=["tools"]) for _ in range(2)]
    async with apps_of(servers) as (a, b):
        for server in servers:
            server.mount(None, asking(made, [7]))
        done = await call(b, **next_round(await call(a)))
    assert (done["content"][0]["text"], made) == ("order [7] of Ada in round 2", ["made"])


async def test_a_server_that_was_unmounted_before_keeps_its_rounds() -> None:
    inner, servers = asking([], (7,)), [Server("outer", declare=["tools"])]
    servers[0].mount(None, inner)
    servers[0].unmount(inner)
    async with apps_of(servers):
        alone = inner.asgi()
        # Without a cluster a value need not be JSON.
        assert "requestState" in await call(alone)
        await alone.aclose()


async def test_a_state_belongs_to_its_principal_at_every_node() -> None:
    async with apps_of([asking([], 7), asking([], 7)]) as (a, b):
        more = next_round(await call(a))
        for app in (a, b):
            assert (await call(app, "eve", **more))["code"] == INVALID_PARAMS


async def test_keys_of_the_user_are_used_instead_of_those_of_the_cluster() -> None:
    alone = asking([], 7, keys=[KEY]).asgi()
    async with apps_of([asking([], 7, keys=[KEY])]) as (a,):
        done = await call(alone, **next_round(await call(a)))
    await alone.aclose()
    assert done["content"][0]["text"] == "order 7 of Ada in round 2"


async def test_a_state_of_an_older_key_opens_while_the_cluster_keeps_that() -> None:
    keys = [b"1" * 32]
    sealer = RequestStateSealer([], 60)
    sealer.share_keys(lambda: keys)
    state = RequestState(round=2, expires=int(time.time()) + 60)
    sealed = sealer.seal(state, BOUND)
    keys = [b"2" * 32, *keys]
    assert sealer.open(sealed, BOUND) == state
    keys = keys[:1]
    with pytest.raises(InvalidParams):
        sealer.open(sealed, BOUND)


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, {1}, Name("x"), b"x", float("nan"), object()])
async def test_a_value_that_json_does_not_bring_back_is_refused_in_the_first_round(
    value: Any,
) -> None:
    async with apps_of([asking([], value)]) as (a,):
        refused = await call(a)
    assert refused["isError"]
    assert "ctx.once('number'): a cluster stores its value as JSON" in refused["content"][0]["text"]


@pytest.mark.parametrize("value", [None, True, 1.5, "text", [1, [2]], {"a": {"b": None}}])
async def test_plain_json_is_a_value_with_a_cluster(value: Any) -> None:
    async with apps_of([asking([], value), asking([], value)]) as (a, b):
        done = await call(b, **next_round(await call(a)))
    assert done["content"][0]["text"] == f"order {value} of Ada in round 2"
