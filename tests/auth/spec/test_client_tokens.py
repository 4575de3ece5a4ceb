"""Spec tests of a client's requests for tokens, of what comes back, and of the use of tokens."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import McpError
from mcp_gen.auth import AuthError, FileTokenStore, MemoryTokenStore, OAuth
from mcp_gen.auth.flows.authorization_code import code_challenge
from mcp_gen.core.errors import UsageError
from tests.auth.spec.town import REDIRECT, Town, town
from tests.support.requirement import requirement

SCOPES = ("mcp", "files:read", "files:write")


# --- scopes ---


@requirement("authorization:client:scopes")
async def test_the_scopes_of_the_challenge_are_asked_for_and_no_others(revision: str) -> None:
    async with town(gate={"scopes_supported": SCOPES}) as here:
        await here.login(revision)
        assert [one["scope"] for one in here.authorizations] == ["mcp"]


@requirement("authorization:client:scopes")
async def test_without_scopes_in_the_challenge_all_of_the_resource_are_asked_for(
    revision: str,
) -> None:
    async with town(gate={"scopes_supported": SCOPES}) as here:
        here.challenge()
        await here.login(revision)
        assert [one["scope"] for one in here.authorizations] == [" ".join(SCOPES)]


@requirement("authorization:client:scopes")
async def test_without_any_scopes_none_are_asked_for(revision: str) -> None:
    async with town(scopes=()) as here:
        await here.login(revision)
        assert [one for one in here.authorizations if "scope" in one] == []


@requirement("authorization:client:step-up")
async def test_what_a_token_lacks_is_asked_for_and_the_request_is_sent_again(revision: str) -> None:
    async with town() as here, here.connected(revision) as session:
        assert await session.call_tool("write", returns=str) == "written"
        first, *others = [set(one["scope"].split()) for one in here.authorizations]
        assert first == {"mcp"}
        assert {*map(frozenset, others)} == {frozenset({"mcp", "files:write"})}
        assert len(here.shown_tokens) == 2


@requirement("authorization:client:step-up:union")
async def test_what_a_token_has_is_asked_for_again_beside_what_it_lacks(revision: str) -> None:
    async with town() as here, here.connected(revision) as session:
        here.lacking[here.shown_tokens[0]] = "files:write"
        await session.call_tool("who")
        assert [set(one["scope"].split()) for one in here.authorizations][::2] == [
            {"mcp"},
            {"mcp", "files:write"},
        ]


@requirement("authorization:client:step-up:bounded")
async def test_a_scope_that_is_not_granted_is_not_asked_for_again_and_again(revision: str) -> None:
    async with town(scopes_supported=("mcp",)) as here, here.connected(revision) as session:
        for _ in range(3):
            with pytest.raises((AuthError, McpError), match="scope"):
                await session.call_tool("write")
        # Once with the registration of before, and once with a new one that names the scope.
        assert [one["scope"] for one in here.authorizations] == ["mcp", *["mcp files:write"] * 2]
        # What needs no more is still answered.
        assert await session.call_tool("who", returns=str)


# --- responses ---


def changed(**params: str | None) -> Any:
    """Return what changes the parameters of a response; None leaves one out."""

    def change(found: dict[str, str]) -> dict[str, str]:
        return {name: text for name, text in {**found, **params}.items() if text is not None}

    return change


async def refused(here: Town, revision: str, expected: str) -> str:
    """Log in in vain, and return the error; nothing went to the token endpoint."""
    with pytest.raises(AuthError, match=expected) as caught:
        await here.login(revision)
    assert here.tokens == []
    assert len(here.shown) == 1
    return str(caught.value)


@requirement("authorization:client:iss")
@pytest.mark.parametrize(
    ("supported", "iss"), [(True, "https://other.example"), (True, None), (False, "https://x.y")]
)
async def test_a_response_of_another_issuer_leads_to_no_token_request(
    revision: str, supported: bool, iss: str | None
) -> None:
    async with town(iss_parameter=supported) as here:
        here.redirects = changed(iss=iss)
        await refused(here, revision, "cannot be trusted: expected `iss`")


@requirement("authorization:client:iss")
@pytest.mark.parametrize("supported", [True, False])
async def test_a_response_of_the_recorded_issuer_leads_to_a_token(
    revision: str, supported: bool
) -> None:
    async with town(iss_parameter=supported) as here:
        await here.login(revision)
        assert len(here.tokens) == 1


@requirement("authorization:client:iss:exact")
@pytest.mark.parametrize("other", ["slash", "upper case", "escaped"])
async def test_issuers_are_compared_letter_by_letter(revision: str, other: str) -> None:
    async with town() as here:
        issuer = here.issuer.issuer
        iss = {
            "slash": f"{issuer}/",
            "upper case": issuer.replace("http", "HTTP"),
            "escaped": issuer.replace(".", "%2E"),
        }[other]
        here.redirects = changed(iss=iss)
        await refused(here, revision, "in every character")


@requirement("authorization:client:iss:errors")
async def test_nothing_of_an_error_of_another_issuer_is_shown(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fault = {
        "code": None,
        "error": "access_denied",
        "error_description": "visit evil.example",
        "error_uri": "https://evil.example",
    }
    async with town() as here:
        here.redirects = changed(iss="https://evil.example", **fault)
        shown = await refused(here, revision, "cannot be trusted")
    assert [one for one in ("denied", "evil") if one in shown + caplog.text] == []
    async with town() as here:
        here.redirects = changed(**fault)
        assert "access_denied (visit evil.example)" in await refused(here, revision, "authorize")


@requirement("authorization:client:state")
@pytest.mark.parametrize("state", [None, "", "another"])
async def test_a_response_without_the_state_that_was_sent_is_dropped(
    revision: str, state: str | None
) -> None:
    async with town() as here:
        here.redirects = changed(state=state)
        await refused(here, revision, "its `state` is another")
        assert len(here.authorizations[0]["state"]) >= 32


# --- requests for tokens ---


@requirement("authorization:client:resource", "authorization:client:resource:canonical")
async def test_both_requests_name_the_resource_as_its_metadata_write_it(revision: str) -> None:
    async with town() as here:
        await here.login(revision)
        named = [here.authorizations[0]["resource"], here.tokens[0]["resource"]]
        assert named == [here.web.url, here.web.url]


@requirement("authorization:client:resource", "authorization:client:resource:canonical")
async def test_a_refresh_names_the_resource_of_the_token_too(revision: str) -> None:
    async with town() as here:
        origin = here.web.origin
        here.resource(resource=origin)
        here.app = here.protected(audience=origin)
        now = [0.0]
        auth = here.oauth(clock=lambda: 1_000_000.0 + now[0])
        async with here.connected(revision, auth) as session:
            now[0] = 295.0
            await session.call_tool("who")
        assert [one["resource"] for one in here.tokens] == [origin, origin]
        assert here.tokens[1]["grant_type"] == "refresh_token"


@requirement("authorization:client:pkce")
async def test_the_code_is_proved_with_the_verifier_of_its_challenge(revision: str) -> None:
    async with town() as here:
        await here.login(revision)
        await here.login(revision)
        challenges = [one["code_challenge"] for one in here.authorizations]
        verifiers = [one["code_verifier"] for one in here.tokens]
        assert {one["code_challenge_method"] for one in here.authorizations} == {"S256"}
        assert challenges == [code_challenge(one) for one in verifiers]
        assert len(set(verifiers)) == 2
        assert min(map(len, verifiers)) >= 43


@requirement("authorization:client:pkce:advertised")
@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_a_client_stops_where_the_metadata_do_not_offer_pkce(
    revision: str, methods: list[str] | None
) -> None:
    async with town() as here:
        here.metadata(code_challenge_methods_supported=methods)
        with pytest.raises(AuthError, match="does not say that it supports PKCE"):
            await here.login(revision)
        assert (here.shown, here.registrations, here.tokens) == ([], [], [])


@requirement("authorization:client:redirects")
async def test_the_redirect_uri_is_the_one_that_was_registered(revision: str) -> None:
    async with town() as here:
        await here.login(revision)
        sent = [here.authorizations[0]["redirect_uri"], here.tokens[0]["redirect_uri"]]
        assert [*here.registrations[0]["redirect_uris"], *sent] == [REDIRECT] * 3


@requirement("authorization:client:redirects")
@pytest.mark.parametrize(
    "uri",
    ["http://app.example/back", "http://192.0.2.1/back", "app:back", "http://localhost.evil/"],
)
async def test_a_redirect_uri_that_is_neither_https_nor_of_this_machine_is_refused(
    revision: str, uri: str
) -> None:
    async with town() as here:
        with pytest.raises(UsageError, match="expected an https URL, or http on loopback"):
            here.oauth(redirect_uri=uri)
        for allowed in ("https://app.example/back", "http://[::1]:9/back", "http://localhost/b"):
            here.oauth(redirect_uri=allowed)


# --- the use of tokens ---


@requirement("authorization:client:token")
async def test_every_request_has_the_token_in_its_header(revision: str) -> None:
    async with town() as here:
        async with here.connected(revision) as session:
            await session.list_tools()
            await session.call_tool("who")
        first, *others = here.calls
        (token,) = here.shown_tokens
        assert "authorization" not in first.headers
        assert {one.headers["authorization"] for one in others} == {f"Bearer {token}"}
        assert len(others) >= 3


@requirement("authorization:client:token:no-query")
async def test_no_token_is_in_a_url(revision: str) -> None:
    async with town() as here:
        queries: list[str] = []
        inner: Any = here.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            queries.append(scope["query_string"].decode())
            await inner(scope, receive, send)

        here.app = app
        async with here.connected(revision) as session:
            await session.call_tool("who")
        queries += [one.query_string for one in here.issuer.requests]
        assert len(queries) > 5
        assert [one for one in queries if here.shown_tokens[0] in one] == []


@requirement("authorization:client:token:own")
async def test_a_server_gets_no_token_of_another_one(revision: str) -> None:
    async with town() as one, town() as other:
        auth = one.oauth()
        await one.login(revision, auth)
        with pytest.raises(UsageError, match="make an authorization object for each server"):
            await other.login(revision, auth)
        assert other.calls == []
        # One store for both keeps their tokens apart.
        store = MemoryTokenStore()
        for here in (one, other):
            await here.login(revision, store=store)
        assert not {*one.shown_tokens} & {*other.shown_tokens}
        assert len(other.shown_tokens) == 1


@requirement("authorization:client:refresh")
async def test_an_ended_token_is_renewed_by_its_refresh_token_alone(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with town() as here:
        now = [0.0]
        auth = here.oauth(clock=lambda: 1_000_000.0 + now[0])
        async with here.connected(revision, auth) as session:
            now[0] = 295.0
            await session.call_tool("who")
        grants = [one["grant_type"] for one in here.tokens]
        assert grants == ["authorization_code", "refresh_token"]
        assert "refresh_token" in here.registrations[0]["grant_types"]
        secret = here.tokens[1]["refresh_token"]
        elsewhere = [str(one.headers) + one.body.decode() for one in here.calls]
        assert [text for text in [*elsewhere, caplog.text, repr(auth)] if secret in text] == []


@requirement("authorization:client:refresh")
async def test_a_client_without_a_refresh_token_logs_in_again(revision: str) -> None:
    async with town(refresh_tokens="never") as here:
        now = [0.0]
        auth = here.oauth(clock=lambda: 1_000_000.0 + now[0])
        async with here.connected(revision, auth) as session:
            now[0] = 600.0
            assert await session.call_tool("who", returns=str)
        assert [one["grant_type"] for one in here.tokens] == ["authorization_code"] * 2


@requirement("authorization:tokens:stored")
async def test_stored_tokens_are_for_their_owner_alone(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "kept" / "tokens.json"
    async with town() as here:
        store = FileTokenStore(path)
        await here.login(revision, store=store)
        kept = await store.load(here.web.url)
    assert kept is not None
    assert str(kept.access_token) in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for one in (kept, store, OAuth(store=store)):
        assert str(kept.access_token) not in repr(one)
        assert str(kept.refresh_token) not in repr(one)
    path.chmod(0o644)
    with pytest.raises(AuthError):
        await FileTokenStore(path).load(here.web.url)
