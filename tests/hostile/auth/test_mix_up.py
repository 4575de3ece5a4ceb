"""Servers that are taken for one another: no code and no secret goes to the wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_gen.auth import ClientCredentials
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import EVIL, HONEST, METADATA, PRM, REDIRECT, URL, opened_world


@attacks(
    "issuer of the redirect",
    Attack("iss of another server", {"iss": EVIL}, {"iss": HONEST}, "expected `iss` to be"),
    Attack("iss missing where it is promised", {"iss": None}, {"iss": HONEST}, "got none"),
    Attack("iss with a slash more", {"iss": f"{HONEST}/"}, {"iss": HONEST}, "every character"),
    Attack("iss in upper case", {"iss": "https://AS.example"}, {"iss": HONEST}, "every character"),
    Attack("iss with its port", {"iss": f"{HONEST}:443"}, {"iss": HONEST}, "every character"),
    Attack(
        "an error of another server",
        {"iss": EVIL, "code": None, "error": "access_denied"},
        {"iss": HONEST},
        "expected `iss` to be",
    ),
)
async def test_a_code_is_redeemed_where_its_request_went(
    case: Case[Mapping[str, str | None]],
) -> None:
    async with opened_world() as world:
        world.redirected = lambda params: {**params, **case.given}
        case.judge(await world.call(), world.redeemed())


@attacks(
    "issuer of the redirect where none is promised",
    Attack("iss of another server", EVIL, HONEST, "expected `iss` to be"),
)
async def test_an_issuer_is_compared_also_where_none_is_promised(case: Case[str]) -> None:
    async with opened_world(iss_parameter=False) as world:
        world.redirected = lambda params: {**params, "iss": case.given}
        case.judge(await world.call(), world.redeemed())


@attacks(
    "metadata at the origin of a server that has none",
    Attack("of another origin", EVIL, "https://api.example", "that of another one"),
    Attack("of another port", "https://api.example:8443", "https://api.example", "another one"),
)
async def test_a_server_without_metadata_leads_to_its_own_origin_alone(case: Case[str]) -> None:
    async with opened_world() as world:
        for url in (PRM, PRM.removesuffix("/mcp")):
            world.answer(url, {}, 404)
        world.challenge = "Bearer"
        told = {**world.server.document(), "issuer": case.given}
        world.answer("https://api.example" + METADATA, told)
        world.redirected = lambda params: {**params, "iss": case.given}
        outcome = await world.call()
        case.judge(PASSED if world.visits() else outcome, world.visits())


@attacks(
    "issuer of the metadata",
    Attack("of another server", {"issuer": EVIL}, {"issuer": HONEST}, "that of another one"),
    Attack("with a slash", {"issuer": f"{HONEST}/"}, {"issuer": HONEST}, "every character"),
    Attack("with a path", {"issuer": f"{HONEST}/a"}, {"issuer": HONEST}, "every character"),
    Attack("not there", {"issuer": None}, {"issuer": HONEST}, "not as expected"),
    Attack(
        "an authorization endpoint over http",
        {"authorization_endpoint": "http://as.example/authorize"},
        {"authorization_endpoint": f"{HONEST}/authorize"},
        "authorization endpoint .* is not safe",
    ),
    Attack(
        "a token endpoint over http",
        {"token_endpoint": "http://as.example/token"},
        {"token_endpoint": f"{HONEST}/token"},
        "token endpoint .* is not safe",
    ),
    Attack(
        "a token endpoint behind user info",
        {"token_endpoint": "https://as.example@evil.example/token"},
        {"token_endpoint": f"{HONEST}/token"},
        "token endpoint .* is not safe",
    ),
    Attack(
        "a link that is a program of the browser",
        {"authorization_endpoint": "javascript:alert(1)//"},
        {"authorization_endpoint": f"{HONEST}/authorize"},
        "authorization endpoint .* is not safe",
    ),
    Attack(
        "a link into the files of the user",
        {"authorization_endpoint": "file:///etc/passwd"},
        {"authorization_endpoint": f"{HONEST}/authorize"},
        "authorization endpoint .* is not safe",
    ),
    Attack(
        "PKCE absent",
        {"code_challenge_methods_supported": None},
        {"code_challenge_methods_supported": ["S256"]},
        "PKCE: expected S256",
    ),
    Attack(
        "PKCE plain only",
        {"code_challenge_methods_supported": ["plain"]},
        {"code_challenge_methods_supported": ["plain", "S256"]},
        "PKCE: expected S256",
    ),
    Attack(
        "PKCE in lower case",
        {"code_challenge_methods_supported": ["s256"]},
        {"code_challenge_methods_supported": ["S256"]},
        "PKCE: expected S256",
    ),
)
async def test_nobody_is_sent_to_a_server_by_metadata_that_cannot_be_its_own(
    case: Case[Mapping[str, Any]],
) -> None:
    async with opened_world() as world:
        told = {**world.server.document(), **case.given}
        world.answer(HONEST + METADATA, told)
        world.server.documents = ("oauth",)
        case.judge(await world.call(), world.visits())


@attacks(
    "resource of the metadata",
    Attack("another origin", "https://other.example/mcp", URL, "about another resource"),
    Attack("the same host over http", "http://api.example/mcp", URL, "about another resource"),
    Attack("another port", "https://api.example:8443/mcp", URL, "about another resource"),
    Attack("a path below", f"{URL}/more", URL, "about another resource"),
    Attack("a path beside", "https://api.example/mcp-evil", URL, "about another resource"),
    Attack("the beginning of a segment", "https://api.example/m", URL, "about another resource"),
    Attack("a query", f"{URL}?tenant=2", URL, "about another resource"),
    Attack("dots in the path", "https://api.example/mcp/../mcp", URL, "about another resource"),
    Attack("user info", "https://api.example@evil.example/mcp", URL, "about another resource"),
    Attack("a fragment", f"{URL}#x", URL, "about another resource"),
    Attack("another server's domain", "https://api.example.evil/mcp", URL, "another resource"),
)
async def test_metadata_of_another_resource_leads_nobody_to_its_server(case: Case[str]) -> None:
    async with opened_world() as world:
        world.resource_metadata({"resource": case.given, "authorization_servers": [HONEST]})
        case.judge(await world.call(), world.sent(HONEST))


@attacks(
    "authorization servers of the resource",
    Attack("none", [], [HONEST], "names no authorization server"),
    Attack("over http", ["http://as.example"], [HONEST], "is not safe"),
    Attack("another scheme", ["ftp://as.example"], [HONEST], "is not safe"),
    Attack("with user info", ["https://a:b@as.example"], [HONEST], "is not safe"),
    Attack("with a fragment", [f"{HONEST}#x"], [HONEST], "is not safe"),
    Attack("with a line break", [f"{HONEST}\r\nx: y"], [HONEST], "is not safe"),
    Attack("no text", [{"issuer": HONEST}], [HONEST], "not as expected"),
)
async def test_only_authorization_servers_over_https_are_asked(case: Case[list[Any]]) -> None:
    async with opened_world() as world:
        world.resource_metadata({"resource": URL, "authorization_servers": case.given})
        case.judge(await world.call(), world.sent(HONEST))


@attacks(
    "a secret of one authorization server at another",
    Attack("issuer is configured", EVIL, HONEST, "has another authorization server"),
)
async def test_a_configured_secret_is_shown_to_its_issuer_alone(case: Case[str]) -> None:
    async with opened_world() as world:
        client = ClientCredentials(
            "machine", "a-planted-secret", issuer=HONEST, fetcher=world.fetcher(), clock=world.clock
        )
        world.add_machine("machine", "a-planted-secret")
        world.resource_metadata({"resource": URL, "authorization_servers": [case.given]})
        outcome = await world.call(auth=client)
        case.judge(
            outcome,
            [
                one
                for one in world.net.log
                if one.headers.get("authorization", "").startswith("Basic")
            ],
        )
        await client.aclose()


@attacks(
    "credentials at an issuer that a server changes to",
    Attack("a registration and a refresh token", EVIL, HONEST, "Error"),
)
async def test_what_one_issuer_gave_is_shown_to_no_other(case: Case[str]) -> None:
    async with opened_world(access_token_lifetime_s=60) as world:
        assert await world.call() == PASSED
        known = await world.stored()
        kept = (known.client_id, str(known.refresh_token), str(known.access_token))
        del world.net.log[:], world.called[:]
        world.clock.now += 4000
        world.server.tokens.revoke(kept[1])
        world.resource_metadata({"resource": URL, "authorization_servers": [case.given]})
        # The server does not take tokens of the other issuer: the client gives up.
        outcome = await world.call()
        shown = [one for one in world.sent(EVIL) if any(text in one.text for text in kept)]
        assert shown == []
        case.judge(outcome, world.called)


@attacks(
    "a challenge that names metadata elsewhere",
    Attack("about a resource elsewhere", "https://evil.example/mcp", URL, "about another resource"),
)
async def test_metadata_at_another_origin_has_to_be_that_of_the_server(case: Case[str]) -> None:
    async with opened_world() as world:
        elsewhere = "https://evil.example/metadata"
        world.challenge = f'Bearer resource_metadata="{elsewhere}"'
        world.answer(elsewhere, {"resource": case.given, "authorization_servers": [HONEST]})
        case.judge(await world.call(), world.sent(HONEST))
        # Without a token, and without the rest of what the client knows.
        assert [one.token for one in world.sent(EVIL)] == [""]


@attacks(
    "a registration that is another client's",
    Attack(
        "other redirect URIs",
        {"redirect_uris": ["https://evil.example/callback"]},
        {"redirect_uris": [REDIRECT]},
        "redirect",
    ),
    Attack(
        "an id that ends a line",
        {"client_id": "a\r\nx: y"},
        {},
        "printable characters",
    ),
    Attack(
        "an authentication without a secret",
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "none"},
        "with a secret where it needs one",
    ),
    Attack(
        "an authentication that is unknown",
        {"token_endpoint_auth_method": "tls_client_auth"},
        {"token_endpoint_auth_method": "none"},
        "expected one of",
    ),
)
async def test_a_registration_that_was_changed_is_not_used(case: Case[Mapping[str, Any]]) -> None:
    async with opened_world() as world:
        world.server.changes["register"] = case.given
        case.judge(await world.call(), world.visits())
