"""The authorization request, and which responses to it are believed."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
import pytest

from mcp_gen.auth.flows.authorization_code import (
    Pending,
    begin_authorization,
    code_challenge,
    code_of,
    redeem,
)
from mcp_gen.auth.flows.discovery import Discovered
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.registration import RegisteredClient
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import ISSUER, REDIRECT, URL, drive

SERVER = ServerMetadata(
    issuer=ISSUER,
    authorization_endpoint=f"{ISSUER}/authorize",
    token_endpoint=f"{ISSUER}/token",
    code_challenge_methods_supported=["plain", "S256"],
)
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


def pending(scopes: tuple[str, ...] | None = ("a", "b"), **server: Any) -> Pending:
    more = server.pop("more", None)
    return begin_authorization(
        Discovered(URL, msgspec.structs.replace(SERVER, **server)),
        RegisteredClient(client_id="client"),
        client_name="Test client",
        redirect_uri=REDIRECT,
        scopes=scopes,
        state="the-state",
        verifier=VERIFIER,
        more=more,
    )


def params(of: Pending) -> dict[str, list[str]]:
    return parse_qs(urlsplit(of.request.url).query)


def back(redirect: str = REDIRECT, **given: str | None) -> str:
    told = {"code": "the-code", "state": "the-state", **given}
    return f"{redirect}?{urlencode({k: v for k, v in told.items() if v is not None})}"


def refusal(of: Pending, redirected: str) -> str:
    with pytest.raises(AuthError) as caught:
        drive(redeem(of, redirected, now=0.0), {})
    return str(caught.value)


# The request


def test_the_request_has_the_challenge_the_resource_and_the_state() -> None:
    assert params(pending()) == {
        "response_type": ["code"],
        "client_id": ["client"],
        "redirect_uri": [REDIRECT],
        "state": ["the-state"],
        "code_challenge": ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
        "code_challenge_method": ["S256"],
        "resource": [URL],
        "scope": ["a b"],
    }


def test_the_challenge_is_that_of_the_rfc() -> None:
    assert code_challenge(VERIFIER) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_without_scopes_the_request_has_no_scope() -> None:
    assert "scope" not in params(pending(scopes=None))


def test_a_query_of_the_endpoint_stays() -> None:
    found = params(pending(authorization_endpoint=f"{ISSUER}/authorize?tenant=7"))
    assert (found["tenant"], found["client_id"]) == (["7"], ["client"])


def test_parameters_of_the_program_are_added_and_replace_none() -> None:
    found = params(pending(more={"login_hint": "ann", "resource": "x", "state": "y"}))
    assert (found["login_hint"], found["resource"], found["state"]) == (
        ["ann"],
        [URL],
        ["the-state"],
    )


@pytest.mark.parametrize(
    ("scopes", "prompts", "prompt"),
    [
        (("a", "offline_access"), None, ["consent"]),
        (("a", "offline_access"), ["login", "consent"], ["consent"]),
        (("a", "offline_access"), ["login"], None),
        (("a",), None, None),
    ],
)
def test_offline_access_is_asked_for_with_consent(
    scopes: tuple[str, ...], prompts: list[str] | None, prompt: list[str] | None
) -> None:
    assert params(pending(scopes, prompt_values_supported=prompts)).get("prompt") == prompt


@pytest.mark.parametrize("methods", [None, [], ["plain"], ["s256"]])
def test_a_server_without_s256_is_refused(methods: list[str] | None) -> None:
    with pytest.raises(AuthError, match="does not say that it supports PKCE"):
        pending(code_challenge_methods_supported=methods)


@pytest.mark.parametrize("endpoint", ["http://as.example/a", "javascript:alert(1)", "//x", "x y"])
def test_a_user_is_sent_to_https_alone(endpoint: str) -> None:
    with pytest.raises(AuthError, match="not safe"):
        pending(authorization_endpoint=endpoint)


def test_a_server_without_an_authorization_endpoint_is_told_of() -> None:
    with pytest.raises(AuthError, match="use client credentials"):
        pending(authorization_endpoint=None)


# The response


def test_a_code_is_exchanged_with_verifier_and_resource() -> None:
    answers: dict[str, object] = {f"{ISSUER}/token": {"access_token": "t", "token_type": "bearer"}}
    tokens, asked = drive(redeem(pending(), back(), now=0.0), answers)
    assert (tokens.access_token, parse_qs((asked[0].body or b"").decode())) == (
        "t",
        {
            "grant_type": ["authorization_code"],
            "code": ["the-code"],
            "redirect_uri": [REDIRECT],
            "code_verifier": [VERIFIER],
            "resource": [URL],
            "client_id": ["client"],
        },
    )


@pytest.mark.parametrize(
    ("advertised", "iss"),
    [(True, ISSUER), (False, ISSUER), (None, ISSUER), (False, None), (None, None)],
)
def test_a_response_of_the_right_issuer_is_used(advertised: bool | None, iss: str | None) -> None:
    of = pending(authorization_response_iss_parameter_supported=advertised)
    assert code_of(of, back(iss=iss)) == "the-code"


@pytest.mark.parametrize("advertised", [True, False, None])
@pytest.mark.parametrize(
    "iss", ["https://evil.example", f"{ISSUER}/", "https://AS.example", f"{ISSUER}:443", ""]
)
def test_a_response_of_another_issuer_is_not_used(advertised: bool | None, iss: str) -> None:
    of = pending(authorization_response_iss_parameter_supported=advertised)
    assert "cannot be trusted: expected `iss` to be 'https://as.example'" in refusal(
        of, back(iss=iss)
    )


def test_a_response_without_the_advertised_issuer_is_not_used() -> None:
    of = pending(authorization_response_iss_parameter_supported=True)
    assert "in every character, got none" in refusal(of, back())


def test_an_error_of_the_right_issuer_is_told() -> None:
    redirected = back(code=None, iss=ISSUER, error="access_denied", error_description="No, thanks.")
    said = refusal(pending(), redirected)
    assert "did not authorize the client: access_denied (No, thanks.)" in said


@pytest.mark.parametrize("wrong", [{"iss": "https://evil.example"}, {"state": "other"}])
def test_an_error_that_cannot_be_trusted_is_not_shown(wrong: dict[str, str]) -> None:
    given = {"error": "call_me", "error_description": "at-555", "error_uri": "https://evil.example"}
    said = refusal(pending(), back(**{**given, **wrong}))
    assert [word for word in ("call_me", "at-555", "evil") if word in said] == []


def test_links_in_an_error_are_not_shown() -> None:
    redirected = back(code=None, error="e", error_description="see https://evil.example/x now")
    assert "(see now)" in refusal(pending(), redirected)


@pytest.mark.parametrize("state", [None, "", "other", "the-state ", "THE-STATE"])
def test_a_response_with_another_state_is_not_used(state: str | None) -> None:
    assert "its `state` is another" in refusal(pending(), back(state=state))


@pytest.mark.parametrize(
    "redirect",
    [
        "http://localhost:3000/other",
        "http://localhost:3000/callback/",
        "http://localhost:4000/callback",
        "http://127.0.0.1:3000/callback",
        "https://localhost:3000/callback",
        "https://evil.example/callback",
    ],
)
def test_a_response_to_another_redirect_uri_is_not_used(redirect: str) -> None:
    assert "expected the whole address" in refusal(pending(), back(redirect))


@pytest.mark.parametrize("name", ["code", "state", "iss", "error"])
def test_a_response_with_a_parameter_twice_is_not_used(name: str) -> None:
    redirected = f"{back(iss=ISSUER)}&{name}=other&{name}=other"
    assert "has a parameter twice" in refusal(pending(), redirected)


@pytest.mark.parametrize("code", [None, ""])
def test_a_response_without_a_code_is_not_used(code: str | None) -> None:
    assert "without a code" in refusal(pending(), back(code=code))


def test_a_response_of_many_parameters_is_not_used() -> None:
    many = "".join(f"&x{number}=1" for number in range(100))
    assert "at most 50 parameters" in refusal(pending(), back() + many)


def test_blanks_and_a_fragment_of_a_pasted_response_do_no_harm() -> None:
    assert code_of(pending(), f"  {back()}#_=_\n") == "the-code"


def test_no_repr_shows_state_verifier_or_link() -> None:
    shown = f"{pending()!r} {pending().request!r}"
    assert [word for word in ("the-state", VERIFIER, "authorize?") if word in shown] == []
