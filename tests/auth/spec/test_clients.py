"""Spec tests of a client's way to a token: discovery, registration, requests, responses."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.responses import JSONResponse

from examples.oauth.authorization_server import Client
from mcp_gen.auth import AuthError, MemoryTokenStore, OAuth
from mcp_gen.core.errors import UsageError
from tests.auth.spec.town import AS_METADATA, PRM, REDIRECT, town
from tests.support.requirement import requirement

OIDC = "/.well-known/openid-configuration"


# --- metadata of the resource ---


@requirement("authorization:client:resource-metadata", "authorization:client:challenge")
async def test_the_metadata_that_the_challenge_names_lead_to_the_authorization_server(
    revision: str,
) -> None:
    async with town(issuers={"/tenant": {}}) as here:
        here.without(f"{PRM}/mcp", PRM, AS_METADATA, OIDC)
        here.resource("/about/this")
        here.challenge(resource_metadata=f"{here.web.origin}/about/this", scope="mcp")
        async with here.connected(revision) as session:
            assert (await session.call_tool("who", returns=str)).startswith("user:")
        assert here.paths[0] == "/about/this"
        assert [one for one in here.paths if one.startswith(PRM)] == []
        assert urlsplit(here.shown[0].url).path == "/tenant/authorize"


@requirement("authorization:client:resource-metadata:fallback")
async def test_without_a_url_in_the_challenge_both_well_known_paths_are_tried_in_turn(
    revision: str,
) -> None:
    async with town() as here:
        here.challenge(scope="mcp")
        await here.login(revision)
        assert here.paths[:2] == [f"{PRM}/mcp", AS_METADATA]
    async with town() as here:
        here.challenge(scope="mcp")
        here.without(f"{PRM}/mcp")
        await here.login(revision)
        assert here.paths[:3] == [f"{PRM}/mcp", PRM, AS_METADATA]


# --- metadata of the authorization server ---


@requirement("authorization:client:server-metadata")
async def test_endpoints_are_those_of_the_metadata(revision: str) -> None:
    async with town() as here:
        here.metadata(token_endpoint=f"{here.web.origin}/elsewhere")
        here.answers["/elsewhere"] = JSONResponse({"error": "invalid_grant"}, 400)
        with pytest.raises(AuthError, match="invalid_grant"):
            await here.login(revision)
        assert here.paths[-1] == "/elsewhere"
        assert here.tokens == []


@requirement("authorization:client:server-metadata:order")
@pytest.mark.parametrize("path", ["", "/tenant"])
async def test_well_known_paths_of_the_authorization_server_are_tried_in_their_order(
    revision: str, path: str
) -> None:
    order = [AS_METADATA + path, OIDC + path, path + OIDC]
    async with town(issuers={path: {"documents": ("oidc-appended",)}}) as here:
        await here.login(revision)
        asked = [one for one in here.paths if "well-known" in one and not one.startswith(PRM)]
        assert asked == list(dict.fromkeys(order))


@requirement("authorization:client:server-metadata:issuer")
@pytest.mark.parametrize("other", ["{}/", "{}/tenant", "https://as.example"])
async def test_nothing_is_sent_after_metadata_of_another_issuer(revision: str, other: str) -> None:
    async with town() as here:
        here.metadata(issuer=other.format(here.issuer.issuer))
        here.without(OIDC)
        with pytest.raises(AuthError, match="metadata of the authorization server"):
            await here.login(revision)
        assert (here.shown, here.registrations, here.tokens) == ([], [], [])


@requirement("authorization:client:origin")
async def test_the_metadata_are_looked_for_at_the_origin_without_the_path(revision: str) -> None:
    async with town(default_application_type="native") as here:
        here.challenge()
        here.without(f"{PRM}/mcp", PRM)
        await here.login(revision)
        assert [one for one in here.paths if "oauth-auth" in one][:1] == [AS_METADATA]
        assert here.web.by("GET")[2].headers["mcp-protocol-version"] == revision


@requirement("authorization:client:default-endpoints")
async def test_without_metadata_the_default_paths_are_used(revision: str) -> None:
    async with town(documents=()) as here:
        here.challenge()
        here.without(f"{PRM}/mcp", PRM)
        await here.login(revision)
        used = [one for one in here.paths if "well-known" not in one]
        assert used[:3] == ["/register", "/authorize", "/token"]
        assert here.tokens[0]["grant_type"] == "authorization_code"


# --- registration ---


@requirement("authorization:client:registration")
async def test_a_client_registers_itself_and_uses_the_id_that_it_gets(revision: str) -> None:
    async with town() as here:
        await here.login(revision)
        (registration,) = here.registrations
        assert registration["client_name"] == "Test client"
        assert registration["redirect_uris"] == [REDIRECT]
        assert await here.issuer.clients.find(here.authorizations[0]["client_id"]) is not None


DOCUMENT_URL = "https://app.example/client.json"


def document(**members: Any) -> bytes:
    """Return the metadata document of a client."""
    return json.dumps(
        {
            "client_id": DOCUMENT_URL,
            "client_name": "Test client",
            "redirect_uris": [REDIRECT],
            **members,
        }
    ).encode()


@requirement("authorization:client:registration:order")
async def test_given_credentials_come_first_then_a_document_then_registration(
    revision: str,
) -> None:
    async with town() as here:
        here.documents[DOCUMENT_URL] = document()
        here.issuer.clients.add(Client(client_id="given", redirect_uris=(REDIRECT,)))
        with_document: dict[str, Any] = {"client_metadata_url": DOCUMENT_URL}
        await here.login(revision, client_id="given", **with_document)
        await here.login(revision, **with_document)
        assert here.registrations == []
        await here.login(revision)
        here.issuer.client_id_metadata_documents = False
        await here.login(revision, **with_document)
        ids = [one["client_id"] for one in here.authorizations]
        assert ids[:2] == ["given", DOCUMENT_URL]
        assert len(here.registrations) == 2
        assert DOCUMENT_URL not in ids[2:]


@requirement("authorization:client:registration:given")
async def test_credentials_of_a_registration_made_before_can_be_given(revision: str) -> None:
    async with town(registration=False) as here:
        client = Client(
            client_id="given",
            secret="secret-of-the-client",
            auth_method="client_secret_post",
            redirect_uris=(REDIRECT,),
        )
        here.issuer.clients.add(client)
        await here.login(
            revision,
            client_id="given",
            client_secret="secret-of-the-client",
            token_endpoint_auth_method="client_secret_post",
        )
        assert here.registrations == []
        assert here.authorizations[0]["client_id"] == "given"
        assert here.tokens[0]["client_secret"] == "secret-of-the-client"


@requirement("authorization:client:metadata-document", "authorization:client:metadata-document:url")
async def test_a_client_names_itself_by_the_url_that_its_document_repeats(revision: str) -> None:
    async with town(registration=False) as here:
        here.documents[DOCUMENT_URL] = document()
        await here.login(revision, client_metadata_url=DOCUMENT_URL)
        sent = [here.authorizations[0]["client_id"], here.tokens[0]["client_id"]]
        assert sent == [DOCUMENT_URL, DOCUMENT_URL]


@requirement("authorization:client:metadata-document:url")
@pytest.mark.parametrize(
    "url",
    ["http://app.example/client.json", "https://app.example", "https://app.example/", "client"],
)
async def test_a_url_that_can_be_none_of_a_document_is_refused_at_once(
    revision: str, url: str
) -> None:
    assert revision
    with pytest.raises(UsageError, match="https URL with a path"):
        OAuth(client_metadata_url=url)


@requirement("authorization:client:application-type")
@pytest.mark.parametrize(
    ("redirect_uri", "kind"),
    [
        (REDIRECT, "native"),
        ("http://localhost:9/back", "native"),
        ("https://app.example/back", "web"),
    ],
)
async def test_a_registration_tells_the_type_of_the_application(
    revision: str, redirect_uri: str, kind: str
) -> None:
    async with town() as here:
        await here.login(revision, redirect_uri=redirect_uri)
        assert [one["application_type"] for one in here.registrations] == [kind]


@requirement("authorization:client:registration:refused")
async def test_a_refused_registration_is_an_error_that_says_why(revision: str) -> None:
    async with town() as here:
        refusal = {"error": "invalid_redirect_uri", "error_description": "web clients need https"}
        here.answers["/register"] = JSONResponse(refusal, 400)
        with pytest.raises(AuthError, match=r"invalid_redirect_uri.*web clients need https") as it:
            await here.login(revision)
        assert it.value.error == "invalid_redirect_uri"
        assert "redirect_uri=" in str(it.value)
        assert here.shown == []


# --- credentials belong to an issuer ---


@requirement("authorization:client:bound-credentials")
async def test_another_issuer_means_another_registration_and_gets_nothing_of_the_first(
    revision: str,
) -> None:
    async with town(issuers={"/first": {}, "/second": {}}) as here:
        first, second = here.issuers.values()
        store = MemoryTokenStore()
        await here.login(revision, store=store)
        kept = await store.load(here.web.url)
        assert kept is not None
        assert kept.issuer == first.issuer
        here.refused.update(here.shown_tokens)
        here.resource(authorization_servers=[second.issuer])
        await here.login(revision, store=store)
        assert [urlsplit(one.url).path for one in here.shown] == [
            "/first/authorize",
            "/second/authorize",
        ]
        assert len(second.received("register")) == 1
        secrets = [kept.client_id, str(kept.access_token), str(kept.refresh_token)]
        sent = [f"{one.query_string} {one.body.decode()}" for one in second.requests]
        assert [text for text in secrets for one in sent if text in one] == []


@requirement("authorization:client:bound-credentials:given")
@pytest.mark.parametrize("named", [True, False])
async def test_given_credentials_are_used_with_no_other_issuer(revision: str, named: bool) -> None:
    async with town(issuers={"/first": {}, "/second": {}}) as here:
        first, second = here.issuers.values()
        first.clients.add(Client(client_id="given", redirect_uris=(REDIRECT,)))
        given: dict[str, Any] = {"client_id": "given", "store": MemoryTokenStore()}
        if named:
            given["issuer"] = first.issuer
        else:
            await here.login(revision, **given)
            here.refused.update(here.shown_tokens)
        here.resource(authorization_servers=[second.issuer])
        before = len(here.shown)
        with pytest.raises(AuthError, match="another authorization server"):
            await here.login(revision, **given)
        assert (len(here.shown), list(second.requests)) == (before, [])
