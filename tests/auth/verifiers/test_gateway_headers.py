"""Headers of a gateway: believed from the gateway alone."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import UsageError
from mcp_gen.auth import GatewayHeaders, ResourceServer
from tests.auth.server.requests import ISSUER, RESOURCE, admitted, challenges, refused

USER = ("x-user", "alice")
SECRET = ("x-gateway-secret", "0123456789abcdef")
INSIDE = {"client": ("10.1.2.3", 4000)}


def gate(*, scopes: list[str] | None = None, **options: Any) -> ResourceServer:
    if "secret" not in options:
        options.setdefault("peers", ["10.1.0.0/16", "fd00::/8"])
    verifier = GatewayHeaders(
        user="X-User", client="X-Client", scopes=options.pop("header", "X-Scopes"), **options
    )
    return ResourceServer(ISSUER, audience=RESOURCE, scopes=scopes or [], verifier=verifier)


async def test_user_client_and_scopes_are_those_of_the_headers() -> None:
    lines = [USER, ("x-client", "app"), ("x-scopes", "mcp, files:read")]
    found = await admitted(gate(scopes=["mcp"]), *lines, **INSIDE)
    assert found.principal == "user:7:gateway alice"
    assert found.token is not None
    assert (found.token.client_id, set(found.token.scopes)) == ("app", {"mcp", "files:read"})


@pytest.mark.parametrize("client", ["10.1.255.255", "::ffff:10.1.0.1", "fd00::1"])
async def test_headers_of_a_listed_peer_are_believed(client: str) -> None:
    await admitted(gate(), USER, client=(client, 4000))


@pytest.mark.parametrize(
    "client",
    [("10.2.0.1", 1), ("203.0.113.9", 1), ("::ffff:10.2.0.1", 1), ("gateway", 1), ("", 1), None],
)
async def test_headers_of_another_peer_are_not_believed(client: Any) -> None:
    found = await refused(gate(), USER, client=client)
    assert found.status == 401
    assert "error=" not in challenges(found)[0]


async def test_a_request_that_names_nobody_is_refused() -> None:
    assert (await refused(gate(), **INSIDE)).status == 401
    assert (await refused(gate(), ("x-user", " "), **INSIDE)).status == 401


async def test_the_secret_of_the_gateway_is_needed_where_there_is_one() -> None:
    server = gate(secret=SECRET)
    await admitted(server, USER, SECRET)
    assert (await refused(server, USER)).status == 401
    assert (await refused(server, USER, (SECRET[0], SECRET[1][:-1] + "x"))).status == 401
    assert (await refused(server, USER, SECRET, SECRET)).status == 401


async def test_peer_and_secret_are_both_needed_where_both_are_given() -> None:
    server = gate(secret=SECRET, peers=["10.1.0.0/16"])
    await admitted(server, USER, SECRET, **INSIDE)
    assert (await refused(server, USER, **INSIDE)).status == 401
    assert (await refused(server, USER, SECRET)).status == 401


@pytest.mark.parametrize("name", ["x-user", "x-client", "x-scopes"])
async def test_a_header_that_is_there_twice_is_refused(name: str) -> None:
    lines = {"x-user": "alice", "x-client": "app", "x-scopes": "mcp"}
    await admitted(gate(), *lines.items(), **INSIDE)
    found = await refused(gate(), *lines.items(), (name, "mallory"), **INSIDE)
    assert found.status == 401
    assert 'error="invalid_token"' in challenges(found)[0]


@pytest.mark.parametrize("value", ["a\x00b", "a\tb", "\xff", "a" * 1025])
async def test_a_value_that_is_no_usual_text_is_refused(value: str) -> None:
    assert (await refused(gate(), ("x-user", value), **INSIDE)).status == 401


async def test_a_caller_without_the_needed_scopes_is_forbidden() -> None:
    found = await refused(gate(scopes=["mcp"]), USER, ("x-scopes", "other"), **INSIDE)
    assert found.status == 403
    assert (await refused(gate(scopes=["mcp"], header=None), USER, **INSIDE)).status == 403


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "everybody can send headers"),
        ({"peers": "10.0.0.0/8"}, "expected a list"),
        ({"peers": ["10.0.0.1/8"]}, "host bits"),
        ({"peers": ["gateway"]}, "peers"),
        ({"secret": ("x-secret", "short")}, "at least 16"),
        ({"secret": ("x secret", "0123456789abcdef")}, "not the name of a header"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        GatewayHeaders(user="x-user", **options)


def test_the_repr_shows_no_secret() -> None:
    assert SECRET[1] not in repr(GatewayHeaders(user="x-user", secret=SECRET))
