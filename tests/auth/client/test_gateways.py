"""Gateways: a bridged or mounted server gets its own credentials, never those of a caller."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mcp_gen import Client, Server
from mcp_gen.compat import Bridge
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.authorizers import FakeAuthorizer, guarded
from tests.support.http.loopback import serving

BOUND_S = 30.0
CALLER = "the-callers-token"
OWN = "the-gateways-token"


def far_server() -> Server:
    server = Server("far")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


async def bridged(url: str, stack: AsyncExitStack) -> Any:
    bridge = Bridge(url, auth=FakeAuthorizer("", OWN))
    stack.push_async_callback(bridge.aclose)
    return bridge.asgi()


async def mounted(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(Client("gateway", forward_requests=True))
    session = await client.connect(url, auth=FakeAuthorizer("", OWN))
    gateway = Server("gateway")
    gateway.mount(None, session)
    return gateway.asgi()


@pytest.mark.parametrize("gateway", [bridged, mounted])
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_no_token_of_a_caller_passes_through(gateway: Any, revision: str) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(BOUND_S):
        far = await stack.enter_async_context(serving(guarded(far_server().asgi(), OWN)))
        app = guarded(await gateway(far.url, stack), CALLER)
        near = await stack.enter_async_context(serving(app))
        client = await stack.enter_async_context(Client("caller"))
        session = await client.connect(near.url, revision=revision, bearer_token=CALLER)
        assert await session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3
        await client.aclose()
    assert {one.headers.get("authorization") for one in near.got} == {f"Bearer {CALLER}"}
    assert {one.headers.get("authorization") for one in far.got} == {None, f"Bearer {OWN}"}
    assert CALLER not in str(far.got)
