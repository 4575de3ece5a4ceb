"""Redirects: which are followed, and where they may lead."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcp_gen.auth.flows.exchange import HttpAsk, Purpose
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.fetching.network import (
    ANOTHER_PUBLIC,
    PRIVATE,
    PUBLIC,
    Internet,
    get,
    post,
    server_tls,
)
from tests.support.http.loopback import Got, Line, Script, scripted_web

NAMES: Mapping[str, list[list[str]]] = {
    "as.example": [[PUBLIC]],
    "mcp.example": [[ANOTHER_PUBLIC]],
    "mcp.corp.example": [[PRIVATE]],
    "as.corp.example": [["10.9.9.9"]],
}
PLACES = (PUBLIC, ANOTHER_PUBLIC, PRIVATE, "10.9.9.9", "127.0.0.1")


def redirecting(location: str, status: int = 302) -> Script:
    """Script that redirects the path `/from` and answers others."""

    async def script(got: Got, line: Line) -> None:
        if got.path == "/from":
            await line.answer(status, location=location)
        else:
            await line.answer(200, b"{}")

    return script


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "purpose", [Purpose.RESOURCE_METADATA, Purpose.SERVER_METADATA, Purpose.JWKS]
)
async def test_metadata_and_keys_follow_a_redirect(status: int, purpose: Purpose) -> None:
    async with scripted_web(redirecting("/to?a=b", status), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        answered = await net.fetcher().run(get("https://as.example/from", purpose))
        assert (answered.body, [got.path for got in web.got]) == (b"{}", ["/from", "/to?a=b"])


@pytest.mark.parametrize("purpose", list(Purpose))
async def test_no_post_request_follows_a_redirect(purpose: Purpose) -> None:
    async with scripted_web(redirecting("/to", 307), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        answered = await net.fetcher().run(post("https://as.example/from", purpose))
        assert (answered.status, len(web.got)) == (307, 1)


async def test_the_metadata_of_a_client_follows_no_redirect() -> None:
    async with scripted_web(redirecting("/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        answered = await net.fetcher().run(get("https://as.example/from", Purpose.CLIENT_METADATA))
        assert (answered.status, len(web.got)) == (302, 1)


async def test_a_redirect_to_another_public_server_is_followed_after_a_check() -> None:
    async with scripted_web(redirecting("https://mcp.example/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        await net.fetcher().run(get("https://as.example/from"))
        assert net.connected == [PUBLIC, ANOTHER_PUBLIC]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("https://as.corp.example/to", "is at a private address"),
        ("//10.1.2.3/to", "is at a private address"),
        ("https://127.0.0.1/to", "is at a loopback address"),
        ("https://[::ffff:7f00:1]/to", "is at a loopback address"),
        ("https://169.254.169.254/to", "nothing is sent there"),
        ("http://127.0.0.1/to", "to redirect to https, got http"),
        ("http://as.example/to", "expected an https URL"),
        ("file:///etc/passwd", "expected a URL with a valid host"),
        ("https://me:hunter2@as.example/", "without user and password"),
    ],
)
async def test_a_redirect_of_a_public_server_to_elsewhere_is_refused(
    location: str, reason: str
) -> None:
    async with scripted_web(redirecting(location), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        with pytest.raises(AuthError, match=reason):
            await net.fetcher().run(get("https://as.example/from"))
        assert (net.connected, len(web.got)) == ([PUBLIC], 1)


async def test_an_allowed_host_of_another_class_is_no_target_of_a_redirect() -> None:
    async with scripted_web(redirecting("https://as.corp.example/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        fetcher = net.fetcher(allow_hosts=["as.corp.example"])
        with pytest.raises(AuthError, match="a redirect from a public address may not lead there"):
            await fetcher.run(get("https://as.example/from"))
        assert len(web.got) == 1


async def test_the_configured_internal_server_does_not_redirect_to_public_ones() -> None:
    async with scripted_web(redirecting("https://as.example/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        with pytest.raises(AuthError, match="a redirect from a private address may not lead there"):
            await net.fetcher().run(
                get("https://mcp.corp.example/from"), configured="https://mcp.corp.example/mcp"
            )
        assert len(web.got) == 1


async def test_an_internal_server_redirects_to_one_of_its_class() -> None:
    async with scripted_web(redirecting("https://as.corp.example/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        answered = await net.fetcher().run(
            get("https://mcp.corp.example/from"), configured="https://mcp.corp.example/mcp"
        )
        assert answered.body == b"{}"


async def test_a_name_that_resolves_elsewhere_at_its_redirect_is_refused() -> None:
    async with scripted_web(redirecting("/to"), server_tls()) as web:
        net = Internet({"as.example": [[PUBLIC], ["127.0.0.1"]]}, dict.fromkeys(PLACES, web))
        with pytest.raises(AuthError, match="is at a loopback address"):
            await net.fetcher().run(get("https://as.example/from"))
        assert net.connected == [PUBLIC]


@pytest.mark.parametrize(("allowed", "sent"), [(0, 1), (3, 4)])
async def test_a_circle_of_redirects_ends(allowed: int, sent: int) -> None:
    async with scripted_web(redirecting("/from"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        with pytest.raises(TransportError, match=rf"at most {allowed} times \(max_redirects\)"):
            await net.fetcher(max_redirects=allowed).run(get("https://as.example/from"))
        assert len(web.got) == sent


async def test_headers_for_one_server_are_not_sent_to_the_one_it_redirects_to() -> None:
    async with scripted_web(redirecting("https://mcp.example/to"), server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        headers = {"authorization": "Bearer x", "accept": "application/json"}
        ask = HttpAsk("GET", "https://as.example/from", Purpose.JWKS, headers)
        await net.fetcher().send(ask)
        one, other = (got.headers for got in web.got)
        assert (one["authorization"], other["accept"]) == ("Bearer x", "application/json")
        assert "authorization" not in other


async def test_no_cookie_is_sent_back() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(302 if got.path == "/from" else 200, location="/to", set_cookie="a=b")

    async with scripted_web(script, server_tls()) as web:
        net = Internet(NAMES, dict.fromkeys(PLACES, web))
        await net.fetcher().run(get("https://as.example/from"))
        assert "cookie" not in web.got[1].headers
