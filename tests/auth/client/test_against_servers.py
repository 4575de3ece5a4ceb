"""OAuth against a protected server and its authorization server, over sockets."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from examples.oauth.authorization_server import Client as Registered
from mcp_gen import AuthError, Client, ClientManager, Server
from mcp_gen.auth import (
    AuthorizationRequest,
    BrowserLogin,
    ClientCredentials,
    FileTokenStore,
    MemoryTokenStore,
    OAuth,
    StoredCredentials,
)
from tests.support.frames import STREAMABLE
from tests.support.http.loopback import serving
from tests.support.http.protected import ThreadedBrowser, protected, redirect_of

BOUND_S = 60.0


def quietly(browser: ThreadedBrowser) -> BrowserLogin:
    return BrowserLogin(open_browser=browser.open, show=lambda request: None)


class EndedStore(MemoryTokenStore):
    """Store whose tokens have ended when they are loaded for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = False

    async def load(self, key: str) -> StoredCredentials | None:
        found = await super().load(key)
        if found is not None and self.ended:
            self.ended = False
            found = msgspec.structs.replace(found, expires_at=1.0)
            await self.save(key, found)
        return found


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_user_logs_in_by_a_browser_at_every_revision(revision: str) -> None:
    browser = ThreadedBrowser()
    async with protected() as world, Client("c") as client, asyncio.timeout(BOUND_S):
        auth = OAuth(on_authorize=quietly(browser))
        session = await client.connect(world.url, revision=revision, auth=auth)
        assert await session.call_tool("who", returns=str) == "demo ['mcp']"
        await client.aclose()
        await auth.aclose()
    assert await asyncio.to_thread(browser.shown.wait, BOUND_S)
    assert len(browser.opened) == 1
    assert "<h1>You are logged in</h1>" in browser.pages[0]
    assert world.grants() == ["authorization_code"]


async def test_a_hook_of_the_program_logs_in_with_a_browser_of_its_own() -> None:
    shown: list[AuthorizationRequest] = []

    async def login(request: AuthorizationRequest) -> str:
        shown.append(request)
        return await asyncio.to_thread(redirect_of, request.url)

    redirect = "http://127.0.0.1:1/app"
    async with protected() as world, Client("c") as client, asyncio.timeout(BOUND_S):
        auth = OAuth(on_authorize=login, redirect_uri=redirect, client_name="An app")
        session = await client.connect(world.url, auth=auth)
        assert await session.call_tool("who", returns=str) == "demo ['mcp']"
        await client.aclose()
        await auth.aclose()
    assert [(one.resource, one.scopes, one.client_name, one.redirect_uri) for one in shown] == [
        (world.url, ("mcp",), "An app", redirect)
    ]


async def test_many_calls_with_an_ended_token_renew_it_once() -> None:
    store, browser = EndedStore(), ThreadedBrowser()
    async with protected() as world, Client("c") as client, asyncio.timeout(BOUND_S):
        first = OAuth(on_authorize=quietly(browser), store=store)
        await first.login(world.url)
        await first.aclose()
        store.ended = True
        auth = OAuth(interactive=False, store=store)
        session = await client.connect(world.url, auth=auth)
        calls = [session.call_tool("who", returns=str) for _ in range(20)]
        assert set(await asyncio.gather(*calls)) == {"demo ['mcp']"}
        await client.aclose()
        await auth.aclose()
    assert world.grants() == ["authorization_code", "refresh_token"]


async def test_a_connection_that_waits_for_a_user_can_be_given_up() -> None:
    opened = threading.Event()
    login = BrowserLogin(open_browser=lambda url: opened.set(), show=lambda request: None)
    async with protected() as world, Client("c") as client, asyncio.timeout(BOUND_S):
        auth = OAuth(on_authorize=login)
        connecting = asyncio.create_task(client.connect(world.url, auth=auth))
        assert await asyncio.to_thread(opened.wait, BOUND_S)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        await auth.aclose()
        await client.aclose()


async def test_a_manager_logs_in_at_each_server_of_its_file(tmp_path: Path) -> None:
    store, logins = tmp_path / "tokens.json", []

    async def login(request: AuthorizationRequest) -> str:
        logins.append(request.resource)
        return await asyncio.to_thread(redirect_of, request.url)

    async with protected() as user, protected() as program, asyncio.timeout(BOUND_S):
        program.authorization.clients.add(
            Registered(
                client_id="shop",
                secret="the-secret",
                auth_method="client_secret_basic",
                grant_types=frozenset({"client_credentials"}),
            )
        )
        redirect = "http://127.0.0.1:1/app"
        entries: dict[str, Any] = {
            "user": {
                "url": user.url,
                "auth": {"store": str(store), "redirect_uri": redirect},
            },
            "program": {
                "url": program.url,
                "auth": {
                    "type": "client_credentials",
                    "client_id": "shop",
                    "client_secret_env": "SECRET",
                },
            },
        }
        file = tmp_path / "servers.json"
        await asyncio.to_thread(file.write_bytes, msgspec.json.encode({"mcpServers": entries}))
        env = {"SECRET": "the-secret"}
        manager = ClientManager.from_file(file, env=env, on_authorize=login)
        async with manager:
            states = {name: one.state for name, one in manager.servers().items()}
            assert states == {"user": "connected", "program": "connected"}
            said = [await manager.call_tool(f"mcp__{name}__who", returns=str) for name in entries]
        assert said[0] == "demo ['mcp']"
        assert said[1].endswith("['mcp']")
        assert logins == [user.url]
        # A second start needs no user.
        async with ClientManager.from_file(file, env=env, on_authorize=login) as again:
            assert await again.call_tool("mcp__user__who", returns=str) == "demo ['mcp']"
    assert logins == [user.url]
    assert await FileTokenStore(store).load(user.url) is not None


async def test_a_secret_that_is_wrong_is_an_error_of_its_caller() -> None:
    async with protected() as world, Client("c") as client, asyncio.timeout(BOUND_S):
        auth = ClientCredentials("nobody", "the-wrong-secret")
        with pytest.raises(AuthError) as caught:
            await client.connect(world.url, auth=auth)
        await auth.aclose()
    assert "the-wrong-secret" not in str(caught.value)
    assert caught.value.error == "invalid_client"


async def test_a_server_that_asks_for_nothing_is_connected_to_without_a_login() -> None:
    server = Server("open")
    async with serving(server.asgi()) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        auth = OAuth(interactive=False)
        session = await client.connect(web.url, auth=auth)
        assert session.principal is None
        await client.aclose()
        await auth.aclose()
    assert all("authorization" not in one.headers for one in web.got)
