"""Requests through a proxy, and with a given client: what still holds, and what is told."""

from __future__ import annotations

import gzip
import logging

import httpx2
import pytest

from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import Purpose
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.fetching.network import get, post
from tests.support.http.loopback import Got, Line, Web, scripted_web


async def refuse(got: Got, line: Line) -> None:
    await line.answer(403)


async def answer(got: Got, line: Line) -> None:
    await line.answer(200, b"{}")


def use_proxy(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", web.origin.replace("//", "//me:hunter2@"))


def client_to(web: Web) -> httpx2.AsyncClient:
    """Client that sends everything to one server."""

    class Everywhere(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=web.port)
            return await super().handle_async_request(request)

    return httpx2.AsyncClient(
        transport=Everywhere(),
        headers={"authorization": "Bearer of-another", "x-key": "hunter2"},
        cookies={"session": "hunter2"},
        auth=("me", "hunter2"),
        follow_redirects=True,
    )


# --- a proxy of the environment ---


async def test_the_proxy_of_the_environment_is_asked_for_a_tunnel_to_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scripted_web(refuse) as proxy:
        use_proxy(proxy, monkeypatch)
        with pytest.raises(TransportError, match=r"as\.example: cannot be reached: 403"):
            await Fetcher().run(post("https://as.example/token"))
        (got,) = proxy.got
        assert (got.method, got.path) == ("CONNECT", "as.example:443")
        assert got.headers["proxy-authorization"] == "Basic bWU6aHVudGVyMg=="


async def test_a_proxy_is_logged_once_without_its_password(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_web(refuse) as proxy:
        use_proxy(proxy, monkeypatch)
        fetcher = Fetcher()
        with caplog.at_level(logging.WARNING, "mcp_gen.auth"):
            for _ in range(2):
                with pytest.raises(TransportError):
                    await fetcher.run(post("https://as.example/token"))
    (record,) = caplog.records
    assert "proxy 127.0.0.1" in record.getMessage()
    assert "hunter2" not in record.getMessage()


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[fd00::1]", "169.254.169.254"]
)
async def test_an_address_in_a_url_is_checked_before_a_proxy_too(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_web(refuse) as proxy:
        use_proxy(proxy, monkeypatch)
        with pytest.raises(AuthError):
            await Fetcher().run(get(f"https://{host}/"), configured="https://mcp.example/")
        assert proxy.got == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_no_proxy_is_used_for_loopback(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_web(answer) as web, scripted_web(refuse) as proxy:
        monkeypatch.setenv("http_proxy", proxy.origin)
        url = f"http://{host}:{web.port}/"
        await Fetcher().run(get(url), configured=url)
        assert (len(web.got), proxy.got) == (1, [])


async def test_a_proxy_that_is_none_of_http_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(TransportError, match="a proxy that is none of HTTP"):
        await Fetcher().run(get("https://as.example/"))


# --- a given client ---


async def test_a_given_client_sends_the_request_and_nothing_of_its_own() -> None:
    async with scripted_web(answer) as web, client_to(web) as client:
        answered = await Fetcher(client=client).run(post("https://as.example/token", body=b"a=b"))
        assert answered.body == b"{}"
        (got,) = web.got
        assert (got.method, got.path, got.body) == ("POST", "/token", b"a=b")
        assert got.headers.keys() == {"host", "content-length", "accept-encoding"}


async def test_a_given_client_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with scripted_web(answer) as web, client_to(web) as client:
        fetcher = Fetcher(client=client)
        with caplog.at_level(logging.WARNING, "mcp_gen.auth"):
            for _ in range(2):
                await fetcher.run(post("https://as.example/token"))
    assert len([one for one in caplog.records if one.name == "mcp_gen.auth"]) == 1


@pytest.mark.parametrize(
    "url",
    ["https://10.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://localhost/", "http://a.example/"],
)
async def test_a_url_is_checked_before_a_given_client_too(url: str) -> None:
    async with scripted_web(answer) as web, client_to(web) as client:
        with pytest.raises(AuthError):
            await Fetcher(client=client).run(get(url), configured="https://mcp.example/")
        assert web.got == []


async def test_a_given_client_follows_no_redirect_of_a_post_request() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(307, location="https://other.example/")

    async with scripted_web(script) as web, client_to(web) as client:
        answered = await Fetcher(client=client).run(post("https://as.example/token"))
        assert (answered.status, len(web.got)) == (307, 1)


async def test_a_redirect_to_an_address_is_checked_with_a_given_client() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(302, location="https://169.254.169.254/")

    async with scripted_web(script) as web, client_to(web) as client:
        with pytest.raises(AuthError, match="nothing is sent there"):
            await Fetcher(client=client).run(get("https://as.example/", Purpose.JWKS))
        assert len(web.got) == 1


async def test_a_given_client_decompresses_nothing() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(200, gzip.compress(b"x" * 100_000), content_encoding="gzip")

    async with scripted_web(script) as web, client_to(web) as client:
        with pytest.raises(TransportError, match="is compressed"):
            await Fetcher(client=client).run(get("https://as.example/"))


async def test_a_response_to_a_given_client_is_bounded() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 101)

    async with scripted_web(script) as web, client_to(web) as client:
        with pytest.raises(TransportError, match="max_body_bytes"):
            await Fetcher(client=client, max_body_bytes=100).run(get("https://as.example/"))


async def test_a_given_client_that_reaches_nobody_says_so() -> None:
    async with httpx2.AsyncClient() as client:
        url = "http://127.0.0.1:9/"
        with pytest.raises(TransportError, match=r"127\.0\.0\.1: cannot be reached"):
            await Fetcher(client=client).run(get(url), configured=url)
