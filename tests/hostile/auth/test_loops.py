"""Servers that never have enough: logins, scopes, refreshes and requests have an end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from mcp_gen.auth import ClientCredentials, DPoP, FileTokenStore
from mcp_gen.auth.flows.discovery import MAX_SERVERS
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import HONEST, URL, World, json_answer, opened_world

MOST_LOGINS = 3
"""Default of `max_authorizations`."""


def always(line: str) -> Iterator[str]:
    while True:
        yield line


def ever_more() -> Iterator[str]:
    return (f'Bearer error="insufficient_scope", scope="s{number}"' for number in count())


UNAUTHORIZED = 'Bearer error="invalid_token"'
FORBIDDEN = 'Bearer error="insufficient_scope", scope="more"'


class Refusing:
    """Refuses the first requests with a token, each with the next challenge."""

    def __init__(self, world: World, status: int, challenges: Iterator[str], times: int) -> None:
        self.left = times
        self._world = world
        self._status = status
        self._challenges = challenges
        world.net.serve(URL, self)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        names = [name for name, _ in scope["headers"]]
        if b"authorization" not in names or self.left == 0:
            await self._world.app(scope, receive, send)
            return
        self.left -= 1
        lines = [
            (b"www-authenticate", next(self._challenges).encode()),
            (b"dpop-nonce", b"n%d" % self.left),
        ]
        await send({"type": "http.response.start", "status": self._status, "headers": lines})
        await send({"type": "http.response.body", "body": b""})


FOREVER = -1


@attacks(
    "a server that refuses every token",
    Attack("401 forever", (401, UNAUTHORIZED), None, "AuthError: the server refuses a token"),
    Attack("403 forever", (403, FORBIDDEN), None, "AuthError: "),
    Attack("403 with ever more scopes", (403, None), None, "refused 3 tokens in a row"),
    Attack("401 with ever more scopes", (401, None), None, "refused 3 tokens in a row"),
    Attack("401 without a challenge", (401, ""), None, "AuthError: the server refuses a token"),
)
async def test_a_user_is_not_sent_to_log_in_forever(
    case: Case[tuple[int, str | None] | None],
) -> None:
    async with opened_world() as world:
        if case.given is not None:
            status, line = case.given
            lines = ever_more() if line is None else always(line)
            Refusing(world, status, lines, FOREVER)
        case.judge(await world.call(), world.called)
        assert 1 <= len(world.redeemed()) <= MOST_LOGINS
        # A registration may be too narrow for new scopes: then there is another one, and no more.
        assert len(world.shown) < 2 * MOST_LOGINS
        assert len(world.net.log) < 40


@attacks(
    "a server that refuses every token of a program",
    Attack("401 forever", (401, UNAUTHORIZED), None, "AuthError"),
    Attack("403 forever", (403, FORBIDDEN), None, "AuthError"),
    Attack("403 with ever more scopes", (403, None), None, "refused 3 tokens in a row"),
)
async def test_a_program_does_not_ask_for_tokens_forever(
    case: Case[tuple[int, str | None] | None],
) -> None:
    async with opened_world() as world:
        if case.given is not None:
            status, line = case.given
            Refusing(world, status, ever_more() if line is None else always(line), FOREVER)
        world.add_machine("machine", "its-secret")
        auth = ClientCredentials(
            "machine", "its-secret", issuer=HONEST, fetcher=world.fetcher(), clock=world.clock
        )
        case.judge(await world.call(auth=auth), world.called)
        assert 1 <= len(world.redeemed()) <= MOST_LOGINS
        await auth.aclose()


@attacks(
    "nonces without an end",
    Attack("of the server", ("resource", True), ("resource", False), "AuthError"),
    Attack("of the token endpoint", ("server", True), ("server", False), "AuthError"),
)
async def test_a_nonce_is_answered_a_few_times_at_most(case: Case[tuple[str, bool]]) -> None:
    where, forever = case.given
    async with opened_world() as world:
        number = count()

        def another(_: httpx2.Request) -> httpx2.Response:
            return json_answer({"error": "use_dpop_nonce"}, 400, dpop_nonce=f"n{next(number)}")

        if where == "server" and forever:
            world.net.answers[f"{HONEST}/token"] = another
        if where == "resource" and forever:
            Refusing(world, 401, always('DPoP error="use_dpop_nonce"'), FOREVER)
        auth = DPoP(world.oauth(), clock=world.clock)
        case.judge(await world.call(auth=auth), world.called)
        assert len(world.redeemed()) <= MOST_LOGINS
        assert len(world.sent(URL, "/mcp")) <= 10
        await auth.aclose()


@attacks(
    "tokens that end at once",
    Attack("0 seconds", {"expires_in": 0}, {"expires_in": 60}, "401"),
    Attack("less than nothing", {"expires_in": -60}, {"expires_in": 60}, "401"),
)
async def test_a_token_that_has_ended_is_not_asked_for_again_and_again(
    case: Case[Mapping[str, Any]],
) -> None:
    async with opened_world() as world:
        world.server.changes["token"] = case.given
        case.judge(await world.call(), world.called)
        assert len(world.shown) == 1


@attacks(
    "a challenge with very many scopes",
    Attack("in one line", 20_000, 20, "AuthError|HttpError"),
)
async def test_a_challenge_has_a_bounded_number_of_scopes(case: Case[int]) -> None:
    async with opened_world() as world:
        names = " ".join(f"s{number}" for number in range(case.given))
        Refusing(world, 403, always(f'Bearer error="insufficient_scope", scope="{names}"'), 1)
        case.judge(await world.call(), world.called)
        assert all(len(one.url) < 4_000 for one in world.visits())


@attacks(
    "many authorization servers",
    Attack("none of which is one", 1000, 1, "AuthError|TransportError"),
)
async def test_a_list_of_authorization_servers_is_not_tried_to_its_end(case: Case[int]) -> None:
    async with opened_world() as world:
        dead = [f"https://dead-{number}.example" for number in range(case.given)]
        world.resource_metadata({"resource": URL, "authorization_servers": [*dead, HONEST]})
        case.judge(await world.call(), world.called)
        tried = {one.host for one in world.net.log if one.host.startswith("dead-")}
        assert len(tried) <= MAX_SERVERS


ONE = "one refresh"


def refreshes(world: World, before: int) -> list[str]:
    """Return the refresh tokens that were sent since then; nothing else may have been sent."""
    sent = [one.form for one in world.redeemed()[before:]]
    assert {form["grant_type"] for form in sent} == {"refresh_token"}
    return [form["refresh_token"] for form in sent]


@attacks(
    "a storm of calls whose token has ended",
    Attack("100 at once", 1, 2, ONE),
)
async def test_calls_at_the_same_time_refresh_once(case: Case[int]) -> None:
    """Of the twin the second 100 come when the new token has ended as well."""
    async with opened_world(access_token_lifetime_s=60) as world:
        assert await world.call() == PASSED
        before = len(world.redeemed())
        for _ in range(case.given):
            world.clock.now += 100
            assert await world.call(times=100) == PASSED
        sent = refreshes(world, before)
        assert len(set(sent)) == len(sent)
        case.judge(ONE if len(sent) == 1 else PASSED, sent[1:])


@attacks(
    "a storm of calls whose token is revoked",
    Attack("100 at once", 1, 2, ONE),
)
async def test_calls_that_are_refused_at_the_same_time_refresh_once(case: Case[int]) -> None:
    """Of the twin the new token is revoked as well, when it has proved good."""
    async with opened_world(access_token_format="opaque") as world:
        world.introspect(cache_s=0)
        assert await world.call() == PASSED
        before = len(world.redeemed())
        for _ in range(case.given):
            world.clock.now += 40
            world.server.tokens.revoke(str((await world.stored()).access_token))
            assert await world.call(times=100) == PASSED
        sent = refreshes(world, before)
        assert len(set(sent)) == len(sent)
        case.judge(ONE if len(sent) == 1 else PASSED, sent[1:])


@attacks(
    "a rotated refresh token",
    Attack("in two programs that share a file", "tokens.json", "copy.json", ONE),
)
async def test_programs_that_share_a_file_use_a_refresh_token_once(
    case: Case[str], tmp_path: Path
) -> None:
    """Copies of the token, one for each twin: the authorization server sees it twice."""
    async with opened_world(access_token_lifetime_s=60) as world:
        path = tmp_path / "tokens.json"
        first = world.oauth(store=FileTokenStore(path))
        assert await world.call(auth=first) == PASSED
        (tmp_path / "copy.json").write_bytes(path.read_bytes())
        (tmp_path / "copy.json").chmod(0o600)
        second = world.oauth(store=FileTokenStore(tmp_path / case.given))
        world.clock.now += 100
        before = len(world.redeemed())
        outcomes = await asyncio.gather(world.call(auth=first), world.call(auth=second))
        assert list(outcomes) == [PASSED, PASSED]
        sent = [one.form.get("refresh_token") for one in world.redeemed()[before:]]
        again = [one for one in sent[1:] if one == sent[0]]
        case.judge(PASSED if again else ONE, again)
        assert len(world.shown) == (1 if case.is_hostile else 2)
        await first.aclose()
        await second.aclose()
