"""Admission and refusal of requests: statuses, challenges, and what is remembered."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_gen import UsageError
from mcp_gen.auth import (
    AccessToken,
    InvalidToken,
    ResourceServer,
    StaticTokens,
    VerifierUnavailable,
)
from mcp_gen.core.transport.headers import Headers
from tests.auth.server.requests import (
    ISSUER,
    NOW,
    RESOURCE,
    Clock,
    admitted,
    ask,
    bearer,
    challenges,
    refused,
    scope,
)

METADATA = "https://api.example.com/.well-known/oauth-protected-resource/mcp"
TOKEN = "token-of-alice"


class Claims:
    """Verifier that knows one token, and counts how often it is asked."""

    def __init__(self, cache_s: float = 60.0, **claims: Any) -> None:
        self.cache_s = cache_s
        self.claims = {"iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": NOW + 600} | claims
        self.asked = 0

    async def verify(self, token: str) -> AccessToken | None:
        self.asked += 1
        inner = StaticTokens({TOKEN: self.claims})
        return await inner.verify(token)


def gate(verifier: Any = None, **options: Any) -> ResourceServer:
    return ResourceServer(
        options.pop("issuer", ISSUER),
        audience=options.pop("audience", RESOURCE),
        verifier=Claims() if verifier is None else verifier,
        clock=options.pop("clock", Clock()),
        **options,
    )


async def test_a_request_with_a_valid_token_is_admitted_as_its_user() -> None:
    found = await admitted(gate(), bearer(TOKEN))
    assert found.principal == f"user:{len(ISSUER)}:{ISSUER} alice"


async def test_a_request_without_credentials_gets_a_challenge_without_error() -> None:
    found = await refused(gate(scopes=["mcp"]))
    assert found.status == 401
    assert challenges(found) == [f'Bearer scope="mcp", resource_metadata="{METADATA}"']


async def test_credentials_of_another_scheme_get_a_challenge_without_error() -> None:
    found = await refused(gate(), ("authorization", "Basic YTpi"))
    assert (found.status, challenges(found)) == (401, [f'Bearer resource_metadata="{METADATA}"'])


async def test_an_unknown_token_is_invalid() -> None:
    found = await refused(gate(), bearer("token-of-mallory"))
    assert found.status == 401
    assert challenges(found) == [
        'Bearer error="invalid_token", error_description="the token is not valid", '
        f'resource_metadata="{METADATA}"'
    ]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_name_of_the_scheme_has_no_case(scheme: str) -> None:
    await admitted(gate(), ("authorization", f"{scheme} {TOKEN}"))


@pytest.mark.parametrize(
    "line",
    ["Bearer", "Bearer ", "Bearer a b", 'Bearer "a"', "Bearer a,b", "Bearer tök", "Bearer a\tb"],
)
async def test_a_malformed_header_is_an_invalid_request(line: str) -> None:
    found = await refused(gate(), ("authorization", line))
    assert found.status == 400
    assert 'error="invalid_request"' in challenges(found)[0]


async def test_two_authorization_headers_are_an_invalid_request() -> None:
    found = await refused(gate(), bearer(TOKEN), bearer(TOKEN))
    assert found.status == 400
    assert "got several" in found.message
    assert 'error="invalid_request"' in challenges(found)[0]


@pytest.mark.parametrize("query", [b"access_token=x", b"a=b&access%5Ftoken=x", b"access_token"])
async def test_a_token_in_the_url_is_refused_also_beside_a_valid_one(query: bytes) -> None:
    server = gate()
    await admitted(server, bearer(TOKEN), query_string=b"a=access_token")
    found = await refused(server, bearer(TOKEN), query_string=query)
    assert found.status == 400
    assert 'error="invalid_request"' in challenges(found)[0]


async def test_a_token_beyond_the_limit_is_not_verified() -> None:
    verifier = Claims()
    await admitted(gate(verifier, max_token_bytes=len(TOKEN)), bearer(TOKEN))
    found = await refused(gate(verifier, max_token_bytes=len(TOKEN) - 1), bearer(TOKEN))
    assert (found.status, verifier.asked) == (401, 1)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "https://api.example.com/other"}, "another audience"),
        ({"aud": ["https://api.example.com/mcp/"]}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": {RESOURCE: 1}}, "another audience"),
        ({"iss": "https://login.example.com/"}, "another authorization server"),
        ({"exp": NOW - 30}, "expired"),
        ({"exp": float("nan")}, "not a time"),
        ({"exp": True}, "not a time"),
        ({"cnf": {"jkt": "abc"}}, "bound to a key"),
        ({"cnf": {"x5t#S256": "abc"}}, "bound to a kind of key"),
        ({"cnf": "abc"}, "bound to a kind of key"),
        ({"sub": 7}, "`sub` is not a text"),
        ({"scope": {"mcp": 1}}, "`scope` is not a text"),
    ],
)
async def test_a_token_that_is_not_for_here_and_now_is_invalid(
    claims: Mapping[str, Any], why: str
) -> None:
    found = await refused(gate(Claims(**claims)), bearer(TOKEN))
    assert found.status == 401
    assert 'error="invalid_token"' in challenges(found)[0]
    assert why in found.message


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["https://other.example.com", RESOURCE]},
        {"exp": NOW - 29},
        {"exp": NOW + 0.5},
        {"cnf": None},
        {"scope": "a b"},
        {"scp": ["a", "b"]},
    ],
)
async def test_a_token_that_is_just_so_is_admitted(claims: Mapping[str, Any]) -> None:
    await admitted(gate(Claims(**claims)), bearer(TOKEN))


def everybody(token: AccessToken) -> str:
    return "all"


async def test_a_token_that_names_nobody_is_refused_unless_the_operator_names_the_caller() -> None:
    class Nobody:
        async def verify(self, token: str) -> AccessToken | None:
            return AccessToken(token, issuer=ISSUER, expires_at=NOW + 600)

    assert (await refused(gate(Nobody()), bearer(TOKEN))).status == 401
    found = await admitted(gate(Nobody(), principal=everybody), bearer(TOKEN))
    assert found.principal == "all"


async def test_a_caller_whom_the_operator_does_not_name_is_named_by_the_token() -> None:
    def staff(token: AccessToken) -> str | None:
        return token.claims.get("employee")

    usual = await admitted(gate(Claims()), bearer(TOKEN))
    assert usual.principal is not None
    found = await admitted(gate(Claims(), principal=staff), bearer(TOKEN))
    assert found.principal == usual.principal
    named = await admitted(gate(Claims(employee="7"), principal=staff), bearer(TOKEN))
    assert named.principal == "7"


async def test_the_equal_subject_of_two_issuers_is_two_principals() -> None:
    other = "https://login.example.org"
    both = {"issuer": [ISSUER, other]}
    first = await admitted(gate(Claims(), **both), bearer(TOKEN))
    second = await admitted(gate(Claims(iss=other), **both), bearer(TOKEN))
    assert first.principal != second.principal


async def test_a_client_that_acts_for_itself_is_a_principal_of_its_own() -> None:
    machine = await admitted(gate(Claims(sub="app", client_id="app")), bearer(TOKEN))
    user = await admitted(gate(Claims(sub="app", client_id="other")), bearer(TOKEN))
    assert (machine.principal, user.principal) == (
        f"client:{len(ISSUER)}:{ISSUER} app",
        f"user:{len(ISSUER)}:{ISSUER} app",
    )


async def test_a_token_without_the_scopes_of_each_request_is_forbidden() -> None:
    found = await refused(gate(Claims(scope="other"), scopes=["mcp"]), bearer(TOKEN))
    assert found.status == 403
    assert challenges(found) == [
        'Bearer error="insufficient_scope", '
        'error_description="expected a token with the scope mcp", '
        f'scope="mcp other", resource_metadata="{METADATA}"'
    ]
    await admitted(gate(Claims(scope="other mcp"), scopes=["mcp"]), bearer(TOKEN))


async def test_the_challenge_of_an_operation_repeats_what_is_granted_but_not_offline_access() -> (
    None
):
    server = gate(Claims(scope="mcp files:read offline_access"), scopes=["mcp"])
    admission = await admitted(server, bearer(TOKEN))
    found = server.insufficient(scope(bearer(TOKEN)), {"files:write"}, admission)
    assert found.status == 403
    assert 'scope="mcp files:write files:read"' in challenges(found)[0]


async def test_granted_scopes_that_would_make_a_long_header_are_not_repeated() -> None:
    many = " ".join(f"scope:{number}" for number in range(200))
    server = gate(Claims(scope=f"mcp {many}"), scopes=["mcp"])
    admission = await admitted(server, bearer(TOKEN))
    found = server.insufficient(scope(bearer(TOKEN)), {"files:write"}, admission)
    assert 'scope="mcp files:write"' in challenges(found)[0]


@pytest.mark.parametrize("scope_", ['a"b', "a\\b", "ä", "a\r\nset-cookie:b", ""])
async def test_a_scope_that_cannot_be_one_is_left_out_of_the_challenge(scope_: str) -> None:
    server = gate(Claims(scp=["mcp", scope_]), scopes=["mcp"])
    admission = await admitted(server, bearer(TOKEN))
    found = server.insufficient(scope(bearer(TOKEN)), {"files:write", scope_}, admission)
    assert 'scope="mcp files:write"' in challenges(found)[0]


async def test_a_broad_scope_has_the_narrower_ones_also_through_others() -> None:
    implied = {"admin": ["write"], "write": ["read"]}
    server = gate(Claims(scope="admin"), scopes=["read"], implied_scopes=implied)
    found = await admitted(server, bearer(TOKEN))
    assert found.token is not None
    assert found.token.scopes == {"admin", "write", "read"}
    narrow = gate(Claims(scope="write"), scopes=["admin"], implied_scopes=implied)
    assert (await refused(narrow, bearer(TOKEN))).status == 403


# --- what is remembered ---


async def test_a_verified_token_is_known_and_the_verifier_is_not_asked_again() -> None:
    verifier = Claims()
    server = gate(verifier)
    first = await admitted(server, bearer(TOKEN))
    assert await admitted(server, bearer(TOKEN)) is first
    assert verifier.asked == 1


async def test_a_token_is_not_known_beyond_its_end_even_within_the_leeway() -> None:
    clock = Clock()
    verifier = Claims(cache_s=3600.0)
    server = gate(verifier, clock=clock)
    await admitted(server, bearer(TOKEN))
    clock.now = NOW + 599.9
    await admitted(server, bearer(TOKEN))
    assert verifier.asked == 1
    clock.now = NOW + 600
    await admitted(server, bearer(TOKEN))
    assert verifier.asked == 2
    clock.now = NOW + 630
    assert (await refused(server, bearer(TOKEN))).status == 401


async def test_a_token_is_verified_again_when_its_memory_has_run_out() -> None:
    clock = Clock()
    verifier = Claims(cache_s=60.0)
    server = gate(verifier, clock=clock)
    await admitted(server, bearer(TOKEN))
    clock.now = NOW + 60
    await admitted(server, bearer(TOKEN))
    assert verifier.asked == 2


async def test_a_verifier_that_allows_no_memory_is_asked_each_time() -> None:
    verifier = Claims(cache_s=0.0)
    server = gate(verifier)
    await admitted(server, bearer(TOKEN))
    await admitted(server, bearer(TOKEN))
    assert verifier.asked == 2


async def test_no_more_tokens_are_remembered_than_the_limit() -> None:
    class All:
        cache_s = 60.0
        asked = 0

        async def verify(self, token: str) -> AccessToken | None:
            self.asked += 1
            return AccessToken(token, issuer=ISSUER, subject=token, expires_at=NOW + 600)

    verifier = All()
    server = gate(verifier, max_cached=2)
    for token in ("a", "b", "c", "c", "b", "a"):
        await admitted(server, bearer(token))
    # The oldest was forgotten for `c`, and is verified once more.
    assert verifier.asked == 4


async def test_a_token_is_not_known_in_a_request_with_a_query() -> None:
    server = gate()
    await admitted(server, bearer(TOKEN))
    asked = scope(bearer(TOKEN), query_string=b"access_token=x")
    assert server.known(asked, Headers(asked["headers"])) is None


# --- verifiers that fail ---


async def test_a_verifier_that_cannot_tell_is_answered_with_503_and_when_to_retry() -> None:
    class Away:
        async def verify(self, token: str) -> AccessToken | None:
            raise VerifierUnavailable("no keys", retry_after_s=6.5)

    found = await refused(gate(Away()), bearer(TOKEN))
    assert (found.status, found.headers) == (503, [(b"retry-after", b"7")])


async def test_a_verifier_that_breaks_admits_nobody_and_its_message_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        async def verify(self, token: str) -> AccessToken | None:
            raise RuntimeError(token)

    with caplog.at_level(logging.DEBUG):
        found = await refused(gate(Broken()), bearer(TOKEN))
    assert found.status == 503
    assert "RuntimeError at " in caplog.text
    assert TOKEN not in caplog.text


async def test_refusals_are_logged_up_to_a_number_and_then_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    server = gate(clock=clock)
    with caplog.at_level(logging.INFO, "mcp_gen.auth"):
        for _ in range(25):
            await ask(server, bearer("wrong-token"))
        assert len(caplog.records) == 10
        clock.now += 60
        await ask(server, bearer("wrong-token"))
    assert [record.getMessage() for record in caplog.records[10:]] == [
        "15 further requests were refused",
        "request refused with 401: the token is not valid",
    ]
    assert "wrong-token" not in caplog.text


async def test_requests_without_credentials_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        await refused(gate())
    assert caplog.records == []


async def test_what_a_peer_chose_stands_escaped_and_cut_short_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away:
        async def verify(self, token: str) -> AccessToken | None:
            raise VerifierUnavailable("status 500\r\nrequest admitted \x1b[2J" + "x" * 1000)

    with caplog.at_level(logging.INFO):
        await refused(gate(Away()), bearer(TOKEN))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.isprintable()
    assert len(line) < 400


async def test_a_refusal_says_nothing_that_the_client_sent() -> None:
    class Echo:
        async def verify(self, token: str) -> AccessToken | None:
            raise InvalidToken('said "\r\nSet-Cookie: a=b')

    found = await refused(gate(Echo()), bearer(TOKEN))
    assert 'error_description="said _Set-Cookie: a=b"' in challenges(found)[0]


# --- options ---


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [({"short": "alice"}, "fewer than 8"), ({"token-of-nobody": {}}, "names nobody")],
)
def test_a_fixed_token_is_long_and_names_somebody(tokens: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        StaticTokens(tokens)


async def test_fixed_tokens_have_the_scopes_of_the_table_or_their_own() -> None:
    table = StaticTokens(
        {TOKEN: "alice", "token-of-bob": {"sub": "bob", "scope": "b"}}, scopes=["a"]
    )
    alice, bob = await table.verify(TOKEN), await table.verify("token-of-bob")
    assert alice is not None
    assert bob is not None
    assert (set(alice.scopes), set(bob.scopes)) == ({"a"}, {"b"})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"issuer": "login.example.com"}, "expected an absolute URL"),
        ({"issuer": "http://login.example.com"}, "http is for loopback alone"),
        ({"issuer": "https://login.example.com?a=b"}, "without user, query and fragment"),
        ({"resource": "https://api.example.com/mcp#x"}, "without user, query and fragment"),
        ({"resource": 'https://api.example.com/"x'}, "printable ASCII"),
        ({"metadata_url": "https://a\r\n"}, "expected"),
        ({"audience": ""}, "audience"),
        ({"audience": []}, "audience"),
        ({"scopes": "mcp"}, "expected a list"),
        ({"scopes": ['a"b']}, "printable ASCII without spaces"),
        ({"leeway_s": -1}, "expected 0 or more"),
        ({"path": "mcp"}, "begins with '/'"),
        ({"allowed_hosts": "a.example"}, "expected a list"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        gate(**options)


def test_issuers_on_loopback_may_be_http() -> None:
    assert gate(issuer="http://127.0.0.1:9000").issuers == ("http://127.0.0.1:9000",)


async def test_reprs_show_no_token() -> None:
    server = gate(StaticTokens({TOKEN: "alice"}))
    found = await admitted(server, bearer(TOKEN))
    assert TOKEN not in repr([server, found, StaticTokens({TOKEN: "alice"})])
