"""Requests whose credentials stand where none are, stand twice, or are no credentials."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from mcp_gen.auth import GatewayHeaders
from tests.auth.server.requests import challenges, refused, scope
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_tokens import claims, signed
from tests.hostile.auth.world import EVIL, HONEST, PRM, URL, opened_world

TOKEN = "TOKEN"
"""Stands for a valid token."""


class Shown(NamedTuple):
    """Forms in which a request shows a valid token."""

    lines: tuple[tuple[str, str], ...] = (("authorization", f"Bearer {TOKEN}"),)
    query: str = ""
    body: bytes = b""


def header(value: str, *more: str) -> Shown:
    return Shown(tuple(("authorization", one) for one in (value, *more)))


RIGHT = Shown()
UNKNOWN = "^401 Bearer scope="
"""Refusal of a request without a token: it says where to have one, and no error."""
MALFORMED = '^400 .*error="invalid_request"'


@attacks(
    "place of a token",
    Attack("in the query", Shown((), f"access_token={TOKEN}"), RIGHT, MALFORMED),
    Attack("in the query, encoded", Shown((), f"access%5Ftoken={TOKEN}"), RIGHT, MALFORMED),
    Attack("in the query beside a header", Shown(query=f"access_token={TOKEN}"), RIGHT, MALFORMED),
    Attack("in the query with others", Shown((), f"a=b&access_token={TOKEN}"), RIGHT, MALFORMED),
    Attack("in a cookie", Shown((("cookie", f"access_token={TOKEN}"),)), RIGHT, UNKNOWN),
    Attack("in a header alike", Shown((("x-authorization", f"Bearer {TOKEN}"),)), RIGHT, UNKNOWN),
    Attack("for a proxy", Shown((("proxy-authorization", f"Bearer {TOKEN}"),)), RIGHT, UNKNOWN),
    Attack("as scheme of another", header(f"Basic {TOKEN}"), RIGHT, UNKNOWN),
    Attack("without a scheme", header(TOKEN), RIGHT, UNKNOWN),
    Attack("behind a colon", header(f"Bearer: {TOKEN}"), RIGHT, UNKNOWN),
    Attack("behind a tab", header(f"Bearer\t{TOKEN}"), RIGHT, UNKNOWN),
    Attack("without a blank", header(f"Bearer{TOKEN}"), RIGHT, UNKNOWN),
    Attack("in quotes", header(f'Bearer "{TOKEN}"'), RIGHT, MALFORMED),
    Attack("twice in one header", header(f"Bearer {TOKEN}, Bearer {TOKEN}"), RIGHT, MALFORMED),
    Attack("with parameters", header(f"Bearer {TOKEN}, realm=x"), RIGHT, MALFORMED),
    Attack("not there", header("Bearer "), header(f"bearer {TOKEN}"), MALFORMED),
    Attack("in two headers", header(f"Bearer {TOKEN}", f"Bearer {TOKEN}"), RIGHT, MALFORMED),
    Attack("beside another", header("Bearer other", f"Bearer {TOKEN}"), RIGHT, MALFORMED),
    Attack("before another", header(f"Bearer {TOKEN}", "Basic eDp5"), RIGHT, MALFORMED),
    Attack("huge", header("Bearer " + "a" * 60_000), RIGHT, "^401 .*invalid_token|^431 "),
    Attack("beyond ASCII", header("Bearer tok\xffen"), RIGHT, MALFORMED),
    Attack("none at all", Shown(()), RIGHT, UNKNOWN),
)
@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
async def test_a_token_is_read_in_one_place_alone(case: Case[Shown], known: bool) -> None:
    """Also if the same token was verified a moment before."""
    async with opened_world() as world:
        token = signed(world)
        if known:
            assert await world.post(token) == PASSED
            del world.called[:]
        lines = [(name, value.replace(TOKEN, token)) for name, value in case.given.lines]
        query = case.given.query.replace(TOKEN, quote(token)).encode()
        case.judge(await world.post(None, *lines, query_string=query), world.called)


@attacks(
    "methods and paths without a token",
    Attack("GET of the endpoint", ("GET", "/mcp"), ("POST", "/mcp"), "401"),
    Attack("DELETE of the endpoint", ("DELETE", "/mcp"), ("POST", "/mcp"), "401"),
    Attack("HEAD of the endpoint", ("HEAD", "/mcp"), ("POST", "/mcp"), "401|405"),
    Attack("PUT of the endpoint", ("PUT", "/mcp"), ("POST", "/mcp"), "401|405"),
    Attack("a slash more", ("POST", "/mcp/"), ("POST", "/mcp"), "401|404|307"),
    Attack("two slashes", ("POST", "//mcp"), ("POST", "/mcp"), "401|404"),
    Attack("dots", ("POST", "/.well-known/../mcp"), ("POST", "/mcp"), "401|404"),
    Attack(
        "below the metadata",
        ("POST", "/.well-known/oauth-protected-resource/mcp/../../../mcp"),
        ("POST", "/mcp"),
        "401|404",
    ),
    Attack("another case", ("POST", "/MCP"), ("POST", "/mcp"), "401|404"),
)
async def test_there_is_no_way_around_the_gate(case: Case[tuple[str, str]]) -> None:
    """The twin shows a token."""
    method, path = case.given
    async with opened_world() as world:
        token = None if case.is_hostile else signed(world)
        case.judge(await world.post(token, method=method, path=path), world.called)


@attacks(
    "a Host that is not the server's",
    Attack("in the metadata", "evil.example", "api.example", "evil"),
)
async def test_the_metadata_names_the_resource_that_is_configured(case: Case[str]) -> None:
    """A poisoned Host leads no client elsewhere: not by the challenge, not by the document."""
    async with opened_world() as world:
        response = await world.http.get(PRM, headers={"host": case.given})
        told = [response.json()["resource"]] if response.status_code == 200 else []
        assert set(told) <= {URL}
        refused = await world.http.post(URL, headers={"host": case.given}, content=b"{}")
        line = refused.headers.get("www-authenticate", "")
        assert "evil" not in line
        outcome = PASSED if told else f"evil {response.status_code}"
        case.judge(outcome, told)


@attacks(
    "a Host where no URL is configured",
    Attack("of nobody", "evil.example", "api.example", "10.0.0.5"),
    Attack("that begins alike", "api.example.evil", "api.example", "10.0.0.5"),
    Attack("with user info", "api.example@evil.example", "api.example", "10.0.0.5"),
    Attack("with a path", "evil.example/api.example", "api.example", "10.0.0.5"),
    Attack("with a line", "api.example\r\nx: y", "api.example", "10.0.0.5"),
)
async def test_a_host_is_believed_if_it_is_allowed(case: Case[str]) -> None:
    """Else the address of the socket is told, which is of no use to an attacker."""
    async with opened_world() as world:
        world.protect(audience="my-api", allowed_hosts=["api.example"])
        refusal = await refused(world.gate, ("host", case.given))
        (line, *_) = challenges(refusal)
        document = await world.gate.document(
            scope(("host", case.given)), "/.well-known/oauth-protected-resource/mcp"
        )
        told = f"{line} {document!r}"
        assert "evil" not in told
        believed = ["api.example"] if "api.example/mcp" in told else []
        case.judge(PASSED if believed else told, believed)


GATEWAY = "gateway-secret-of-16"


@attacks(
    "headers of a gateway",
    Attack("from somebody else", ("203.0.113.9", GATEWAY), ("10.1.0.5", GATEWAY), "^401 "),
    Attack("without its secret", ("10.1.0.5", None), ("10.1.0.5", GATEWAY), "^401 "),
    Attack("with another secret", ("10.1.0.5", "wrong" * 4), ("10.1.0.5", GATEWAY), "^401 "),
    Attack("from nowhere", (None, GATEWAY), ("10.1.0.5", GATEWAY), "^401 "),
)
async def test_the_headers_of_a_gateway_are_believed_from_it_alone(
    case: Case[tuple[str | None, str | None]],
) -> None:
    peer, secret = case.given
    async with opened_world() as world:
        verifier = GatewayHeaders(
            user="x-user", scopes="x-scopes", peers=["10.1.0.0/16"], secret=("x-secret", GATEWAY)
        )
        world.protect(verifier=verifier)
        lines = [("x-user", "admin"), ("x-scopes", "mcp")]
        lines += [("x-secret", secret)] if secret else []
        client = (peer, 5000) if peer else None
        case.judge(await world.post(None, *lines, client=client), world.called)


@attacks(
    "headers of a gateway that stand twice",
    Attack("two users", ("admin", "demo"), ("demo",), "^401 "),
)
async def test_a_user_that_is_named_twice_is_nobody(case: Case[tuple[str, ...]]) -> None:
    async with opened_world() as world:
        world.protect(
            verifier=GatewayHeaders(user="x-user", scopes="x-scopes", peers=["10.1.0.0/16"])
        )
        lines = [("x-scopes", "mcp"), *(("x-user", one) for one in case.given)]
        outcome = await world.post(None, *lines, client=("10.1.0.5", 5000))
        case.judge(outcome, world.called)


@attacks(
    "a tool that needs more",
    Attack("without its scope", "mcp", "mcp files:write", '^403 .*scope="mcp files:write"'),
    Attack("with a scope alike", "mcp files", "mcp files:write", "^403 .*insufficient_scope"),
    Attack("with a scope above", "mcp files:*", "mcp files:write", "^403 .*insufficient_scope"),
)
async def test_a_tool_is_called_with_its_scope_alone(case: Case[str]) -> None:
    async with opened_world() as world:
        token = signed(world, claims(world, scope=case.given))
        case.judge(await world.post(token, tool="write"), world.called)


@attacks(
    "introspection",
    Attack("active for another audience", {"aud": "https://other.example"}, {"aud": URL}, "^401 "),
    Attack("active without an audience", {"aud": None}, {"aud": URL}, "^401 "),
    Attack("active of another issuer", {"iss": EVIL}, {"iss": HONEST}, "^401 "),
    Attack("active but over", {"exp": 1_800_000_000 - 31}, {"exp": 1_800_000_000 - 29}, "^401 "),
    Attack("a refresh token", {"token_type": "refresh_token"}, {"token_type": "Bearer"}, "^401 "),
    Attack("active as text", {"active": "true"}, {"active": True}, "^503 "),
    Attack("active as number", {"active": 1}, {"active": True}, "^503 "),
    Attack("not active", {"active": False}, {"active": True}, "^401 "),
    Attack("nothing said", {"active": None}, {"active": True}, "^503 "),
    Attack("a bound token as bearer", {"cnf": {"jkt": "x"}}, {"scope": "mcp"}, "^401 "),
)
async def test_an_introspected_token_is_one_for_here_and_now(case: Case[dict[str, Any]]) -> None:
    async with opened_world(access_token_format="opaque") as world:
        world.introspect()
        token = await world.token()
        world.server.changes["introspect"] = case.given
        case.judge(await world.post(token), world.called)
