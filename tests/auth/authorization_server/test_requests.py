"""Requests of any form to the example authorization server, and a server that misbehaves."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from examples.oauth.authorization_server import AuthorizationServer, Received
from tests.auth.authorization_server.visitor import (
    ISSUER,
    Clock,
    given,
    refusal,
    visiting,
)

TOKEN_URL = f"{ISSUER}/token"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/token", 405),
        ("POST", "/jwks", 405),
        ("DELETE", "/register", 405),
        ("GET", "/consent", 405),
        ("GET", "/", 404),
        ("POST", "/token/", 404),
    ],
)
async def test_another_method_or_path_is_refused(method: str, path: str, status: int) -> None:
    async with visiting() as visitor:
        response = await visitor.http.request(method, f"{ISSUER}{path}")
    assert response.status_code == status
    assert ("allow" in response.headers) is (status == 405)


async def test_a_head_request_is_answered_like_a_get() -> None:
    async with visiting() as visitor:
        assert (await visitor.http.head(f"{ISSUER}/jwks")).status_code == 200


async def test_an_authorization_request_may_be_posted() -> None:
    async with visiting() as visitor:
        response = await visitor.http.post(f"{ISSUER}/authorize", data=visitor.authorization)
    assert response.status_code == 303


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b'{"grant_type":"authorization_code"}', "application/json"),
        (b"grant_type=authorization_code", "text/plain"),
        (b"grant_type=\xff", "application/x-www-form-urlencoded"),
        (b"grant_type=%ff", "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % i for i in range(65)), "application/x-www-form-urlencoded"),
        (b"grant_type=refresh_token&grant_type=x", "application/x-www-form-urlencoded"),
        (b"", "application/x-www-form-urlencoded"),
        (b"grant_type=", "application/x-www-form-urlencoded"),
    ],
)
async def test_a_body_that_is_no_proper_form_is_refused(content: bytes, content_type: str) -> None:
    async with visiting() as visitor:
        headers = {"content-type": content_type}
        response = await visitor.http.post(TOKEN_URL, content=content, headers=headers)
    assert refusal(response) == (400, "invalid_request")


async def test_a_grant_that_is_unknown_or_switched_off_is_refused() -> None:
    async with visiting(grant_types=("authorization_code",)) as visitor:
        grants = ("password", "refresh_token")
        found = [refusal(await visitor.post("token", grant_type=one)) for one in grants]
    assert found == [(400, "unsupported_grant_type")] * 2


async def test_a_body_that_is_too_large_is_refused_and_logged_in_part() -> None:
    async with visiting(max_body_bytes=100) as visitor:
        response = await visitor.http.post(TOKEN_URL, content=b"x" * 1000)
        (logged,) = visitor.server.received("token")
    assert (refusal(response), len(logged.body)) == ((413, "invalid_request"), 101)


async def test_the_log_is_bounded() -> None:
    async with visiting(max_requests_logged=3) as visitor:
        for i in range(5):
            await visitor.http.get(f"{ISSUER}/{i}")
        assert [one.path for one in visitor.server.requests] == ["/2", "/3", "/4"]


async def test_a_script_of_another_origin_may_ask_for_tokens_and_not_for_pages() -> None:
    names = ("token", "register", "authorize", "consent")
    async with visiting(consent="page") as visitor:
        found = [(await visitor.http.options(f"{ISSUER}/{one}")).status_code for one in names]
        page = await visitor.authorize()
    assert found == [204, 204, 405, 405]
    assert "access-control-allow-origin" not in page.headers


async def test_beyond_the_limit_the_oldest_code_is_forgotten() -> None:
    async with visiting(max_held=2) as visitor:
        codes = [await visitor.code() for _ in range(3)]
        statuses = [(await visitor.exchange(code)).status_code for code in codes]
    assert statuses == [400, 200, 200]


async def test_a_setting_can_be_changed_while_the_server_runs() -> None:
    async with visiting() as visitor:
        before = await visitor.redirected()
        visitor.server.iss_parameter = False
        after = await visitor.redirected()
        visitor.server.issuer = f"{ISSUER}/moved"
        moved = await visitor.login()
        claims = await visitor.claims(moved["access_token"])
    assert ("iss" in before, "iss" in after) == (True, False)
    assert claims["iss"] == f"{ISSUER}/moved"


async def test_an_endpoint_can_be_replaced_in_a_subclass() -> None:
    class Thief(AuthorizationServer):
        async def token(self, asked: Received) -> Response:
            return self.json({"access_token": asked.form["code"], "token_type": "Bearer"})

    async with visiting(Thief(issuer=ISSUER, clock=Clock())) as visitor:
        code = await visitor.code()
        assert given(await visitor.exchange(code))["access_token"] == code
