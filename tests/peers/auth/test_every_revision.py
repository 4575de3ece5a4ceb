"""Our client logs in to each server of others at each revision that has tokens; with `--full`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from mcp_gen.auth import DPoP, DpopChecks, NonceIssuer
from tests.peers.auth.oidc_provider import SERVERS, Issuers, Visitor
from tests.peers.auth.protected import READ, WRITE, Clock, connected, oauth, said
from tests.peers.auth.test_fastmcp_server import by_introspection, by_keys, in_memory, verifying
from tests.peers.auth.test_official_server import all_in_one, apart
from tests.peers.auth.test_oidc_provider import behind
from tests.support.frames import STREAMABLE

each_revision = pytest.mark.parametrize("revision", STREAMABLE)
pytestmark = pytest.mark.xdist_group("oidc-provider")


Server = Callable[[], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def official_whole() -> AsyncGenerator[str, None]:
    async with all_in_one() as place:
        yield place.url


@asynccontextmanager
async def official_apart() -> AsyncGenerator[str, None]:
    async with apart() as place:
        yield place.url


@asynccontextmanager
async def fastmcp_in_memory() -> AsyncGenerator[str, None]:
    async with in_memory() as (web, _):
        yield web.url


@asynccontextmanager
async def fastmcp_by_keys() -> AsyncGenerator[str, None]:
    async with verifying(by_keys) as place:
        yield place.url


@asynccontextmanager
async def fastmcp_by_introspection() -> AsyncGenerator[str, None]:
    async with verifying(by_introspection) as place:
        yield place.url


SERVERS_OF_OTHERS: list[Server] = [
    official_whole,
    official_apart,
    fastmcp_in_memory,
    fastmcp_by_keys,
    fastmcp_by_introspection,
]


@each_revision
@pytest.mark.parametrize("server", SERVERS_OF_OTHERS)
async def test_a_login_and_its_renewal_at_a_server_of_others(server: Server, revision: str) -> None:
    user, clock = Visitor(), Clock(time.time)
    async with server() as url, connected(url, oauth(user, clock=clock), revision) as session:
        assert session.revision == revision
        first = said(await session.call_tool("who"))
        clock.ahead_s = 7200
        assert said(await session.call_tool("who")) == first
    assert len(user.seen) == 1


@each_revision
@pytest.mark.parametrize("bound", [False, True], ids=["bearer", "dpop"])
@pytest.mark.parametrize("name", SERVERS)
async def test_a_login_its_renewal_and_a_step_up_at_our_server(
    issuers: Issuers, name: str, bound: bool, revision: str
) -> None:
    user, clock = Visitor(), Clock(time.time)
    checks = DpopChecks(required=True, nonces=NonceIssuer()) if bound else None
    auth = oauth(user, clock=clock)
    async with (
        behind(issuers, name, dpop=checks, scopes_supported=[READ, WRITE]) as web,
        connected(web.url, DPoP(auth) if bound else auth, revision) as session,
    ):
        assert session.revision == revision
        first = said(await session.call_tool("who"))
        clock.ahead_s = 590
        assert said(await session.call_tool("who")) == first
        assert said(await session.call_tool("write")).endswith("demo has written")
        assert said(await session.call_tool("who")).endswith(f"may {READ} {WRITE}")
    assert len(user.seen) == 2
