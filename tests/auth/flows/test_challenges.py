"""WWW-Authenticate headers as clients read them."""

from __future__ import annotations

import pytest

from mcp_gen.auth.flows.challenges import (
    MAX_HEADER_CHARS,
    BearerChallenge,
    Challenge,
    bearer_challenge,
    parse_challenges,
)

META = "https://api.example/.well-known/oauth-protected-resource"

READ: dict[str, list[Challenge]] = {
    "": [],
    "Bearer": [Challenge("bearer", {})],
    'Bearer scope="a b"': [Challenge("bearer", {"scope": "a b"})],
    "BEARER Realm=api": [Challenge("bearer", {"realm": "api"})],
    'Bearer realm="a, b", error="invalid_token"': [
        Challenge("bearer", {"realm": "a, b", "error": "invalid_token"})
    ],
    r'Bearer realm="say \"hi\""': [Challenge("bearer", {"realm": 'say "hi"'})],
    'Bearer realm = "x" ,scope= "a"': [Challenge("bearer", {"realm": "x", "scope": "a"})],
    'Basic realm="x", Bearer scope="a"': [
        Challenge("basic", {"realm": "x"}),
        Challenge("bearer", {"scope": "a"}),
    ],
    'Negotiate YWJj==, Bearer error="e"': [
        Challenge("negotiate", {}),
        Challenge("bearer", {"error": "e"}),
    ],
    'Negotiate, Bearer scope="a"': [
        Challenge("negotiate", {}),
        Challenge("bearer", {"scope": "a"}),
    ],
    ', ,Bearer scope="a",, error="e"': [Challenge("bearer", {"scope": "a", "error": "e"})],
    'Bearer scope="a", scope="b"': [Challenge("bearer", {"scope": "a"})],
    'Bearer error="e", scope="open': [Challenge("bearer", {"error": "e"})],
}


@pytest.mark.parametrize("header", READ)
def test_a_header_is_read_as_its_challenges(header: str) -> None:
    found = parse_challenges(header)
    assert found[: len(READ[header])] == READ[header]


@pytest.mark.parametrize(("chars", "is_read"), [(16_384, True), (16_385, False), (99_999, False)])
def test_a_header_that_is_too_long_is_not_read(chars: int, is_read: bool) -> None:
    header = f'Bearer scope="{"a" * (chars - 15)}"'
    assert len(header) == chars
    assert bool(parse_challenges(header)) == is_read


@pytest.mark.parametrize("piece", ['a="', "a=b, ", "Bearer ", ",", '\\"', "= "])
def test_a_header_of_many_pieces_is_read_in_linear_time(piece: str) -> None:
    assert len(parse_challenges(f"Bearer {piece * (MAX_HEADER_CHARS // 8)}")) <= MAX_HEADER_CHARS


@pytest.mark.parametrize("scheme", ["Bearer", "DPoP", "bearer"])
def test_a_challenge_for_tokens_tells_metadata_scopes_and_error(scheme: str) -> None:
    header = f'{scheme} resource_metadata="{META}", scope="b a b", error="insufficient_scope"'
    assert bearer_challenge({"www-authenticate": header}) == BearerChallenge(
        resource_metadata=META, scopes=("b", "a"), error="insufficient_scope"
    )


def test_a_challenge_of_another_scheme_tells_nothing() -> None:
    header = f'Basic resource_metadata="{META}", scope="a"'
    assert bearer_challenge({"www-authenticate": header}) == BearerChallenge()


@pytest.mark.parametrize("headers", [{}, {"www-authenticate": ""}, {"www-authenticate": "Bearer"}])
def test_a_refusal_without_parameters_tells_nothing(headers: dict[str, str]) -> None:
    assert bearer_challenge(headers) == BearerChallenge()


def test_of_two_challenges_for_tokens_the_first_decides() -> None:
    header = 'DPoP error="e1", algs="ES256", Bearer error="e2", scope="s"'
    found = bearer_challenge({"www-authenticate": header})
    assert (found.error, found.scopes) == ("e1", ("s",))


def test_an_empty_scope_is_no_scope() -> None:
    assert bearer_challenge({"www-authenticate": 'Bearer scope=" "'}).scopes is None


@pytest.mark.parametrize(
    "token", ["QKJvhRINYvIoYWWBwQPMWVBLPEnkwZIfPXLvsqPvEa", "a3f9c2d8e1b7a6f5c4d3e2f1a0b9c8d7"]
)
def test_the_refused_token_is_no_error_code_with_digits_or_without(token: str) -> None:
    assert bearer_challenge({"www-authenticate": f'Bearer error="{token}"'}).error is None
