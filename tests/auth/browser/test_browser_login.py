"""Logins by a browser: the redirect on loopback, its page, pasted redirects, what is shown."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from mcp_gen.auth.browser import browser_login, redirect_listener
from mcp_gen.auth.browser.browser_login import BrowserLogin
from mcp_gen.auth.browser.consent import consent_text
from mcp_gen.auth.flows.authorization_code import AuthorizationRequest
from mcp_gen.core.errors import AuthError, UsageError

BOUND_S = 30.0
LINK = "https://as.example/authorize?state=s1&code_challenge=c"


def asked(redirect_uri: str = "", url: str = LINK, **changes: Any) -> AuthorizationRequest:
    base = AuthorizationRequest(
        issuer="https://as.example",
        resource="https://api.example/mcp",
        scopes=("mcp", "files:read"),
        client_name="An editor",
        client_id="client-7",
        redirect_uri=redirect_uri,
        url=url,
    )
    return replace(base, **changes)


class Page(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


async def get(
    uri: str, query: str, *, method: str = "GET", path: str | None = None, host: str | None = None
) -> Page:
    """Send what a browser sends, and return the whole response."""
    parts = urlsplit(uri)
    target = (parts.path if path is None else path) + query
    named = parts.netloc if host is None else host
    head = f"{method} {target} HTTP/1.1\r\nHost: {named}\r\n\r\n"
    return await sent(uri, head.encode())


async def sent(uri: str, data: bytes) -> Page:
    parts = urlsplit(uri)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(data)
        answer = (await reader.read()).decode()
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
    return Page(int([*first.split(" "), "0", "0"][1]), headers, body)


class Shown:
    """Hooks of a login that remember what they were given."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.opened = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def show(self, request: AuthorizationRequest) -> None:
        self.order.append(f"show {request.resource}")

    def open(self, url: str) -> None:
        self.order.append(f"open {url}")
        self._loop.call_soon_threadsafe(self.opened.set)


@asynccontextmanager
async def waiting(
    shown: Shown | None = None, **options: Any
) -> AsyncIterator[tuple[BrowserLogin, str, asyncio.Task[str]]]:
    """A login whose browser is open."""
    shown = shown or Shown()
    login = BrowserLogin(open_browser=shown.open, show=shown.show, **options)
    async with asyncio.timeout(BOUND_S):
        uri = await login.open()
        coming = asyncio.create_task(login.authorize(asked(uri)))
        try:
            if "paste" not in options:
                await shown.opened.wait()
            yield login, uri, coming
        finally:
            coming.cancel()
            await asyncio.wait([coming])
            await login.aclose()


async def test_the_redirect_is_returned_whole_and_the_page_says_that_it_worked() -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1&iss=https%3A%2F%2Fas.example"))
        assert await coming == f"{uri}?code=c1&state=s1&iss=https%3A%2F%2Fas.example"
        await login.finish()
        page = await browser
    assert page.status == 200
    assert "<h1>You are logged in</h1>" in page.body


async def test_the_page_says_what_failed_and_quotes_no_markup() -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await coming
        await login.finish(AuthError("as.example said: <script>alert(1)</script>"))
        page = await browser
    assert page.status == 400
    assert "<h1>The login failed</h1>" in page.body
    assert "said: &lt;script&gt;alert(1)&lt;/script&gt;" in page.body


async def test_an_error_of_the_program_is_not_shown_to_the_browser() -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await coming
        await login.finish(RuntimeError("inner secret"))
        page = await browser
    assert "inner secret" not in page.body
    assert "Go back to the program" in page.body


async def test_the_page_has_no_script_no_referrer_and_nothing_of_the_address() -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(get(uri, "?code=the-code&state=s1"))
        await coming
        await login.finish()
        page = await browser
    assert page.headers["content-security-policy"].startswith("default-src 'none';")
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "<script" not in page.body
    assert not re.search(r"(src|href|action)=", page.body)
    assert "the-code" not in page.body
    assert "s1" not in page.body


async def test_the_user_sees_what_is_asked_for_before_a_browser_opens() -> None:
    shown = Shown()
    async with waiting(shown):
        pass
    assert shown.order == ["show https://api.example/mcp", f"open {LINK}"]


async def test_no_browser_opens_if_what_is_asked_for_cannot_be_shown() -> None:
    opened: list[str] = []

    def refuse(request: AuthorizationRequest) -> None:
        raise AuthError("not allowed here")

    login = BrowserLogin(open_browser=opened.append, show=refuse)
    with pytest.raises(AuthError, match="not allowed here"):
        await login.authorize(asked(await login.open()))
    await login.aclose()
    assert opened == []


def test_what_a_user_sees_names_server_issuer_scopes_and_client() -> None:
    assert consent_text(asked()).splitlines() == [
        "  server     https://api.example/mcp",
        "  log in at  https://as.example",
        "  scopes     mcp files:read",
        "  client     An editor (client-7)",
    ]


@pytest.mark.parametrize(
    ("scopes", "says"), [(None, "what the authorization server gives"), ((), "none")]
)
def test_what_a_user_sees_says_if_there_are_no_scopes(
    scopes: tuple[str, ...] | None, says: str
) -> None:
    assert f"  scopes     {says}" in consent_text(asked(scopes=scopes))


def test_what_a_user_sees_cannot_control_the_terminal() -> None:
    text = consent_text(asked(issuer="https://as.example/\x1b[2J\nfake line", scopes=("a" * 9999,)))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 4
    assert len(text) < 1000


WRONG = {
    "another path": ({"path": "/other"}, "?code=c&state=s1", 404),
    "a favicon": ({"path": "/favicon.ico"}, "", 404),
    "a POST": ({"method": "POST"}, "?code=c&state=s1", 405),
    "a HEAD": ({"method": "HEAD"}, "?code=c&state=s1", 405),
    "another host": ({"host": "evil.example"}, "?code=c&state=s1", 421),
    "another port": ({"host": "127.0.0.1:1"}, "?code=c&state=s1", 421),
    "no host": ({"host": ""}, "?code=c&state=s1", 421),
    "another state": ({}, "?code=c&state=s2", 400),
    "no state": ({}, "?code=c", 400),
    "two states": ({}, "?code=c&state=s1&state=s2", 400),
    "an error of another login": ({}, "?error=access_denied&state=s2", 400),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_login_is_not_ended_by(what: str) -> None:
    request, query, status = WRONG[what]
    async with waiting() as (login, uri, coming):
        page = await get(uri, query, **request)
        assert (page.status, coming.done()) == (status, False)
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        assert await coming == f"{uri}?code=c1&state=s1"
        await login.finish()
        assert (await browser).status == 200


NO_REQUESTS = {
    "too much": b"GET /callback?" + b"a" * 70_000,
    "no HTTP": b"hello\r\n\r\n",
    "two hosts": b"GET /callback?code=c&state=s1 HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: b\r\n\r\n",
    "an absolute target": b"GET http://127.0.0.1/callback?state=s1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("what", NO_REQUESTS)
async def test_what_is_no_request_of_a_browser_does_not_end_a_login(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redirect_listener, "READ_TIMEOUT_S", 0.1)
    async with waiting() as (login, uri, coming):
        # The connection may be closed before all was read.
        with contextlib.suppress(ConnectionError):
            assert (await sent(uri, NO_REQUESTS[what])).status in (0, 400, 421)
        assert not coming.done()
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await coming
        await login.finish()
        await browser


async def test_a_second_redirect_is_told_that_the_login_is_over() -> None:
    async with waiting() as (login, uri, coming):
        first = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        assert await coming == f"{uri}?code=c1&state=s1"
        assert (await get(uri, "?code=c2&state=s1")).status == 410
        await login.finish()
        await first


async def test_a_login_may_take_a_second_redirect_with_a_state_of_its_own() -> None:
    async with waiting() as (login, uri, coming):
        first = asyncio.create_task(get(uri, "?error=invalid_scope&state=s1"))
        assert await coming == f"{uri}?error=invalid_scope&state=s1"
        again = asyncio.create_task(login.authorize(asked(uri, LINK.replace("s1", "s2"))))
        assert "<h1>One more step</h1>" in (await first).body
        assert (await get(uri, "?code=c1&state=s1")).status == 400
        second = asyncio.create_task(get(uri, "?code=c2&state=s2"))
        assert await again == f"{uri}?code=c2&state=s2"
        await login.finish()
        assert (await second).status == 200


async def test_after_a_login_nobody_listens() -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await coming
        await login.finish()
        await browser
        with pytest.raises(ConnectionError):
            await get(uri, "?code=c1&state=s1")


async def test_connections_in_advance_do_not_keep_the_browser_out() -> None:
    async with waiting() as (login, uri, coming):
        parts = urlsplit(uri)
        idle = [await asyncio.open_connection(parts.hostname, parts.port) for _ in range(4)]
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await coming
        await login.finish()
        assert (await browser).status == 200
        for _, writer in idle:
            writer.close()


async def test_the_listener_is_on_loopback_alone() -> None:
    async with waiting() as (_, uri, _):
        assert urlsplit(uri).hostname == "127.0.0.1"
        assert urlsplit(uri).path == "/callback"


async def test_localhost_is_the_name_of_a_redirect_uri_where_it_is_wanted() -> None:
    async with waiting(host="localhost") as (login, uri, coming):
        assert uri.startswith("http://localhost:")
        assert (await get(uri.replace("localhost", "127.0.0.1"), "?code=c&state=s1")).status == 421
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        assert await coming == f"{uri}?code=c1&state=s1"
        await login.finish()
        await browser


async def test_a_registered_port_is_used_again_if_it_is_free() -> None:
    async with waiting() as (login, first, coming):
        browser = asyncio.create_task(get(first, "?code=c1&state=s1"))
        await coming
        await login.finish()
        await browser
    # The system remembers the connection that was closed here.
    others = ["https://127.0.0.1:9/callback", "http://127.0.0.1:9/other", "no url", "http://[/"]
    again = await login.open([*others, first])
    await login.aclose()
    assert again == first


async def test_a_registered_port_that_is_in_use_is_replaced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        login = BrowserLogin()
        uri = await login.open([f"http://127.0.0.1:{port}/callback"])
        await login.aclose()
        assert urlsplit(uri).port != port
        with pytest.raises(AuthError, match=f"port {port} of 127.0.0.1 is in use"):
            await BrowserLogin(port=port).open()


async def test_a_pasted_redirect_is_returned_and_no_browser_opens() -> None:
    shown = Shown()
    lines = ["", "  http://127.0.0.1:1/callback?code=c&state=s1  "]

    async def paste() -> str:
        return lines.pop(0)

    async with waiting(shown, paste=paste) as (_, _, coming):
        assert await coming == "http://127.0.0.1:1/callback?code=c&state=s1"
    assert shown.order == ["show https://api.example/mcp"]


async def test_a_redirect_that_arrives_ends_the_wait_for_a_pasted_one() -> None:
    async def paste() -> str:
        await asyncio.Event().wait()
        return ""

    async with waiting(paste=paste) as (login, uri, coming):
        browser = None
        while browser is None or browser.done():
            # Until the login is being waited for, its state is not known.
            browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
            await asyncio.wait([browser, coming], return_when=asyncio.FIRST_COMPLETED)
        assert await coming == f"{uri}?code=c1&state=s1"
        await login.finish()
        await browser


async def test_the_end_of_the_input_is_an_error() -> None:
    async def paste() -> str:
        raise EOFError

    async with waiting(paste=paste) as (_, _, coming):
        with pytest.raises(AuthError, match="the input ended; run it where you can paste it"):
            await coming


@pytest.mark.parametrize(
    "url",
    [
        "http://as.example/authorize",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "-https://as.example",
        "https://as.example/a b",
        "https://as.example/\nx",
        "",
    ],
)
async def test_what_is_no_link_for_a_browser_is_not_opened(url: str) -> None:
    shown = Shown()
    login = BrowserLogin(open_browser=shown.open, show=shown.show)
    with pytest.raises(AuthError, match="begins with https://, got something else"):
        await login.authorize(asked(await login.open(), url))
    await login.aclose()
    assert shown.order == []


async def test_a_browser_that_cannot_be_opened_leaves_the_link() -> None:
    def broken(url: str) -> None:
        raise OSError("no display")

    login = BrowserLogin(open_browser=broken, show=lambda request: None)
    async with asyncio.timeout(BOUND_S):
        uri = await login.open()
        coming = asyncio.create_task(login.authorize(asked(uri)))
        browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        await asyncio.wait([browser, coming], return_when=asyncio.FIRST_COMPLETED)
        if browser.done():  # before the login was waited for
            browser = asyncio.create_task(get(uri, "?code=c1&state=s1"))
        assert await coming
        await login.finish()
        await browser


async def test_by_default_what_is_asked_for_and_the_link_are_printed_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def opening(url: str) -> None:
        opened.append(url)
        loop.call_soon_threadsafe(seen.set)

    monkeypatch.setattr("webbrowser.open", opening)
    login = BrowserLogin()
    coming = asyncio.create_task(login.authorize(asked(await login.open())))
    async with asyncio.timeout(BOUND_S):
        await seen.wait()
    coming.cancel()
    await asyncio.wait([coming])
    await login.aclose()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert consent_text(asked()) in printed.err
    assert printed.err.endswith(f"\n{LINK}\n")
    assert opened == [LINK]


@pytest.mark.parametrize(("name", "opens"), [("w3m", []), ("lynx", []), ("firefox", [LINK])])
def test_a_browser_of_the_terminal_is_not_opened(
    name: str, opens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.get", lambda: webbrowser.GenericBrowser(name))
    monkeypatch.setattr("webbrowser.open", opened.append)
    browser_login._open_quietly(None, LINK)
    assert opened == opens


async def test_a_redirect_uri_of_another_login_is_a_mistake() -> None:
    login = BrowserLogin()
    with pytest.raises(UsageError, match="expected the redirect URI that"):
        await login.authorize(asked("http://127.0.0.1:1/callback"))


@pytest.mark.parametrize(
    "options",
    [{"port": -1}, {"port": 65536}, {"host": "0.0.0.0"}, {"path": "a"}, {"path": "/a?b"}],
)
def test_options_that_make_no_sense_are_mistakes(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        BrowserLogin(**options)


async def test_a_page_that_learns_no_outcome_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_listener, "PAGE_TIMEOUT_S", 0.05)
    async with waiting() as (_, uri, coming):
        page = await get(uri, "?code=c1&state=s1")
        await coming
    assert "<h1>Almost done</h1>" in page.body


def test_the_browser_room_does_not_import_webbrowser_by_itself() -> None:
    assert not hasattr(browser_login, "webbrowser")
