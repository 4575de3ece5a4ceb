"""Texts of peers in errors, logs and consent: no line, no escape and no markup of theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen.auth import AuthorizationRequest
from mcp_gen.auth.browser.consent import consent_text
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_loops import FOREVER, Refusing, always
from tests.hostile.auth.test_tokens import claims, signed
from tests.hostile.auth.world import EVIL, HONEST, METADATA, URL, World, opened_world

SCREEN = "\x1b[2J\x1b]0;title\x07"
"""Clears a terminal, and names it."""
LINE = "ok\r\nERROR mcp_gen: all is well"
OVERRIDE = "\u202e\u2066"
"""Turns around the letters that follow."""
LINK = "see https://evil.example/login"
Spoil = Callable[[World, str], object]


def nothing(world: World, text: str) -> None:
    """Leave everything as it is."""


def description(world: World, text: str) -> None:
    body = {"error": "invalid_grant", "error_description": text}
    world.answer(f"{HONEST}/token", body, 400)


def code(world: World, text: str) -> None:
    world.answer(f"{HONEST}/token", {"error": text}, 400)


def registration(world: World, text: str) -> None:
    body = {"error": "invalid_client_metadata", "error_description": text}
    world.answer(f"{HONEST}/register", body, 400)


def redirect(world: World, text: str) -> None:
    world.redirected = lambda given: {
        "state": given["state"],
        "iss": given["iss"],
        "error": "access_denied",
        "error_description": text,
    }


def redirect_code(world: World, text: str) -> None:
    world.redirected = lambda given: {"state": given["state"], "iss": given["iss"], "error": text}


def token_type(world: World, text: str) -> None:
    world.server.changes["token"] = {"token_type": text}


def issuer(world: World, text: str) -> None:
    world.answer(HONEST + METADATA, {**world.server.document(), "issuer": f"{EVIL}/{text}"})
    world.server.documents = ()


def resource(world: World, text: str) -> None:
    document = {"resource": f"https://x.example/{text}", "authorization_servers": [HONEST]}
    world.resource_metadata(document)


def server_url(world: World, text: str) -> None:
    world.resource_metadata({"resource": URL, "authorization_servers": [f"http://x/{text}"]})


def challenge(world: World, text: str) -> None:
    shown = text.replace("\r\n", " ").encode("ascii", "replace").decode()
    line = f'Bearer error="{shown}", scope="mcp", error_description="{shown}"'
    Refusing(world, 401, always(line), FOREVER)


PLACES: dict[str, Spoil] = {
    "a description of the token endpoint": description,
    "an error code of the token endpoint": code,
    "a description of the registration": registration,
    "a description in the redirect": redirect,
    "an error code in the redirect": redirect_code,
    "the type of a token": token_type,
    "an issuer": issuer,
    "a resource": resource,
    "the URL of an authorization server": server_url,
    "a challenge": challenge,
}


@pytest.mark.parametrize(
    "text", [SCREEN, LINE, OVERRIDE, LINK], ids=["escapes", "a line", "an override", "a link"]
)
@attacks(
    "texts of peers in errors",
    *(Attack(name, spoil, nothing, "Error: ") for name, spoil in PLACES.items()),
)
async def test_an_error_is_one_line_of_plain_text(
    case: Case[Spoil], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_gen")
    async with opened_world() as world:
        case.given(world, text)
        outcome = await world.call()
        lines = [one.getMessage() for one in caplog.records if one.name.startswith("mcp_gen")]
        for shown in (outcome, *lines):
            assert shown.isprintable(), ascii(shown)
            assert "evil.example/login" not in shown
            assert not any(one in shown for one in OVERRIDE)
            assert len(shown) < 2_000
        case.judge(outcome, world.called)


@attacks(
    "texts of a token in the log of a server",
    Attack("a line in the issuer", {"iss": f"{HONEST}\n{LINE}"}, {}, "^401"),
    Attack("a line in the audience", {"aud": f"{URL}\n{LINE}"}, {}, "^401"),
    Attack("a line in a scope", {"scope": LINE}, {}, "^403"),
    Attack("an escape in the user", {"sub": SCREEN, "scope": "x"}, {}, "^403"),
)
async def test_a_token_writes_no_line_of_its_own(
    case: Case[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_gen")
    async with opened_world() as world:
        outcome = await world.post(signed(world, claims(world, **case.given)))
        lines = [one.getMessage() for one in caplog.records if one.name.startswith("mcp_gen")]
        assert all(one.isprintable() for one in lines)
        assert "all is well" not in " ".join(lines)
        assert outcome.isprintable()
        case.judge(outcome, world.called)


@attacks(
    "what a user is shown before a login",
    Attack("escapes", SCREEN, "scope", "\ufffd"),
    Attack(
        "a line that looks like another row", "x\n  log in at  https://as.example", "x", "\ufffd"
    ),
    Attack("an override", f"{OVERRIDE}elpmaxe.sa", "as.example", "\ufffd"),
    Attack("what pushes the rest away", "x" * 5_000, "x" * 50, "…"),
)
def test_a_consent_has_four_rows_of_plain_text(case: Case[str]) -> None:
    shown = consent_text(
        AuthorizationRequest(
            issuer=HONEST,
            resource=URL,
            scopes=(case.given,),
            client_name="Attacked",
            client_id="app",
            redirect_uri="http://127.0.0.1/",
            url=HONEST,
        )
    )
    rows = shown.split("\n")
    assert (len(rows), all(row.isprintable() for row in rows)) == (4, True)
    assert len(shown) < 1_000
    whole = [shown] if case.given in shown else []
    case.judge(PASSED if whole else shown, whole)


@attacks(
    "scopes that are no scopes",
    Attack("in the metadata of the resource", ["mcp", f"a{SCREEN}", 'b"', "c d"], ["mcp"], "left"),
)
async def test_scopes_of_a_peer_that_are_none_are_left_out(case: Case[list[str]]) -> None:
    """Both log in; the attack asks for the scope that is one, and for none of the others."""
    async with opened_world() as world:
        world.resource_metadata(
            {"resource": URL, "authorization_servers": [HONEST], "scopes_supported": case.given}
        )
        world.challenge = "Bearer"
        assert await world.call() == PASSED
        asked = list(world.shown[0].scopes or ())
        assert asked == ["mcp"]
        case.judge(PASSED if asked == case.given else "left out", [1] * (asked == case.given))
