"""Requests to token endpoints: authentication, proofs, responses and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest

from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.refreshing import refresh, revoke
from mcp_gen.auth.flows.token_requests import ClientAuthentication, Tokens, request_tokens
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import ISSUER, URL, answer, basic, drive

TOKEN = f"{ISSUER}/token"
SERVER = ServerMetadata(issuer=ISSUER, token_endpoint=TOKEN)
PUBLIC = ClientAuthentication("client")
GOOD = {"access_token": "secret-token", "token_type": "Bearer"}
NOW = 1000.0


def asked(client: ClientAuthentication = PUBLIC) -> HttpAsk:
    flow = request_tokens(SERVER, client, {"grant_type": "x"}, now=NOW)
    return drive(flow, {TOKEN: GOOD})[1][0]


def form(ask: HttpAsk) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs((ask.body or b"").decode()).items()}


def tokens(document: object) -> Tokens:
    return drive(request_tokens(SERVER, PUBLIC, {}, now=NOW), {TOKEN: document})[0]


def failed(document: object) -> AuthError:
    with pytest.raises(AuthError) as caught:
        tokens(document)
    return caught.value


# Authentication of the client


def test_a_public_client_names_itself_in_the_form() -> None:
    ask = asked()
    assert (form(ask), "authorization" in ask.headers) == (
        {"grant_type": "x", "client_id": "client"},
        False,
    )


def test_basic_sends_id_and_secret_encoded_in_the_header_alone() -> None:
    ask = asked(ClientAuthentication("a:b", "client_secret_basic", "p w/é"))
    assert (basic(ask), form(ask)) == ("a%3Ab:p+w%2F%C3%A9", {"grant_type": "x"})


def test_post_sends_id_and_secret_in_the_form_alone() -> None:
    ask = asked(ClientAuthentication("a", "client_secret_post", "s"))
    assert (form(ask), "authorization" in ask.headers) == (
        {"grant_type": "x", "client_id": "a", "client_secret": "s"},
        False,
    )


class Signer:
    algorithm = "ES256"

    def sign(self, client_id: str, audience: str, now: float) -> str:
        return f"signed {client_id} for {audience} at {now:g}"


def test_an_assertion_is_for_the_issuer() -> None:
    ask = asked(ClientAuthentication("a", "private_key_jwt", signer=Signer()))
    assert form(ask) == {
        "grant_type": "x",
        "client_id": "a",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": f"signed a for {ISSUER} at 1000",
    }


def test_an_assertion_without_a_key_is_an_error() -> None:
    with pytest.raises(AuthError, match="give the key of the client"):
        asked(ClientAuthentication("a", "private_key_jwt"))


def test_a_server_without_a_token_endpoint_is_told_of() -> None:
    with pytest.raises(AuthError, match="has no token endpoint"):
        drive(request_tokens(ServerMetadata(issuer=ISSUER), PUBLIC, {}, now=NOW), {})


# Proofs of a key


class Proofs:
    """Sends a proof with the nonce that it was given last."""

    key = "key"
    algorithm = "ES256"

    def __init__(self) -> None:
        self.nonce = ""

    def use_key(self, key: str) -> None:
        raise AssertionError

    def headers(self, method: str, url: str) -> Mapping[str, str]:
        return {"dpop": f"{method} {url} {self.nonce}"}

    def answered(self, url: str, answer: HttpAnswer) -> bool:
        self.nonce = answer.headers.get("dpop-nonce", "")
        return answer.status == 400


def test_a_proof_is_made_anew_with_the_nonce_that_is_demanded() -> None:
    flow = request_tokens(SERVER, PUBLIC, {}, now=NOW, proofs=Proofs())
    first = next(flow)
    second = flow.send(HttpAnswer(400, {"dpop-nonce": "n"}, b"{}"))
    assert (first.headers["dpop"], second.headers["dpop"]) == (
        f"POST {TOKEN} ",
        f"POST {TOKEN} n",
    )


def test_a_server_that_always_wants_another_proof_is_given_up() -> None:
    flow = request_tokens(SERVER, PUBLIC, {}, now=NOW, proofs=Proofs())
    refusal = answer({"error": "use_dpop_nonce"}, 400)
    with pytest.raises(AuthError, match="use_dpop_nonce"):
        drive(flow, {TOKEN: refusal})


def test_a_bound_token_is_taken_with_proofs() -> None:
    flow = request_tokens(SERVER, PUBLIC, {}, now=NOW, proofs=Proofs())
    assert drive(flow, {TOKEN: {**GOOD, "token_type": "dpop"}})[0].token_type == "DPoP"


def test_a_bound_token_is_not_taken_without_proofs() -> None:
    assert "of the type 'DPoP'" in str(failed({**GOOD, "token_type": "DPoP"}))


# Responses


def test_a_response_is_taken_as_it_is() -> None:
    document = {**GOOD, "expires_in": 60, "refresh_token": "r", "scope": "a b a", "id_token": "i"}
    assert tokens(document) == Tokens(
        access_token="secret-token",
        expires_at=NOW + 60,
        refresh_token="r",
        scopes=("a", "b"),
        id_token="i",
    )


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
def test_the_type_of_a_token_has_no_case(kind: str) -> None:
    assert tokens({**GOOD, "token_type": kind}).token_type == "Bearer"


@pytest.mark.parametrize("kind", ["mac", "N_A", ""])
def test_a_token_of_another_type_is_not_used(kind: str) -> None:
    assert "expected Bearer" in str(failed({**GOOD, "token_type": kind}))


LIFETIMES: list[tuple[Any, float | None]] = [
    (0, NOW),
    ("60", NOW + 60),
    (1.5, NOW + 1.5),
    (-5, NOW),
    (None, None),
    ("soon", None),
    ("nan", None),
    ("inf", None),
    (1e30, None),
]


@pytest.mark.parametrize(("lifetime", "end"), LIFETIMES)
def test_the_end_of_a_token_is_counted_from_the_request(lifetime: Any, end: float | None) -> None:
    assert tokens({**GOOD, "expires_in": lifetime}).expires_at == end


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX-Evil: 1", "tök", "a\x00"])
def test_a_token_that_no_header_carries_is_not_used(token: str) -> None:
    error = failed({**GOOD, "access_token": token})
    assert "that no header can carry" in str(error)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"access_token": 7}', b"\xff"])
def test_a_response_of_another_shape_is_an_error(body: bytes) -> None:
    assert str(failed(HttpAnswer(200, {}, body))).startswith("the response of the token endpoint")


def test_an_error_of_a_shape_does_not_quote_the_token() -> None:
    assert "secret" not in str(failed({"access_token": "secret-token", "token_type": 7}))


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_an_error_code_is_told_with_the_next_step(status: int) -> None:
    error = failed(answer({"error": "invalid_grant", "error_description": "It has ended."}, status))
    assert (error.error, str(error)) == (
        "invalid_grant",
        "the authorization server 'https://as.example' refused a token: invalid_grant "
        "(It has ended.); log in again",
    )


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error": 5}', b'{"error": "a\\nb"}', b"[1]"])
def test_a_failure_without_an_error_code_has_its_status(body: bytes) -> None:
    error = failed(HttpAnswer(502, {}, body))
    assert (error.error, "status 502" in str(error)) == (None, True)


def test_a_redirect_of_the_token_endpoint_is_a_failure() -> None:
    assert "status 307" in str(failed(HttpAnswer(307, {"location": "https://evil.example"}, b"")))


def test_a_description_is_one_short_line_without_secrets() -> None:
    told = f"no\n\x1b[31m x {'y ' * 500} token=eyJh1b2c3d4e5f6g7h8i9j0k1 https://evil.example"
    error = failed(answer({"error": "e", "error_description": told}, 400))
    assert (len(str(error)) < 400, "\n" in str(error), "\x1b" in str(error)) == (True, False, False)


def test_no_repr_shows_a_secret() -> None:
    client = ClientAuthentication("a", "client_secret_post", "sesame")
    ask = asked(client)
    shown = f"{client!r} {ask!r} {tokens(GOOD)!r} {answer(GOOD)!r}"
    assert [word for word in ("sesame", "secret-token") if word in shown] == []


# Refresh and revocation


def test_a_refresh_names_the_resource() -> None:
    _, sent = drive(refresh(SERVER, PUBLIC, "r", URL, now=NOW), {TOKEN: GOOD})
    assert form(sent[0]) == {
        "grant_type": "refresh_token",
        "refresh_token": "r",
        "resource": URL,
        "client_id": "client",
    }


def test_a_token_is_revoked_at_the_revocation_endpoint() -> None:
    place = f"{ISSUER}/revoke"
    server = ServerMetadata(issuer=ISSUER, revocation_endpoint=place)
    done, sent = drive(revoke(server, PUBLIC, "t", "refresh_token", now=NOW), {place: answer()})
    assert (done, form(sent[0])) == (
        True,
        {"token": "t", "token_type_hint": "refresh_token", "client_id": "client"},
    )


def test_without_a_revocation_endpoint_nothing_is_sent() -> None:
    assert drive(revoke(SERVER, PUBLIC, "t", "access_token", now=NOW), {}) == (False, [])
