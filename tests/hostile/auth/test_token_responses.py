"""Responses of token endpoints that carry what no client may use, and what no header may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from mcp_gen.auth import DPoP
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import HONEST, URL, World, json_answer, opened_world

DEEP = b'{"access_token": "t", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
WIDE = b'{"access_token": "' + b"x" * 300_000 + b'"}'
GOOD: Mapping[str, Any] = {}


def with_token(world: World) -> list[str]:
    """Return the requests to the server that have shown a token."""
    return [one.token for one in world.sent(URL) if one.token]


@attacks(
    "members of a token response",
    Attack("no token", {"access_token": None}, GOOD, "not as expected"),
    Attack("a token that ends the header", {"access_token": "a\r\nx: y"}, GOOD, "printable"),
    Attack("a token that is no text", {"access_token": 5}, GOOD, "not as expected"),
    Attack("an empty token", {"access_token": ""}, GOOD, "printable"),
    Attack("a token beyond ASCII", {"access_token": "tøken"}, GOOD, "printable"),
    Attack("a type of token that is unknown", {"token_type": "mac"}, GOOD, "of the type 'mac'"),
    Attack("a bound token without a proof", {"token_type": "DPoP"}, GOOD, "of the type 'DPoP'"),
    Attack("an ID-JAG as token", {"token_type": "N_A"}, GOOD, "of the type 'N_A'"),
)
async def test_a_token_that_cannot_be_used_is_sent_to_nobody(
    case: Case[Mapping[str, Any]],
) -> None:
    async with opened_world() as world:
        world.server.changes["token"] = case.given
        case.judge(await world.call(), with_token(world))


@attacks(
    "bodies of a token response",
    Attack("deep JSON", DEEP, b"", "expected a JSON document|deep"),
    Attack("more than is read", WIDE, b"", "262144"),
    Attack("no JSON", b"<html>", b"", "expected a JSON document"),
    Attack("no UTF-8", b'{"access_token": "\xff"}', b"", "expected a JSON document"),
    Attack("a list", b"[]", b"", "not as expected"),
)
async def test_a_body_that_is_no_token_response_is_an_error(case: Case[bytes]) -> None:
    async with opened_world() as world:
        if case.given:
            world.net.answers[f"{HONEST}/token"] = lambda _: json_answer(case.given)
        case.judge(await world.call(), with_token(world))


@attacks(
    "a token that is less than was asked for",
    Attack("a bearer token in answer to a proof", "Bearer", "DPoP", "issued a bearer token"),
)
async def test_a_bound_token_is_not_replaced_by_a_bearer_token(case: Case[str]) -> None:
    async with opened_world() as world:
        world.server.changes["token"] = {"token_type": case.given}
        auth = DPoP(world.oauth(), clock=world.clock)
        case.judge(await world.call(auth=auth), with_token(world))
        await auth.aclose()


@attacks(
    "a redirect of a token request",
    Attack("to another origin", 307, 200, "status 307"),
    Attack("that changes the method", 302, 200, "status 302"),
)
async def test_a_token_request_is_not_sent_elsewhere(case: Case[int]) -> None:
    async with opened_world() as world:
        if case.given != 200:
            world.answer(f"{HONEST}/token", {}, case.given, location="https://evil.example/token")
        case.judge(await world.call(), with_token(world))
        assert world.sent("https://evil.example") == []


NEAR = f"{URL}/moved"


@attacks(
    "a redirect of the server",
    Attack("to another origin", "https://evil.example/mcp", NEAR, "another origin"),
    Attack("to another scheme", "http://api.example/mcp", NEAR, "another origin"),
    Attack("to another port", "https://api.example:8443/mcp", NEAR, "another origin"),
    Attack("to a name that begins alike", "https://api.example.evil/mcp", NEAR, "another origin"),
    Attack("to user info", "https://api.example@evil.example/mcp", NEAR, "another origin"),
)
async def test_a_token_is_not_sent_where_its_server_redirects_to(case: Case[str]) -> None:
    async with opened_world() as world:
        assert await world.call() == PASSED
        before = len(world.net.log)

        async def moved(request: httpx2.Request) -> httpx2.Response:
            same = httpx2.Request("POST", URL, headers=request.headers, content=request.content)
            return await world.net.hosts["api.example"].handle_async_request(same)

        world.net.answers[URL] = lambda _: json_answer({}, 307, location=case.given)
        world.net.answers[case.given] = moved
        outcome = await world.call()
        case.judge(outcome, [one for one in world.net.log[before:] if one.url == case.given])
        assert all(one.url == URL for one in world.net.log[before:] if case.is_hostile)


@attacks(
    "a path beside the resource",
    Attack("at the same origin", "https://api.example/mcp-evil", NEAR, "401"),
)
async def test_a_token_is_not_sent_to_another_resource_of_the_same_origin(case: Case[str]) -> None:
    async with opened_world() as world:
        assert await world.call() == PASSED
        lines = await world.auth.headers("POST", case.given)
        outcome = PASSED if lines else "401: no token"
        case.judge(outcome, lines)
