"""Spec tests of a server as a resource server: metadata, refusals, challenges, tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, Server
from tests.auth.server.requests import ISSUER, NOW, RESOURCE
from tests.auth.spec.protected import (
    METADATA,
    Protected,
    bearer,
    key,
    scopes_of,
    shown,
    token,
)
from tests.auth.verifiers.issuers import METADATA_URL, claims, ec_key, sign
from tests.support.http.asgi import request
from tests.support.http.gated import gated_client
from tests.support.http.loopback import serving
from tests.support.requirement import requirement

ORIGIN = "https://api.example.com"
BOUND_S = 30.0


@requirement("http:authentication")
async def test_who_connects_is_authenticated_with_every_request(revision: str) -> None:
    site = Protected()
    async with gated_client(site.app, revision, shown(token())) as client:
        answered = await client.call("who")
        client.token = shown("of-nobody")
        refused = await client.call("who") if not client.is_paired else None
    assert answered.text == f"user:{len(ISSUER)}:{ISSUER} alice"
    assert refused is None or refused.status == 401
    for method, path in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/sse/messages")):
        assert (await request(site.app, b"{}", {}, method=method, path=path)).status == 401


@requirement("authorization:http")
async def test_a_refusal_leads_to_metadata_an_issuer_and_a_token_that_is_admitted(
    revision: str,
) -> None:
    site = Protected()
    refused = await site.call(revision, None)
    challenge = refused.headers["www-authenticate"]
    url = challenge.partition('resource_metadata="')[2].partition('"')[0]
    document = (await site.get(url.removeprefix(ORIGIN))).json
    assert (refused.status, document["resource"]) == (401, RESOURCE)
    async with gated_client(
        site.app, revision, shown(token(scope=" ".join(scopes_of(challenge))))
    ) as client:
        assert (await client.call("who")).text.endswith(
            f"{document['authorization_servers'][0]} alice"
        )


# --- metadata ---


@requirement("authorization:metadata", "authorization:metadata:servers")
async def test_the_metadata_name_the_resource_and_its_authorization_servers(revision: str) -> None:
    site = Protected(issuer=[ISSUER, "https://second.example.com"])
    found = await site.get(METADATA, **{"mcp-protocol-version": revision})
    assert (found.status, found.headers["content-type"]) == (200, "application/json")
    assert found.json["resource"] == RESOURCE
    assert found.json["authorization_servers"] == [ISSUER, "https://second.example.com"]


@requirement("authorization:metadata:found")
async def test_the_metadata_are_where_the_challenge_says_and_at_both_well_known_paths(
    revision: str,
) -> None:
    site = Protected()
    challenge = (await site.call(revision, None)).headers["www-authenticate"]
    told = challenge.partition('resource_metadata="')[2].partition('"')[0]
    places = [told.removeprefix(ORIGIN), METADATA, METADATA.removesuffix("/mcp")]
    found = [await site.get(one) for one in places]
    assert [one.status for one in found] == [200, 200, 200]
    assert [one.json["resource"] for one in found] == [RESOURCE] * 3


@requirement("authorization:metadata:origin")
async def test_the_metadata_of_the_issuer_are_at_the_origin_of_the_server_if_asked_for(
    revision: str,
) -> None:
    site = Protected(legacy_metadata=True)
    whole = {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys", "token_endpoint": f"{ISSUER}/token"}
    site.documents.put(METADATA_URL, whole)
    headers = {"mcp-protocol-version": revision}
    found = await site.get("/.well-known/oauth-authorization-server", **headers)
    assert (found.status, found.json) == (200, whole)
    plain = await Protected().get("/.well-known/oauth-authorization-server", **headers)
    assert plain.status == 404


# --- status 401 ---


@requirement("authorization:challenge:unauthorized")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_request_without_a_token_is_unauthorized_whatever_it_asks_for(
    revision: str, method: str
) -> None:
    site = Protected()
    refused = await site.call(revision, None, method=method)
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Bearer ")
    assert "error=" not in refused.headers["www-authenticate"]
    assert site.calls == []


@requirement("authorization:challenge:unauthorized")
async def test_a_session_does_not_stand_for_a_token(revision: str) -> None:
    site, good = Protected(), token()
    refused = await site.call_in_session(revision, good, None)
    admitted = await site.call_in_session(revision, good, good)
    assert (refused.status, admitted.status, site.calls) == (401, 200, [good])


@requirement("authorization:challenge:expired")
@pytest.mark.parametrize("text", ["expired", "no token at all", "of another key"])
async def test_a_token_that_is_not_valid_now_is_unauthorized(revision: str, text: str) -> None:
    site = Protected(leeway_s=30)
    given = {
        "expired": token(exp=NOW - 31),
        "of another key": sign(ec_key(), claims()),
    }.get(text, "no-token-at-all")
    refused = await site.call(revision, given)
    assert refused.status == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert site.calls == []


@requirement("authorization:challenge:metadata")
async def test_a_challenge_names_the_url_of_the_metadata(revision: str) -> None:
    site = Protected()
    for text in (None, "garbage"):
        challenge = (await site.call(revision, text)).headers["www-authenticate"]
        assert f'resource_metadata="{ORIGIN}{METADATA}"' in challenge


# --- scopes ---


def filing() -> Server[Any]:
    """Return a server whose tools, resource and prompt need scopes."""
    server = Server("filing")

    @server.tool(scopes=["files:write", "admin"])
    async def wipe() -> str:
        return "wiped"

    @server.tool(scopes=["files:read"])
    async def look() -> str:
        return "seen"

    @server.resource("note://one", scopes=["files:read"])
    def note() -> str:
        return "a note"

    @server.prompt(scopes=["files:read"])
    def review() -> str:
        return "Review it."

    return server


@requirement("authorization:challenge:scope")
async def test_the_challenge_of_a_401_names_the_scopes_that_each_request_needs(
    revision: str,
) -> None:
    site = Protected(scopes=["mcp", "files:read"], scopes_supported=["mcp", "files:read", "admin"])
    for text in (None, "garbage"):
        challenge = (await site.call(revision, text)).headers["www-authenticate"]
        assert scopes_of(challenge) == ["mcp", "files:read"]


@requirement("authorization:challenge:insufficient", "authorization:challenge:needed-scopes")
async def test_what_a_token_lacks_is_named_at_once_with_status_403(revision: str) -> None:
    site = Protected(filing())
    async with gated_client(site.app, revision, shown(token())) as client:
        refused = await client.call("wipe")
        client.token = shown(token(scope=" ".join(scopes_of(refused.challenge))))
        admitted = await client.call("wipe")
    assert refused.status == 403
    assert refused.challenge is not None
    assert 'error="insufficient_scope"' in refused.challenge
    assert f'resource_metadata="{ORIGIN}{METADATA}"' in refused.challenge
    assert {"mcp", "files:write", "admin"} <= set(scopes_of(refused.challenge))
    # One challenge was enough.
    assert admitted.text == "wiped"


@requirement("authorization:challenge:needed-scopes")
async def test_scopes_that_were_granted_are_in_the_challenge_so_that_none_is_lost(
    revision: str,
) -> None:
    site = Protected(filing())
    async with gated_client(site.app, revision, shown(token(scope="mcp files:read"))) as client:
        refused = await client.call("wipe")
    assert set(scopes_of(refused.challenge)) == {"mcp", "files:read", "files:write", "admin"}


@requirement("authorization:challenge:consistent")
async def test_tools_resources_and_prompts_name_what_they_need_in_one_way(revision: str) -> None:
    site = Protected(filing())
    async with gated_client(site.app, revision, shown(token())) as client:
        refused = [
            await client.call("look"),
            await client.ask("resources/read", uri="note://one"),
            await client.ask("prompts/get", name="review"),
        ]
    assert {(one.status, one.challenge) for one in refused} == {(403, refused[0].challenge)}
    without = (await site.call(revision, None)).headers["www-authenticate"]
    assert scopes_of(refused[0].challenge) == [*scopes_of(without), "files:read"]


@requirement("authorization:challenge:no-offline-access")
async def test_no_challenge_and_no_document_asks_for_refresh_tokens(revision: str) -> None:
    site = Protected(filing())
    granted = shown(token(scope="mcp offline_access"))
    async with gated_client(site.app, revision, granted) as client:
        refused = await client.call("look")
    texts = [
        str(refused.challenge),
        (await site.call(revision, None)).headers["www-authenticate"],
        (await site.get(METADATA)).body.decode(),
    ]
    assert scopes_of(refused.challenge) == ["mcp", "files:read"]
    assert [one for one in texts if "offline_access" in one] == []


@requirement("authorization:scopes:hierarchy")
async def test_a_broad_scope_stands_for_the_narrow_ones_that_it_implies(revision: str) -> None:
    implied = {"files": ["files:read", "mcp"], "root": ["files", "admin", "files:write"]}
    site = Protected(filing(), implied_scopes=implied)
    async with gated_client(site.app, revision, shown(token(scope="files"))) as client:
        assert (await client.call("look")).text == "seen"
        assert (await client.call("wipe")).status == 403
        client.token = shown(token(scope="root"))
        assert (await client.call("look")).text == "seen"
        assert (await client.call("wipe")).text == "wiped"


# --- tokens ---


def unsigned() -> str:
    head, body, _ = token().split(".")
    del head
    return f"eyJhbGciOiJub25lIn0.{body}."


FAULTS: dict[str, str] = {
    "signed by another key": sign(ec_key(), claims()),
    "not signed": unsigned(),
    "signed for a changed body": ".".join(
        [token().split(".")[0], token(sub="mallory").split(".")[1], token().split(".")[2]]
    ),
    "of another issuer": token(iss="https://elsewhere.example.com"),
    "not valid yet": token(nbf=NOW + 3600),
    "ended": token(exp=NOW - 3600),
    "without an audience": token(aud=None),
}


@requirement("authorization:tokens:validated")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_token_with_one_fault_is_refused_before_anything_is_done(
    revision: str, fault: str
) -> None:
    site = Protected()
    refused = await site.call(revision, FAULTS[fault])
    assert (refused.status, site.calls) == (401, [])
    admitted = await site.call_in_session(revision, token(), token())
    assert admitted.status == 200


@requirement("authorization:tokens:audience", "authorization:tokens:no-others")
@pytest.mark.parametrize(
    "audience",
    [
        "https://other.example.com/mcp",
        "https://api.example.com/mcp2",
        "https://api.example.com",
        "http://api.example.com/mcp",
        "https://api.example.com:8443/mcp",
        ["https://other.example.com/mcp"],
        "app",
    ],
)
async def test_a_token_for_another_audience_is_refused(revision: str, audience: Any) -> None:
    site = Protected()
    refused = await site.call(revision, token(aud=audience))
    assert (refused.status, site.calls) == (401, [])
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


@requirement("authorization:tokens:audience")
async def test_a_token_for_this_server_and_another_one_is_admitted(revision: str) -> None:
    site = Protected()
    good = token(aud=["https://other.example.com/mcp", RESOURCE])
    assert (await site.call_in_session(revision, good, good)).status == 200


@requirement("authorization:tokens:canonical")
@pytest.mark.parametrize(
    ("configured", "named"),
    [
        (RESOURCE, "HTTPS://API.Example.COM/mcp"),
        ("https://API.example.com/mcp", RESOURCE),
    ],
)
async def test_scheme_and_host_in_upper_case_are_the_same(
    revision: str, configured: str, named: str
) -> None:
    site, good = Protected(audience=configured), token(aud=named)
    assert (await site.call_in_session(revision, good, good)).status == 200
    other = await site.call(revision, token(aud="https://api.example.com/MCP"))
    assert other.status == 401


@requirement("authorization:no-passthrough", "authorization:tokens:no-others")
async def test_the_token_of_a_client_does_not_go_to_a_server_behind_this_one(
    revision: str,
) -> None:
    inner = Server("inner")

    @inner.tool
    async def echo(text: str) -> str:
        return text

    secret = token()
    async with (
        asyncio.timeout(BOUND_S),
        serving(inner.asgi()) as web,
        Client("gateway", forward_requests=True) as between,
    ):
        outer = Server("outer")
        outer.mount("far", await between.connect(web.url))
        site = Protected(outer)
        async with gated_client(site.app, revision, shown(secret)) as client:
            assert (await client.call("far_echo", text="hello")).text == "hello"
        outer.unmount("far")
    assert web.asked("tools/call")
    sent = msgspec.json.encode([[dict(one.headers), one.body.decode()] for one in web.got])
    assert secret.encode() not in sent
    assert [one.headers for one in web.got if "authorization" in one.headers] == []


def test_the_tokens_of_these_tests_are_signed_by_the_key_that_the_issuer_publishes() -> None:
    assert bearer(token())["authorization"].count(".") == 2
    assert key() is key()
