"""Consent and the way back: bound to the client, to the browser, and to one use."""

from __future__ import annotations

import pytest

from mcp_gen.auth import MemoryProxyStore
from tests.auth.proxy.people import (
    BASE,
    REDIRECT,
    Browser,
    Clock,
    SlowStore,
    World,
    params_of,
    ticket_of,
    world,
)

COOKIE = "__Host-mcp-login"


async def at_callback(at: World, browser: Browser) -> str:
    """Return the URL of the callback that the provider sends a browser to."""
    app = await at.application()
    to_provider = await browser.decide(await browser.open(app.url()))
    back = await browser.open(to_provider.headers["location"])
    return str(back.headers["location"])


def is_refused(answer: object) -> bool:
    """Return True if a response is a page that refuses, and no redirect."""
    status: int = getattr(answer, "status_code", 0)
    return status in (400, 403) and "location" not in getattr(answer, "headers", {})


async def test_nothing_goes_to_the_provider_without_consent() -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        page = await browser.open(app.url())
        assert (page.status_code, "location" in page.headers) == (200, False)
        no_ticket = await browser.http.post(f"{BASE}/consent", data={"decision": "allow"})
        by_get = await browser.open(f"{BASE}/consent?decision=allow&ticket={ticket_of(page)}")
        assert is_refused(no_ticket)
        assert by_get.status_code == 405
        assert at.logins_at_provider() == 0


async def test_consent_to_one_client_is_none_to_another() -> None:
    async with world() as at:
        first, second = await at.application(), await at.application("https://evil.example/")
        browser = at.browser()
        await browser.log_in(first.url())
        for app in (first, second):
            asked = await browser.open(app.url())
            assert (asked.status_code, "location" in asked.headers) == (200, False)
        assert at.logins_at_provider() == 1


async def test_a_consent_form_brings_back_the_request_that_was_shown() -> None:
    async with world() as at:
        first, second = await at.application(), await at.application("https://evil.example/")
        browser = at.browser()
        ticket = ticket_of(await browser.open(first.url()))
        payload = ticket_of(await browser.open(second.url())).partition(".")[0]
        forged = {"ticket": f"{payload}.{ticket.partition('.')[2]}", "decision": "allow"}
        refused = await browser.http.post(f"{BASE}/consent", data=forged)
        added = {
            "ticket": ticket,
            "decision": "deny",
            "redirect_uri": "https://evil.example/",
            "client_id": second.client_id,
        }
        told = await browser.http.post(f"{BASE}/consent", data=added)
    assert is_refused(refused)
    assert told.headers["location"].startswith(REDIRECT)


async def test_a_client_id_is_no_ticket_and_a_ticket_no_cookie() -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        page = await browser.open(app.url())
        signed = {"ticket": app.client_id, "decision": "allow"}
        assert is_refused(await browser.http.post(f"{BASE}/consent", data=signed))
        other = at.browser()
        other.http.cookies.set(COOKIE, ticket_of(page), domain="api.example", path="/")
        assert is_refused(await other.decide(page))


@pytest.mark.parametrize("who", ["no cookie", "another browser", "made up"])
async def test_a_consent_form_of_another_browser_is_refused(who: str) -> None:
    async with world() as at:
        app = await at.application()
        browser, other = at.browser(), at.browser()
        page = await browser.open(app.url())
        if who == "another browser":
            await other.open(app.url())
        elif who == "made up":
            other.http.cookies.set(COOKIE, "chosen", domain="api.example", path="/")
        assert is_refused(await other.decide(page))
        assert at.logins_at_provider() == 0
        assert (await browser.decide(page)).status_code == 303


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://api.example"])
async def test_a_consent_form_of_another_origin_is_refused(origin: str) -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        page = await browser.open(app.url())
        assert is_refused(await browser.decide(page, origin=origin))
        assert (await browser.decide(page, origin=BASE)).status_code == 303


async def test_a_consent_page_gets_too_old() -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        page = await browser.open(app.url())
        at.clock.now += 601
        assert is_refused(await browser.decide(page))


@pytest.mark.parametrize("who", ["no cookie", "another browser"])
async def test_a_response_of_the_provider_in_another_browser_is_refused(who: str) -> None:
    async with world() as at:
        browser, other = at.browser(), at.browser()
        callback = await at_callback(at, browser)
        if who == "another browser":
            await at_callback(at, other)
        assert is_refused(await other.open(callback))
        assert at.provider.received("token") == []
        # It is still of use to the one whose it is.
        assert "code" in params_of((await browser.open(callback)).headers["location"])


async def test_a_state_is_used_once() -> None:
    async with world() as at:
        browser = at.browser()
        callback = await at_callback(at, browser)
        first = await browser.open(callback)
        again = await browser.open(callback)
        assert first.status_code == 303
        assert is_refused(again)
        assert len(at.provider.received("token")) == 1


@pytest.mark.parametrize("state", ["", "unknown", "its state"])
async def test_a_state_that_is_not_of_the_proxy_is_refused(state: str) -> None:
    async with world() as at:
        browser = at.browser()
        await at_callback(at, browser)
        assert is_refused(await browser.open(f"{BASE}/callback?code=x&state={state}"))
        assert at.provider.received("token") == []


@pytest.mark.parametrize("store", [None, SlowStore()])
async def test_a_login_gets_too_old(store: MemoryProxyStore | None) -> None:
    async with world(store=store) as at:
        browser = at.browser()
        callback = await at_callback(at, browser)
        at.clock.now += 601
        assert is_refused(await browser.open(callback))


@pytest.mark.parametrize("iss", ["", "https://evil.example", "https://login.example/"])
async def test_a_response_that_names_another_issuer_is_not_exchanged(iss: str) -> None:
    async with world() as at:
        browser = at.browser()
        callback = await at_callback(at, browser)
        start, _, _ = callback.partition("&iss=")
        told = await browser.open(f"{start}&iss={iss}" if iss else start)
        assert params_of(told.headers["location"])["error"] == "server_error"
        assert at.provider.received("token") == []


async def test_logins_under_way_are_bounded_and_the_oldest_goes() -> None:
    clock = Clock()
    async with world(store=MemoryProxyStore(max_logins=2, clock=clock), clock=clock) as at:
        browser = at.browser()
        callbacks = [await at_callback(at, browser) for _ in range(3)]
        answers = [await browser.open(one) for one in callbacks]
    assert [is_refused(one) for one in answers] == [True, False, False]
