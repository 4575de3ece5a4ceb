"""The consent page of the example authorization server."""

from __future__ import annotations

from html.parser import HTMLParser

import httpx2
import pytest
from msgspec.structs import replace

from tests.auth.authorization_server.visitor import (
    ISSUER,
    Visitor,
    given,
    redirect_params,
    visiting,
)


class Form(HTMLParser):
    """Form of a page, and the tags of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        if tag == "form":
            self.action = found["action"]
        elif found.get("type") == "hidden":
            self.fields[found["name"]] = found["value"]


async def decide(visitor: Visitor, page: httpx2.Response, **fields: str) -> httpx2.Response:
    """Send the form of a page, as the demo user who allows, or with other fields."""
    form = Form(page.text)
    usual = {"user": "demo", "password": "demo", "decision": "allow"}
    return await visitor.http.post(form.action, data={**form.fields, **usual, **fields})


async def test_a_user_who_allows_is_sent_back_with_a_code() -> None:
    async with visiting(consent="page") as visitor:
        response = await decide(visitor, await visitor.authorize())
        found = redirect_params(response)
        tokens = given(await visitor.exchange(found["code"]))
    assert (found["state"], found["iss"]) == ("its state", ISSUER)
    assert tokens["token_type"] == "Bearer"


async def test_a_user_who_denies_needs_no_password() -> None:
    async with visiting(consent="page") as visitor:
        page = await visitor.authorize()
        found = redirect_params(await decide(visitor, page, decision="deny", user="", password=""))
    del found["error_description"]
    assert found == {"error": "access_denied", "state": "its state", "iss": ISSUER}


async def test_consent_can_be_denied_without_a_page() -> None:
    async with visiting(consent="denied") as visitor:
        assert (await visitor.redirected())["error"] == "access_denied"


@pytest.mark.parametrize("fields", [{"password": "wrong"}, {"user": "nobody"}, {"password": ""}])
async def test_a_wrong_password_shows_the_page_again(fields: dict[str, str]) -> None:
    async with visiting(consent="page") as visitor:
        again = await decide(visitor, await visitor.authorize(), **fields)
        allowed = await decide(visitor, again)
    assert (again.status_code, "wrong password" in again.text) == (401, True)
    assert "code" in redirect_params(allowed)


async def test_a_page_is_good_for_one_decision() -> None:
    async with visiting(consent="page") as visitor:
        page = await visitor.authorize()
        first, second = [await decide(visitor, page) for _ in range(2)]
    assert (first.status_code, second.status_code) == (303, 400)


async def test_a_page_expires() -> None:
    async with visiting(consent="page") as visitor:
        page = await visitor.authorize()
        visitor.clock.now += 601
        assert (await decide(visitor, page)).status_code == 400


async def test_a_page_tells_who_asks_for_what_and_runs_nothing_of_theirs() -> None:
    async with visiting(consent="page") as visitor:
        name = "<script>alert(1)</script>"
        visitor.server.clients.add(replace(visitor.client, name=name))
        page = await visitor.authorize(scope="files <b>")
    assert Form(page.text).tags & {"script", "b"} == set()
    for text in ("&lt;script&gt;", "https://api.example/mcp", "files", "127.0.0.1:4711"):
        assert text in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_an_error_page_runs_nothing_of_the_request() -> None:
    async with visiting() as visitor:
        page = await visitor.authorize(client_id="<script>alert(1)</script>")
    assert (page.status_code, Form(page.text).tags & {"script", "form"}) == (400, set())
