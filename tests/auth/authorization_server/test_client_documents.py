"""Client id metadata documents at the example authorization server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from examples.oauth.authorization_server import Client, Document
from examples.oauth.authorization_server.fetching import DocumentFetcher
from tests.auth.authorization_server.visitor import REDIRECT, redirect_params, visiting
from tests.support.http.loopback import Got, Line, scripted_web

URL = "https://app.example/client.json"
RIGHT: dict[str, Any] = {"client_id": URL, "client_name": "Notes", "redirect_uris": [REDIRECT]}


class Web:
    """The web, which has one document, or does not answer."""

    def __init__(self, content: Any = RIGHT, *, status: int = 200, kind: str = "application/json"):
        self.down = False
        body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        self.document = Document(status, kind, body)
        self.asked: list[str] = []

    async def __call__(self, url: str) -> Document:
        self.asked.append(url)
        if self.down:
            raise OSError("no answer")
        return self.document


async def test_a_client_that_has_a_document_can_log_in_without_registration() -> None:
    web = Web({**RIGHT, "grant_types": ["authorization_code", "refresh_token"]})
    async with visiting(fetch=web) as visitor:
        visitor.client = Client(client_id=URL)
        tokens = await visitor.login()
        claims = await visitor.claims(tokens["access_token"])
    assert claims["client_id"] == URL
    assert "refresh_token" in tokens


async def test_a_document_is_kept_for_a_while() -> None:
    web = Web()
    async with visiting(fetch=web) as visitor:
        for _ in range(2):
            await visitor.authorize(client_id=URL)
        kept = len(web.asked)
        visitor.clock.now += 301
        await visitor.authorize(client_id=URL)
    assert (kept, web.asked) == (1, [URL, URL])


@pytest.mark.parametrize("fetches", [True, False])
async def test_the_metadata_say_whether_documents_are_taken(fetches: bool) -> None:
    async with visiting(fetch=Web() if fetches else None) as visitor:
        path = "http://as.example/.well-known/oauth-authorization-server"
        found = (await visitor.http.get(path)).json()
    assert ("client_id_metadata_document_supported" in found) is fetches


@pytest.mark.parametrize(
    "web",
    [
        lambda: Web({**RIGHT, "client_id": "https://other.example/client.json"}),
        lambda: Web({**RIGHT, "client_id": None}),
        lambda: Web({**RIGHT, "redirect_uris": []}),
        lambda: Web({**RIGHT, "redirect_uris": ["https://evil.example/"]}),
        lambda: Web({**RIGHT, "client_secret": "shared"}),
        lambda: Web({**RIGHT, "token_endpoint_auth_method": "client_secret_post"}),
        lambda: Web({**RIGHT, "token_endpoint_auth_method": "private_key_jwt"}),
        lambda: Web([]),
        lambda: Web(b"{"),
        lambda: Web({**RIGHT, "logo": "x" * 5120}),
        lambda: Web(status=404),
        lambda: Web(kind="text/html"),
    ],
)
async def test_a_document_that_is_wrong_is_refused_without_a_redirect(
    web: Callable[[], Web],
) -> None:
    fetch = web()
    async with visiting(fetch=fetch) as visitor:
        response = await visitor.authorize(client_id=URL)
    assert (response.status_code, fetch.asked) == (400, [URL])


async def test_a_document_that_was_not_fetched_is_asked_for_again() -> None:
    web = Web()
    async with visiting(fetch=web) as visitor:
        web.down = True
        first = await visitor.authorize(client_id=URL)
        web.down = False
        second = await visitor.authorize(client_id=URL)
    assert (first.status_code, second.status_code) == (400, 303)


@pytest.mark.parametrize(
    "client_id",
    [
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://user@app.example/client.json",
        "https://app.example/a/../client.json",
        "https://app.example/client.json#part",
        "https://app.example/client.json?query",
        "https:///client.json",
    ],
)
async def test_what_cannot_be_a_document_is_not_fetched(client_id: str) -> None:
    web = Web({**RIGHT, "client_id": client_id})
    async with visiting(fetch=web) as visitor:
        response = await visitor.authorize(client_id=client_id)
    assert (response.status_code, web.asked) == (400, [])


async def test_a_server_that_takes_no_documents_fetches_none() -> None:
    web = Web()
    async with visiting(fetch=web, client_id_metadata_documents=False) as visitor:
        assert (await visitor.authorize(client_id=URL)).status_code == 400
    assert web.asked == []


async def test_the_fetcher_for_demos_reads_a_document_up_to_its_limit() -> None:
    async def answer(got: Got, line: Line) -> None:
        await line.answer(200, b"{" + b" " * 100, "application/json")

    async with scripted_web(answer) as web:
        found = await DocumentFetcher({"127.0.0.1"}, max_bytes=10)(web.url)
    assert found == Document(200, "application/json", b"{" + b" " * 10)


async def test_the_fetcher_for_demos_asks_no_host_that_is_not_listed() -> None:
    async def answer(got: Got, line: Line) -> None:
        await line.answer(200)

    async with scripted_web(answer) as web:
        with pytest.raises(OSError, match="not one that documents are fetched from"):
            await DocumentFetcher({"app.example"})(web.url)
        assert web.got == []


async def test_the_fetcher_for_demos_follows_no_redirect() -> None:
    async def answer(got: Got, line: Line) -> None:
        await line.answer(302, location=f"{web.origin}/other")

    async with scripted_web(answer) as web:
        found = await DocumentFetcher({"127.0.0.1"})(web.url)
        paths = [got.path for got in web.got]
    assert (found.status, paths) == (302, ["/mcp"])


async def test_an_answer_that_is_no_http_is_an_error_of_the_connection() -> None:
    async def answer(got: Got, line: Line) -> None:
        await line.raw(b"hello\r\n\r\n")

    async with scripted_web(answer) as web:
        with pytest.raises(OSError, match="not HTTP"):
            await DocumentFetcher({"127.0.0.1"})(web.url)


async def test_the_port_of_a_document_s_redirect_uri_on_loopback_may_differ() -> None:
    async with visiting(fetch=Web()) as visitor:
        response = await visitor.authorize(
            client_id=URL, redirect_uri="http://127.0.0.1:9/callback"
        )
    assert "code" in redirect_params(response)
