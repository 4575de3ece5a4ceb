"""Logins of a manager's servers: each has its own, and none holds up another server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from mcp_gen import AuthError, ClientManager, ServerConfig
from mcp_gen.auth import AuthorizationRequest
from mcp_gen.manager.supervisor import ConnectSlot
from tests.auth.client.over_sockets import placed
from tests.manager.managed_servers import WAIT_S, Told, managing, named_server
from tests.support.http.authorizers import FakeAuthorizer, guarded
from tests.support.http.loopback import serving


@asynccontextmanager
async def guarded_servers(names: Sequence[str]) -> AsyncIterator[dict[str, str]]:
    """Serve servers whose token is their name, and yield their URLs."""
    async with AsyncExitStack() as stack:
        urls = {}
        for name in names:
            app = guarded(named_server(name).asgi(legacy_sse_path="/sse"), name)
            urls[name] = (await stack.enter_async_context(serving(app))).url
        yield urls


def asking(name: str) -> FakeAuthorizer:
    """An authorizer whose user has not answered yet."""
    auth = FakeAuthorizer("", name)
    auth.login.clear()
    return auth


@asynccontextmanager
async def logging_in(
    auths: dict[str, FakeAuthorizer], **options: float
) -> AsyncIterator[tuple[ClientManager, Told]]:
    async with guarded_servers(list(auths)) as urls, asyncio.timeout(WAIT_S):
        configs = {name: ServerConfig(url=url, auth=auths[name]) for name, url in urls.items()}
        async with managing(configs, **{"start_wait_s": 0.01, **options}) as (manager, told):
            yield manager, told


async def test_a_server_with_its_own_login_is_called_with_its_own_token() -> None:
    auths = {name: FakeAuthorizer("", name) for name in ("left", "right")}
    async with logging_in(auths, start_wait_s=WAIT_S) as (manager, _):
        said = [await manager.call_tool(f"mcp__{name}__who", returns=str) for name in auths]
    assert said == ["left", "right"]


async def test_logins_that_nobody_answers_leave_room_for_other_servers() -> None:
    auths = {name: asking(name) for name in ("a", "b", "c")}
    auths["last"] = FakeAuthorizer("last")
    async with logging_in(auths, max_remote=1) as (manager, told):
        assert await manager.call_tool("mcp__last__who", returns=str) == "last"
        assert {one: manager.servers()[one].state for one in "abc"} == dict.fromkeys(
            "abc", "connecting"
        )
        for name in "abc":
            auths[name].login.set()
        for _ in "abc":
            await told.next("connected")
        assert await manager.call_tool("mcp__b__who", returns=str) == "b"


async def test_the_time_of_a_login_is_no_part_of_the_time_to_connect() -> None:
    auth = asking("slow")
    async with logging_in({"slow": auth}, connect_timeout_s=0.3) as (manager, told):
        await auth.waits.wait()
        connecting = asyncio.create_task(told.next("connected", "connect_failed"))
        await asyncio.wait([connecting], timeout=0.7)
        auth.login.set()
        assert (await connecting).kind == "connected"
        assert await manager.call_tool("mcp__slow__who", returns=str) == "slow"


async def test_a_login_that_fails_fails_its_own_server_alone_and_is_not_repeated() -> None:
    refused = FakeAuthorizer("")
    refused.refuse("the user said no; log in again")
    auths = {"no": refused, "yes": FakeAuthorizer("", "yes")}
    async with logging_in(auths, start_wait_s=WAIT_S) as (manager, told):
        failed = next(one for one in told.events if one.server == "no")
        assert (failed.kind, failed.error) == ("connect_failed", refused.error)
        assert isinstance(failed.error, AuthError)
        assert manager.servers()["no"].state == "failed"
        assert [one.name for one in await manager.tools()] == ["mcp__yes__who"]
    assert len(refused.asked) == 1


async def test_a_later_login_is_waited_for_by_its_call_alone() -> None:
    auths = {"ann": FakeAuthorizer("ann"), "bob": FakeAuthorizer("bob")}
    async with logging_in(auths, start_wait_s=WAIT_S) as (manager, _):
        auths["ann"].tokens = ["expired", "ann"]
        auths["ann"].login.clear()
        waiting = asyncio.create_task(manager.call_tool("mcp__ann__who", returns=str))
        await auths["ann"].waits.wait()
        assert await manager.call_tool("mcp__bob__who", returns=str) == "bob"
        assert not waiting.done()
        auths["ann"].login.set()
        assert await waiting == "ann"


async def test_a_server_of_http_sse_logs_in_too() -> None:
    auth = FakeAuthorizer("", "old")
    async with guarded_servers(["old"]) as urls, asyncio.timeout(WAIT_S):
        url = urls["old"].replace("/mcp", "/sse")
        config = ServerConfig(url=url, transport="sse", auth=auth)
        async with managing({"old": config}) as (manager, _):
            assert await manager.call_tool("mcp__old__who", returns=str) == "old"


async def test_a_manager_does_not_close_the_authorizers_that_it_was_given() -> None:
    auth = FakeAuthorizer("mine")
    async with logging_in({"mine": auth}, start_wait_s=WAIT_S):
        pass
    assert not auth.closed


def test_an_authorizer_shows_its_class_alone() -> None:
    auth = FakeAuthorizer("the-secret-token")
    shown = repr(ServerConfig(url="https://example.org/mcp", auth=auth))
    assert shown == "ServerConfig(url='https://example.org/mcp', auth=<FakeAuthorizer>)"


def test_an_authorizer_without_a_url_is_a_problem_of_its_server() -> None:
    manager = ClientManager({"a": ServerConfig(command="x", auth=FakeAuthorizer())})
    assert [str(one) for one in manager.problems] == ["servers.a.auth: expected a `url` with this"]
    assert manager.problems[0].fatal


@pytest.mark.parametrize("times", [1, 2])
async def test_a_login_that_is_cancelled_gives_its_place_back_once(times: int) -> None:
    auths = {f"a{number}": asking(f"a{number}") for number in range(times)}
    auths["z"] = FakeAuthorizer("z")
    async with logging_in(auths, max_remote=1) as (manager, _):
        for number in range(times):
            await auths[f"a{number}"].waits.wait()
            await manager.remove(f"a{number}")
        again = await manager.reconnect("z")
        assert (again.state, again.error) == ("connected", None)


async def test_a_place_is_waited_for_after_a_login() -> None:
    at_once = asyncio.Semaphore(1)
    first, second = ConnectSlot(at_once, WAIT_S), ConnectSlot(at_once, WAIT_S)
    order: list[str] = []
    logged_in = asyncio.Event()

    async def logging_in_first() -> None:
        async with first:
            async with first.login():
                await logged_in.wait()
            order.append("first goes on")

    async def connecting_meanwhile() -> None:
        async with second:
            # The login ends while this one has the only place.
            logged_in.set()
            for _ in range(5):
                await asyncio.sleep(0)
            order.append("second is done")

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(logging_in_first())
        await asyncio.sleep(0)
        tasks.create_task(connecting_meanwhile())
    assert order == ["second is done", "first goes on"]
    assert not at_once.locked()


async def test_a_function_logs_users_in_at_servers_of_a_config_file() -> None:
    asked: list[str] = []

    async def decline(request: AuthorizationRequest) -> str:
        asked.append(request.redirect_uri)
        raise AuthError("the user said no")

    async with placed() as place, asyncio.timeout(WAIT_S):
        servers = {"notes": {"url": place.url, "auth": {"store": "memory"}}}
        uri = "https://host.example/callback"
        options: dict[str, Any] = {"on_authorize": decline, "redirect_uri": uri}
        async with managing(servers, start_wait_s=WAIT_S, **options) as (manager, _):
            error = manager.servers()["notes"].error
    assert (asked, str(error)) == ([uri], "the user said no")
