"""FastMCP's client logs in to our server, with its own listener for the browser."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.auth import ClientCredentialsOAuthProvider, OAuth
from key_value.aio.stores.memory import MemoryStore

from examples.oauth.authorization_server import AuthorizationServer
from examples.oauth.authorization_server import Client as RegisteredAs
from mcp_gen.auth import ResourceServer
from tests.auth.client.over_sockets import serving_issuer
from tests.peers.auth.protected import READ, WRITE, protecting, said

pytestmark = pytest.mark.filterwarnings("ignore:Using in-memory token storage")

WAIT_S = 20.0


class Browser:
    """A browser whose user agrees to all; `opened` has the parameters of each link."""

    def __init__(self) -> None:
        self.opened: list[dict[str, str]] = []
        self.tabs: set[asyncio.Task[None]] = set()

    def open(self, url: str) -> bool:
        self.opened.append(dict(parse_qsl(urlsplit(url).query)))
        tab = asyncio.get_running_loop().create_task(self._visit(url))
        self.tabs.add(tab)
        tab.add_done_callback(self.tabs.discard)
        return True

    async def _visit(self, url: str) -> None:
        async with asyncio.timeout(WAIT_S), httpx2.AsyncClient(trust_env=False) as http:
            back = (await http.get(url)).headers["location"]
            while True:
                try:
                    await http.get(back)
                except httpx2.ConnectError:
                    # The listener begins after the browser was opened.
                    await asyncio.sleep(0.01)
                else:
                    return


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Open links in a browser of the test."""
    made = Browser()
    monkeypatch.setattr(webbrowser, "open", made.open)
    return made


@asynccontextmanager
async def placed() -> AsyncGenerator[tuple[str, AuthorizationServer], None]:
    async with (
        serving_issuer(scopes_supported=(READ, WRITE)) as issuer,
        protecting(lambda url: ResourceServer(issuer.issuer, audience=url, scopes=[READ])) as web,
    ):
        yield web.url, issuer


async def test_it_registers_logs_in_for_this_server_and_calls(browser: Browser) -> None:
    async with asyncio.timeout(WAIT_S), placed() as (url, issuer):
        async with Client(url, auth=OAuth(callback_host="127.0.0.1")) as client:
            answer = said(await client.call_tool("who"))
        sent = [dict(one.form) for one in issuer.received("token")]
    assert answer.endswith(f"demo may {READ}")
    assert len(issuer.received("register")) == 1
    assert [shown["resource"] for shown in browser.opened] == [url]
    assert [form["resource"] for form in sent] == [url]


async def test_it_renews_its_token_with_a_refresh_token(browser: Browser) -> None:
    async with asyncio.timeout(WAIT_S), placed() as (url, issuer):
        auth = OAuth(url, callback_host="127.0.0.1")
        async with Client(url, auth=auth) as client:
            said(await client.call_tool("who"))
            auth.context.token_expiry_time = 1.0
            said(await client.call_tool("who"))
        grants = [dict(one.form)["grant_type"] for one in issuer.received("token")]
    assert grants == ["authorization_code", "refresh_token"]
    assert len(browser.opened) == 1


async def test_it_needs_no_browser_after_a_restart(browser: Browser) -> None:
    store = MemoryStore()
    async with asyncio.timeout(WAIT_S), placed() as (url, _):
        for _ in range(2):
            auth = OAuth(url, callback_host="127.0.0.1", token_storage=store)
            async with Client(url, auth=auth) as client:
                said(await client.call_tool("who"))
    assert len(browser.opened) == 1


async def test_it_steps_up_to_the_scope_that_a_tool_needs(browser: Browser) -> None:
    async with asyncio.timeout(WAIT_S), placed() as (url, issuer):
        # Registered by hand: it registers with the scopes of its first request, and never again,
        # and our example holds clients to those.
        issuer.clients.add(
            RegisteredAs(client_id="app", redirect_uris=("http://127.0.0.1/callback",))
        )
        auth = OAuth(url, client_id="app", callback_host="127.0.0.1")
        async with Client(url, auth=auth) as client:
            said(await client.call_tool("who"))
            written = said(await client.call_tool("write"))
    assert written.endswith("demo has written")
    asked = [set(shown["scope"].split()) for shown in browser.opened]
    assert asked == [{READ}, {READ, WRITE}]


async def test_it_calls_with_the_secret_of_a_program() -> None:
    async with asyncio.timeout(WAIT_S), placed() as (url, issuer):
        issuer.clients.add(
            RegisteredAs(
                client_id="robot",
                secret="secret",
                auth_method="client_secret_basic",
                grant_types=frozenset({"client_credentials"}),
            )
        )
        auth = ClientCredentialsOAuthProvider(
            client_id="robot", client_secret="secret", issuer=issuer.issuer
        )
        async with Client(url, auth=auth) as client:
            answer = said(await client.call_tool("who"))
            written = said(await client.call_tool("write"))
    assert answer.endswith(f"robot may {READ}")
    assert written.endswith("robot has written")
