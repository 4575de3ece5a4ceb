"""No failure of authorization shows a secret: not in errors, tracebacks, logs, reprs, responses."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from mcp_gen import Client, Context, McpGenError, Server
from mcp_gen.auth import (
    AccessToken,
    ClientCredentials,
    DPoP,
    MemoryTokenStore,
    OAuth,
    SigningKey,
)
from mcp_gen.core.transport.authorizing import RequestAuthorizer
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_loops import FOREVER, Refusing
from tests.hostile.auth.test_tokens import claims, signed
from tests.hostile.auth.world import HONEST, URL, World, json_answer, opened_world
from tests.support.frames import PER_REQUEST

MACHINE_SECRET = "correct-horse-battery-staple"
"""It does not look random: only who knows it can hide it."""
QUERY_SECRET = "Pl4nted-Qu3ry-S3cret-0123456789"
OURS = ("mcp_gen", "asyncio")
"""Loggers whose lines are ours; those of the HTTP client of a test log URLs themselves."""
FORM_SECRETS = ("code", "code_verifier", "refresh_token", "client_assertion", "client_secret")
LEAST = 8


class Output:
    """All that a failing program shows."""

    def __init__(self, log: pytest.LogCaptureFixture, capture: pytest.CaptureFixture[str]) -> None:
        self._log = log
        self._capture = capture
        self._log.set_level(logging.DEBUG)
        self.texts: list[str] = []

    def add(self, *shown: object) -> None:
        """Take what was shown; of an error all that a traceback shows."""
        for one in shown:
            self.texts += [repr(one), str(one)]
            if isinstance(one, BaseException):
                self.texts += traceback.format_exception(one)
                self.texts += [repr(one.args), repr(vars(one))]

    def all(self) -> str:
        lines = [
            f"{one.getMessage()} {one.exc_text or ''}"
            for one in self._log.records
            if one.name.startswith(OURS)
        ]
        return "\n".join([*self.texts, *lines, *self._capture.readouterr()])


@pytest.fixture
def output(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> Output:
    return Output(caplog, capsys)


def secrets_of(world: World) -> set[str]:
    """Return all secrets that were in any request or response, and those that were planted."""
    found = {MACHINE_SECRET, QUERY_SECRET}
    for one in world.net.log:
        found |= {one.token, one.headers.get("dpop", "")}
        if one.path == "/token":
            found |= {one.form.get(name, "") for name in FORM_SECRETS}
    for params in world.redirects:
        found |= {params.get("code", ""), params.get("state", "")}
    for stored in world.store._credentials.values():
        found |= {stored.access_token or "", stored.refresh_token or "", stored.key or ""}
        if stored.key:
            found.add(SigningKey.load(stored.key).private_jwk()["d"])
    return {one for one in found if len(one) >= LEAST}


def shown_secrets(world: World, output: Output) -> list[str]:
    text = output.all()
    assert text
    return [one for one in secrets_of(world) if one in text]


async def run(world: World, output: Output, auth: RequestAuthorizer, url: str = URL) -> str:
    """Connect and call a tool, and keep all that is shown."""
    outcome = PASSED
    try:
        async with Client("secrets") as client:
            session = await client.connect(
                url, auth=auth, http_client=world.http, revision=PER_REQUEST
            )
            output.add(session)
            result = await session.call_tool("who")
            output.add(result)
            if result.is_error:
                outcome = str(result.content)
    except McpGenError as error:
        output.add(error)
        outcome = f"{type(error).__name__}: {error}"
    output.add(auth, world.store, world.gate, world.shown, world.gate._verifier)
    return outcome


Spoil = Callable[[World], object]


def nothing(world: World) -> None:
    """Leave everything as it is."""


def token_error(**members: Callable[[dict[str, str]], str]) -> Spoil:
    """Refuse the code, with texts that are made from the request."""

    def spoil(world: World) -> None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            form = world.redeemed()[-1].form
            told = {"error": "invalid_grant"} | {name: make(form) for name, make in members.items()}
            return json_answer(told, 400)

        world.net.answers[f"{HONEST}/token"] = answer

    return spoil


def token_member(**members: Any) -> Spoil:
    return lambda world: world.server.changes.update(token=members)


def token_page(world: World) -> None:
    """Fail with a page that repeats the request."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return json_answer(b"<html>" + world.redeemed()[-1].body, 500)

    world.net.answers[f"{HONEST}/token"] = answer


def redirected(**params: str | None) -> Spoil:
    """Come back with other parameters; `{code}` and `{state}` stand for the real ones."""

    def change(given: dict[str, str]) -> dict[str, str | None]:
        made = {name: text and text.format(**given) for name, text in params.items()}
        return {**given, **made}

    return lambda world: setattr(world, "redirected", change)


def refusing(status: int, line: str) -> Spoil:
    """Refuse each token, with its text in the challenge."""

    def spoil(world: World) -> None:
        def lines() -> Iterator[str]:
            while True:
                yield line.format(token=world.sent(URL, "/mcp")[-1].token)

        Refusing(world, status, lines(), FOREVER)

    return spoil


def repeated_by_client(world: World) -> None:
    """Fail in the HTTP client, with an error that repeats the request."""

    def fail(request: httpx2.Request) -> httpx2.Response:
        if "authorization" not in request.headers:
            return json_answer({}, 401, www_authenticate="Bearer")
        raise httpx2.ConnectError(f"failed: {dict(request.headers)} {request.url}")

    world.net.answers[URL] = fail


def token_request_fails(world: World) -> None:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError(f"failed: {world.redeemed()[-1].text}")

    world.net.answers[f"{HONEST}/token"] = fail


FLOWS: list[Attack[Spoil]] = [
    Attack(
        "the code in a description",
        token_error(error_description=lambda form: f"unknown code {form['code']}"),
        nothing,
        "invalid_grant",
    ),
    Attack(
        "the whole form in a description",
        token_error(error_description=lambda form: " ".join(form.values())[:190]),
        nothing,
        "invalid_grant",
    ),
    Attack(
        "the code as error code",
        token_error(error=lambda form: form["code"]),
        nothing,
        "AuthError",
    ),
    Attack("the request in a page", token_page, nothing, "status 500"),
    Attack("the request in an error", token_request_fails, nothing, "Error"),
    Attack(
        "a secret as type of the token",
        token_member(token_type="kJ8s0dP1qVb7ZtYc3Lw9"),
        nothing,
        "of the type",
    ),
    Attack(
        "the state in a description",
        redirected(error="access_denied", error_description="state {state}", code=None),
        nothing,
        "access_denied",
    ),
    Attack("the state as error", redirected(error="{state}", code=None), nothing, "AuthError"),
    Attack("a code with another state", redirected(state="other"), nothing, "`state`"),
    Attack("a code of another issuer", redirected(iss="https://evil.example"), nothing, "`iss`"),
    Attack(
        "the token as error of a challenge",
        refusing(401, 'Bearer error="{token}"'),
        nothing,
        "AuthError",
    ),
    Attack(
        "the token in a description of a challenge",
        refusing(401, 'Bearer error="invalid_token", error_description="{token}"'),
        nothing,
        "AuthError",
    ),
    Attack("an HTTP client that repeats it", repeated_by_client, nothing, "Error"),
]


@attacks("what a failing login shows", *FLOWS)
@pytest.mark.parametrize("proven", [False, True], ids=["bearer", "DPoP"])
async def test_a_failing_login_shows_no_secret(
    case: Case[Spoil], proven: bool, output: Output
) -> None:
    # An opaque token is short: it fits where an error code does.
    async with opened_world(access_token_format="jwt" if proven else "opaque") as world:
        if not proven:
            world.introspect()
        case.given(world)
        auth = world.oauth()
        used = DPoP(auth, clock=world.clock) if proven else auth
        outcome = await run(world, output, used)
        output.add(auth, used)
        case.judge(outcome, world.called)
        assert shown_secrets(world, output) == []
        await auth.aclose()


def machine(world: World) -> ClientCredentials:
    world.add_machine("machine", MACHINE_SECRET)
    return ClientCredentials(
        "machine", MACHINE_SECRET, issuer=HONEST, fetcher=world.fetcher(), clock=world.clock
    )


@attacks(
    "what a failing program shows",
    Attack(
        "the secret in a description",
        token_error(error_description=lambda _: f"wrong secret {MACHINE_SECRET}"),
        nothing,
        "invalid_grant",
    ),
    Attack(
        "the secret as error code",
        token_error(error=lambda _: MACHINE_SECRET),
        nothing,
        "AuthError",
    ),
    Attack("the request in a page", token_page, nothing, "status 500"),
    Attack("the request in an error", token_request_fails, nothing, "Error"),
    Attack("403 forever", refusing(403, 'Bearer error="insufficient_scope"'), nothing, "Error"),
)
async def test_a_failing_program_shows_no_secret(case: Case[Spoil], output: Output) -> None:
    async with opened_world() as world:
        case.given(world)
        auth = machine(world)
        case.judge(await run(world, output, auth), world.called)
        assert shown_secrets(world, output) == []
        await auth.aclose()


@attacks(
    "what a URL with a key shows",
    Attack("nobody is there to log in", False, True, "nobody is there"),
    Attack("nobody logs in in time", 0.01, 300.0, "nobody has logged in"),
)
async def test_a_secret_in_the_url_of_a_server_is_not_shown(
    case: Case[bool | float], output: Output
) -> None:
    url = f"{URL}?key={QUERY_SECRET}"
    async with opened_world() as world:
        options: dict[str, Any] = {"interactive": case.given}
        if not isinstance(case.given, bool):
            options = {"login_timeout_s": case.given}
        if case.is_hostile and "login_timeout_s" in options:
            options["on_authorize"] = never
        auth = world.oauth(**options)
        case.judge(await run(world, output, auth, url), world.called)
        assert shown_secrets(world, output) == []
        await auth.aclose()


async def never(request: object) -> str:
    """Wait for a user who does not come."""
    await asyncio.Event().wait()
    return ""


class Chatty:
    """Verifier that says too much."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    async def verify(self, token: str) -> Any:
        if self._fails:
            raise RuntimeError(f"no such token: {token}")
        return AccessToken(token, issuer=HONEST, subject="demo", scopes=frozenset({"mcp"}))


@attacks(
    "what a failing verifier shows",
    Attack("the token in its error", True, False, "^503"),
)
async def test_an_error_of_a_verifier_is_not_shown(case: Case[bool], output: Output) -> None:
    async with opened_world() as world:
        world.protect(verifier=Chatty(case.given))
        token = "Pl4nted-T0ken-0123456789"
        outcome = await world.post(token)
        output.add(outcome, world.gate)
        case.judge(outcome, world.called)
        assert token not in output.all()


@attacks(
    "what a refused token shows",
    Attack("in the response and the log", {"aud": "https://other.example"}, {}, "^401"),
    Attack("in the 403", {"scope": "other"}, {}, "^403"),
)
async def test_a_refusal_does_not_repeat_the_token(
    case: Case[dict[str, Any]], output: Output
) -> None:
    async with opened_world() as world:
        token = signed(world, claims(world, **case.given))
        outcome = await world.post(token)
        output.add(outcome, world.gate, world.gate._verifier)
        case.judge(outcome, world.called)
        shown = output.all()
        assert token not in shown
        assert token.rpartition(".")[2] not in shown


@attacks(
    "what a failing tool shows",
    Attack("of the token in its context", True, False, "wrong"),
)
async def test_an_error_of_a_tool_does_not_have_the_token(case: Case[bool], output: Output) -> None:
    """The error of the tool has the reprs of all that the tool has."""
    async with opened_world() as world:
        server = Server("failing")

        @server.tool
        async def who(ctx: Context) -> str:
            output.add(ctx, ctx.token, ctx.principal)
            if case.given:
                raise RuntimeError(f"wrong: {ctx!r} {ctx.token!r} {ctx.token}")
            world.called.append("who")
            return "ok"

        world.mcp = server
        world.protect()
        case.judge(await run(world, output, world.auth), world.called)
        assert shown_secrets(world, output) == []


def test_the_reprs_of_all_that_holds_a_secret_have_none() -> None:
    key = SigningKey.generate()
    secret = key.private_jwk()["d"]
    held = [
        key,
        OAuth(client_id="a", client_secret=MACHINE_SECRET),
        ClientCredentials("a", MACHINE_SECRET),
        DPoP(ClientCredentials("a", MACHINE_SECRET), key),
        MemoryTokenStore(),
    ]
    text = " ".join(f"{one!r} {one}" for one in held)
    assert secret not in text
    assert MACHINE_SECRET not in text
