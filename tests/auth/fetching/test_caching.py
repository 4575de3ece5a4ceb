"""Which responses are kept, and for how long."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcp_gen.auth.fetching.addresses import AddressClass
from mcp_gen.auth.fetching.caching import AnswerCache, fresh_s
from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk, Purpose
from mcp_gen.core.errors import AuthError
from tests.auth.fetching.network import PRIVATE, PUBLIC, Internet, get, server_tls
from tests.support.http.loopback import Got, Line, scripted_web

ASK = HttpAsk("GET", "https://as.example/x", Purpose.SERVER_METADATA)
ANSWER = HttpAnswer(200, {}, b"{}")
NOON, LATER = "Sat, 01 Jan 2000 12:00:00 GMT", "Sat, 01 Jan 2000 12:00:30 GMT"


class Clock:
    """Clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"cache-control": "private"}, None),
        ({"cache-control": "max-age=90"}, 90),
        ({"cache-control": 'public, Max-Age="90", must-revalidate'}, 90),
        ({"cache-control": "max-age=90", "age": "30"}, 60),
        ({"cache-control": "max-age=90", "age": "99"}, 0),
        ({"cache-control": "max-age=90, no-store"}, 0),
        ({"cache-control": "no-cache"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age=soon"}, 0),
        ({"cache-control": "max-age=10, max-age=999"}, 10),
        ({"cache-control": "max-age=90", "vary": "*"}, 0),
        ({"cache-control": "s-maxage=90"}, None),
        ({"cache-control": "max-age=90", "expires": "0"}, 90),
        ({"expires": LATER, "date": NOON}, 30),
        ({"expires": NOON, "date": LATER}, 0),
        ({"expires": LATER}, 0),
        ({"expires": "0", "date": NOON}, 0),
        ({"expires": "Sat, 01 Jan 99999 12:00:00 GMT", "date": NOON}, 0),
    ],
)
def test_headers_say_how_long_a_response_may_be_kept(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert fresh_s(headers) == seconds


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (ANSWER, 60),
        (HttpAnswer(200, {"cache-control": "max-age=5"}, b"{}"), 5),
        (HttpAnswer(200, {"cache-control": "max-age=99999"}, b"{}"), 3600),
        (HttpAnswer(404), 10),
        (HttpAnswer(404, {"cache-control": "max-age=600"}), 10),
        (HttpAnswer(410, {"cache-control": "max-age=3"}), 3),
    ],
)
def test_a_response_is_kept_until_then_and_no_longer(answer: HttpAnswer, seconds: float) -> None:
    clock = Clock()
    cache = AnswerCache(clock=clock)
    cache.put(ASK, answer, AddressClass.PUBLIC, None)
    clock.now += seconds - 0.001
    kept = cache.get(ASK, None)
    clock.now += 0.002
    assert (kept, cache.get(ASK, None)) == (answer, None)


def test_a_clock_that_is_set_back_keeps_nothing() -> None:
    clock = Clock()
    cache = AnswerCache(clock=clock)
    cache.put(ASK, ANSWER, AddressClass.PUBLIC, None)
    clock.now -= 1
    assert cache.get(ASK, None) is None


@pytest.mark.parametrize("status", [201, 204, 301, 400, 401, 403, 429, 500, 503])
def test_other_statuses_are_not_kept(status: int) -> None:
    cache = AnswerCache()
    cache.put(ASK, HttpAnswer(status, {"cache-control": "max-age=9"}), AddressClass.PUBLIC, None)
    assert cache.get(ASK, None) is None


@pytest.mark.parametrize(
    "ask",
    [
        HttpAsk("POST", "https://as.example/x", Purpose.TOKEN, {}, b""),
        HttpAsk("POST", "https://as.example/x", Purpose.SERVER_METADATA, {}, b""),
        HttpAsk("GET", "https://as.example/x", Purpose.TOKEN),
        HttpAsk("GET", "https://as.example/x", Purpose.INTROSPECTION),
        HttpAsk("GET", "https://as.example/x", Purpose.REGISTRATION),
        HttpAsk("GET", "https://as.example/x", Purpose.JWKS, {"authorization": "Bearer x"}),
    ],
)
def test_what_is_for_one_client_is_not_kept(ask: HttpAsk) -> None:
    cache = AnswerCache()
    cache.put(ask, ANSWER, AddressClass.PUBLIC, None)
    assert cache.get(ask, None) is None


def test_requests_with_other_headers_have_responses_of_their_own() -> None:
    cache = AnswerCache()
    cache.put(ASK, ANSWER, AddressClass.PUBLIC, None)
    other = HttpAsk("GET", ASK.url, ASK.purpose, {"mcp-protocol-version": "x"})
    assert cache.get(other, None) is None


def test_a_request_for_a_new_response_replaces_the_kept_one() -> None:
    cache = AnswerCache()
    cache.put(ASK, ANSWER, AddressClass.PUBLIC, None)
    forced = HttpAsk("GET", ASK.url, ASK.purpose, {"cache-control": "no-cache"})
    assert cache.get(forced, None) is None
    newer = HttpAnswer(200, {}, b"[]")
    cache.put(forced, newer, AddressClass.PUBLIC, None)
    assert cache.get(ASK, None) == newer


@pytest.mark.parametrize("reached", [AddressClass.PRIVATE, AddressClass.LOOPBACK, None])
def test_what_came_from_elsewhere_is_for_the_configured_url_alone(
    reached: AddressClass | None,
) -> None:
    cache = AnswerCache()
    cache.put(ASK, ANSWER, reached, "https://mcp.corp.example/")
    assert cache.get(ASK, "https://mcp.example/") is None
    assert cache.get(ASK, "https://mcp.corp.example/") == ANSWER


def test_the_oldest_response_is_dropped_when_there_are_too_many() -> None:
    cache = AnswerCache(max_entries=2)
    asks = [HttpAsk("GET", f"https://as.example/{at}", Purpose.JWKS) for at in range(3)]
    for ask in asks:
        cache.put(ask, ANSWER, AddressClass.PUBLIC, None)
    assert [cache.get(ask, None) for ask in asks] == [None, ANSWER, ANSWER]


def test_the_size_of_all_responses_is_bounded() -> None:
    cache = AnswerCache(max_bytes=100)
    asks = [HttpAsk("GET", f"https://as.example/{at}", Purpose.JWKS) for at in range(4)]
    answer = HttpAnswer(200, {}, b"x" * 40)
    for ask in asks[:3] * 2:
        cache.put(ask, answer, AddressClass.PUBLIC, None)
    cache.put(asks[3], HttpAnswer(200, {}, b"x" * 101), AddressClass.PUBLIC, None)
    assert [cache.get(ask, None) for ask in asks] == [None, answer, answer, None]


# --- in use ---


async def counted(got: Got, line: Line) -> None:
    headers = {"cache_control": "no-store"} if "no-store" in got.path else {}
    await line.answer(302 if got.path == "/from" else 200, b"{}", location="/to", **headers)


@pytest.mark.parametrize(("path", "sent"), [("/x", 1), ("/no-store", 2), ("/from", 4)])
async def test_a_kept_document_is_not_fetched_again(path: str, sent: int) -> None:
    async with scripted_web(counted) as web:
        fetcher = Fetcher()
        for _ in range(2):
            await fetcher.run(get(f"{web.origin}{path}"), configured=web.url)
        assert len(web.got) == sent


async def test_a_kept_document_of_an_internal_server_is_not_shown_to_a_public_one() -> None:
    async with scripted_web(counted, server_tls()) as web:
        names = {"mcp.example": [[PUBLIC]], "as.corp.example": [[PRIVATE]]}
        net = Internet(names, {PUBLIC: web, PRIVATE: web})
        fetcher, url = net.fetcher(), "https://as.corp.example/x"
        await fetcher.run(get(url), configured="https://as.corp.example/mcp")
        with pytest.raises(AuthError, match="private address"):
            await fetcher.run(get(url), configured="https://mcp.example/mcp")
