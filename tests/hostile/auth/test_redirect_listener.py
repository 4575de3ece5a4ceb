"""The listener on loopback that takes the redirect: pages of others talk to it as well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import httpx2
import pytest

from mcp_gen.auth import BrowserLogin
from mcp_gen.auth.browser import redirect_listener
from mcp_gen.core.errors import AuthError
from tests.auth.browser.test_browser_login import Page, Shown, asked, sent, waiting
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import opened_world

BOUND_S = 30.0
GOOD = "code=c1&state=s1"


class Visit(NamedTuple):
    """A request to the listener; `{host}` stands for its host and port, `{path}` for its path."""

    head: str = "GET {path}?" + GOOD + " HTTP/1.1\r\nHost: {host}"

    def data(self, uri: str) -> bytes:
        parts = urlsplit(uri)
        whole = self.head.format(host=parts.netloc, path=parts.path, port=parts.port)
        return f"{whole}\r\n\r\n".encode("latin-1")


def to(target: str) -> Visit:
    return Visit(f"GET {target} HTTP/1.1\r\nHost: {{host}}")


def by(host: str) -> Visit:
    return Visit(f"GET {{path}}?{GOOD} HTTP/1.1\r\nHost: {host}")


RIGHT = Visit()


@attacks(
    "visits of the listener",
    Attack("a foreign name", by("evil.example:{port}"), RIGHT, "^421"),
    Attack("a foreign name without a port", by("evil.example"), RIGHT, "^421"),
    Attack("the right name with another port", by("127.0.0.1:1"), RIGHT, "^421"),
    Attack("another name of loopback", by("localhost:{port}"), RIGHT, "^421"),
    Attack("two names", by("{host}\r\nHost: evil.example"), RIGHT, "^421"),
    Attack("no name", Visit(f"GET {{path}}?{GOOD} HTTP/1.1"), RIGHT, "^421"),
    Attack("another path", to(f"/other?{GOOD}"), RIGHT, "^404"),
    Attack("a path below", to(f"{{path}}/x?{GOOD}"), RIGHT, "^404"),
    Attack("the root", to(f"/?{GOOD}"), RIGHT, "^404"),
    Attack("a whole URL", to(f"http://evil.example{{path}}?{GOOD}"), RIGHT, "^404"),
    Attack("another state", to("{path}?code=evil&state=s2"), RIGHT, "^400"),
    Attack("no state", to("{path}?code=evil"), RIGHT, "^400"),
    Attack("an empty state", to("{path}?code=evil&state="), RIGHT, "^400"),
    Attack("two states", to("{path}?code=evil&state=s1&state=s2"), RIGHT, "^400"),
    Attack("an error with another state", to("{path}?error=x&state=s2"), RIGHT, "^400"),
    Attack(
        "a form that is posted",
        Visit(f"POST {{path}}?{GOOD} HTTP/1.1\r\nHost: {{host}}"),
        RIGHT,
        "^405",
    ),
    Attack(
        "a look before the visit",
        Visit(f"HEAD {{path}}?{GOOD} HTTP/1.1\r\nHost: {{host}}"),
        RIGHT,
        "^405",
    ),
    Attack("no HTTP", Visit("hello"), RIGHT, "^400"),
    Attack(
        "more than 50 parameters",
        to("{path}?" + "a=b&" * 49 + GOOD),
        to("{path}?" + "a=b&" * 48 + GOOD),
        "^400",
    ),
    Attack("very many parameters", to("{path}?" + "a=b&" * 600 + GOOD), RIGHT, "^400"),
)
async def test_only_the_awaited_redirect_ends_the_login(case: Case[Visit]) -> None:
    async with waiting() as (login, uri, coming):
        browser = asyncio.create_task(sent(uri, case.given.data(uri)))
        await asyncio.wait([browser, coming], return_when=asyncio.FIRST_COMPLETED)
        taken = [coming.result()] if coming.done() else []
        if taken:
            await login.finish()
        page = await browser
        case.judge(PASSED if page.status == 200 else f"{page.status} {page.body}", taken)
        if case.is_hostile:
            # The login goes on, and its own redirect is still taken.
            again = asyncio.create_task(sent(uri, RIGHT.data(uri)))
            assert "code=c1" in await coming
            await login.finish()
            assert (await again).status == 200


@attacks(
    "a second redirect",
    Attack("with another code", "second", "first", "^410"),
)
async def test_a_login_takes_one_redirect(case: Case[str]) -> None:
    async with waiting() as (login, uri, coming):
        first = asyncio.create_task(sent(uri, RIGHT.data(uri)))
        found = await coming
        second = None
        if case.is_hostile:
            second = await sent(uri, to("{path}?code=evil&state=s1").data(uri))
        await login.finish()
        page = second or await first
        assert (await first).status == 200
        assert "code=c1" in found
        outcome = PASSED if page.status == 200 else f"{page.status} {page.body}"
        case.judge(outcome, [found] if second is None else [])


@attacks(
    "what a page shows",
    Attack("markup in an error", "<script>alert(1)</script>", "too late", "script"),
    Attack("an attribute in an error", '"><img src=x onerror=alert(1)>', "too late", "img"),
    Attack("a link in an error", "call https://evil.example/now", "too late", "evil"),
)
async def test_a_page_shows_no_markup_and_no_link_of_others(case: Case[str]) -> None:
    """The whole way: from the parameters of the redirect, through the error, to the page."""
    async with opened_world() as world:
        pages: list[Page] = []
        tasks: list[asyncio.Task[None]] = []
        loop = asyncio.get_running_loop()

        async def visit(url: str) -> None:
            asked_for = dict(httpx2.URL(url).params)
            target = asked_for["redirect_uri"]
            described = quote(case.given)
            query = f"error=access_denied&error_description={described}&state={asked_for['state']}"
            query += "&iss=https://as.example"
            pages.append(await sent(target, to(f"{{path}}?{query}").data(target)))

        def open_browser(url: str) -> None:
            loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(visit(url))))

        login = BrowserLogin(open_browser=open_browser, show=lambda _: None)
        auth = world.oauth(redirect_uri=None, on_authorize=login)
        async with asyncio.timeout(BOUND_S):
            outcome = await world.call(auth=auth)
            await asyncio.gather(*tasks)
        await auth.aclose()
        (page,) = pages
        assert page.status == 400
        assert "access_denied" in outcome
        for hostile in ("<script", "<img", "evil.example"):
            assert hostile not in page.body
            assert hostile == "<script" or hostile == "<img" or hostile not in outcome
        assert "default-src 'none'" in page.headers["content-security-policy"]
        shown = [page.body] if case.given in page.body else []
        case.judge(PASSED if shown else f"not shown: {case.given}", shown)


@attacks(
    "visitors that send nothing",
    Attack("as many as are taken", redirect_listener.MAX_CONNECTIONS, 1, "refused"),
)
async def test_visitors_that_send_nothing_are_bounded(
    case: Case[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than so many are closed at once; when the others are given up, the login goes on."""
    monkeypatch.setattr(redirect_listener, "READ_TIMEOUT_S", 0.2 if case.is_hostile else 20.0)
    async with waiting() as (login, uri, coming):
        parts = urlsplit(uri)
        silent = [
            await asyncio.open_connection(parts.hostname, parts.port) for _ in range(case.given)
        ]
        browser = asyncio.create_task(answered(uri))
        await asyncio.wait([browser, coming], return_when=asyncio.FIRST_COMPLETED)
        taken = [coming.result()] if coming.done() else []
        for reader, writer in silent:
            if case.is_hostile:
                assert await reader.read() == b""
            writer.close()
        if taken:
            await login.finish()
        case.judge(PASSED if await browser == 200 else "refused", taken)
        if case.is_hostile:
            again = asyncio.create_task(answered(uri))
            await coming
            await login.finish()
            assert await again == 200


async def answered(uri: str) -> int:
    """Send the awaited redirect; return the status, 0 if the connection is closed."""
    try:
        return (await sent(uri, RIGHT.data(uri))).status
    except OSError:
        return 0


@attacks(
    "links for the browser",
    Attack("http elsewhere", "http://as.example/login", "https://as.example/login", "https://"),
    Attack("a file", "file:///etc/passwd", "https://as.example/login", "https://"),
    Attack("a script", "javascript:alert(1)", "https://as.example/login", "https://"),
    Attack("an option", "--browser=evil", "https://as.example/login", "https://"),
    Attack("a shell", "https://a/;$(touch x) ", "https://as.example/login", "https://"),
    Attack("a line break", "https://as.example/\nx", "https://as.example/login", "https://"),
)
async def test_a_browser_opens_links_of_the_web_alone(case: Case[str]) -> None:
    async with asyncio.timeout(BOUND_S), opened(case.given) as (login, shown):
        task = asyncio.create_task(login.authorize(asked(await login.open(), case.given)))
        opened_one = asyncio.create_task(shown.opened.wait())
        await asyncio.wait([task, opened_one], return_when=asyncio.FIRST_COMPLETED)
        outcome = PASSED
        if task.done():
            error = task.exception()
            assert isinstance(error, AuthError)
            outcome = str(error)
        case.judge(outcome, [one for one in shown.order if one.startswith("open ")])
        for one in (task, opened_one):
            one.cancel()
        await asyncio.wait([task, opened_one])


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[tuple[BrowserLogin, Shown]]:
    shown = Shown()
    login = BrowserLogin(open_browser=shown.open, show=shown.show)
    try:
        yield login, shown
    finally:
        await login.aclose()
