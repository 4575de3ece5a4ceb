"""Codes and redirects: replayed, forged, stolen, and sent to the wrong place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import HONEST, REDIRECT, World, opened_world


@attacks(
    "state of the redirect",
    Attack("missing", {"state": None}, {}, "its `state` is another"),
    Attack("empty", {"state": ""}, {}, "its `state` is another"),
    Attack("made up", {"state": "made-up"}, {}, "its `state` is another"),
    Attack("not ASCII", {"state": "é"}, {}, "its `state` is another"),
)
async def test_a_code_with_another_state_is_not_redeemed(
    case: Case[Mapping[str, str | None]],
) -> None:
    async with opened_world() as world:
        world.redirected = lambda params: {**params, **case.given}
        case.judge(await world.call(), world.redeemed())


def first_redirect(world: World) -> dict[str, str]:
    return world.redirects[0]


def newest_redirect(world: World) -> dict[str, str]:
    return world.redirects[-1]


@attacks(
    "a redirect of an earlier login",
    Attack("whole", first_redirect, newest_redirect, "its `state` is another"),
    Attack(
        "its code, with the new state",
        lambda world: {**newest_redirect(world), "code": first_redirect(world)["code"]},
        newest_redirect,
        "invalid_grant",
    ),
    Attack(
        "its state, with the new code",
        lambda world: {**newest_redirect(world), "state": first_redirect(world)["state"]},
        newest_redirect,
        "its `state` is another",
    ),
)
async def test_a_redirect_that_is_replayed_gives_no_token(
    case: Case[Callable[[World], dict[str, str]]],
) -> None:
    async with opened_world() as world:
        assert await world.call() == PASSED
        await world.auth.aclose()
        del world.called[:]
        world.redirected = lambda _: case.given(world)
        # Another user of the same machine.
        other = world.oauth(account="other")
        case.judge(await world.call(auth=other), world.called)
        await other.aclose()


@attacks(
    "place of the redirect",
    Attack("another host", "https://evil.example/callback", REDIRECT, "begins with the redirect"),
    Attack("another port", REDIRECT.replace("4711", "4712"), REDIRECT, "begins with the redirect"),
    Attack("another path", f"{REDIRECT}/more", REDIRECT, "begins with the redirect"),
    Attack("the same place over https", REDIRECT.replace("http", "https"), REDIRECT, "begins with"),
    Attack("a host that begins alike", f"{REDIRECT}.evil.example", REDIRECT, "begins with"),
)
async def test_a_response_that_came_elsewhere_is_not_redeemed(case: Case[str]) -> None:
    async with opened_world() as world:

        async def user(request: Any) -> str:
            return case.given + "?" + (await world.user(request)).partition("?")[2]

        auth = world.oauth(on_authorize=user)
        case.judge(await world.call(auth=auth), world.redeemed())
        await auth.aclose()


@attacks(
    "parameters of the redirect",
    Attack("a second code", "&code=evil", "", "a parameter twice"),
    Attack("a second state", "&state=evil", "", "a parameter twice"),
    Attack("a second issuer", "&iss=https://evil.example", "", "a parameter twice"),
    Attack("very many", "&a=b" * 100, "&a=b", "at most 50 parameters"),
    Attack("very long", "&a=" + "b" * 100_000, "&a=b", "begins with the redirect"),
    Attack("an error beside the code", "&error=access_denied", "", "access_denied"),
)
async def test_a_response_with_contradictions_is_not_redeemed(case: Case[str]) -> None:
    async with opened_world() as world:

        async def user(request: Any) -> str:
            return await world.user(request) + case.given

        auth = world.oauth(on_authorize=user)
        case.judge(await world.call(auth=auth), world.redeemed())
        await auth.aclose()


@attacks(
    "a code that was intercepted",
    Attack("without the verifier", {"code_verifier": None}, {}, "invalid_grant"),
    Attack("with a verifier of the thief", {"code_verifier": "t" * 43}, {}, "invalid_grant"),
    Attack("with its challenge as verifier", {"code_verifier": "challenge"}, {}, "invalid_grant"),
    Attack("for another resource", {"resource": "https://evil.example"}, {}, "invalid_target"),
    Attack("by another client", {"client_id": "app"}, {}, "invalid_grant"),
    Attack("with another redirect URI", {"redirect_uri": f"{REDIRECT}2"}, {}, "invalid_grant"),
)
async def test_an_intercepted_code_is_of_no_use_to_another(
    case: Case[Mapping[str, str | None]],
) -> None:
    async with opened_world() as world:
        # The request of the client does not arrive.
        world.answer(f"{HONEST}/token", {}, 503)
        await world.call()
        del world.net.answers[f"{HONEST}/token"]
        form: dict[str, str | None] = {**world.redeemed()[0].form, **case.given}
        if form["code_verifier"] == "challenge":
            form["code_verifier"] = world.visits()[0].query["code_challenge"]
        sent = {name: value for name, value in form.items() if value is not None}
        told = (await world.http.post(f"{HONEST}/token", data=sent)).json()
        case.judge(told.get("error", PASSED), [one for one in told if one == "access_token"])


@attacks(
    "the same code a second time",
    Attack("after it was redeemed", True, False, "401"),
)
async def test_a_code_that_is_used_twice_ends_what_it_gave(case: Case[bool]) -> None:
    """The authorization server revokes; the resource server that introspects sees it."""
    async with opened_world(access_token_format="opaque") as world:
        world.introspect(cache_s=0)
        assert await world.call() == PASSED
        del world.called[:]
        if case.given:
            form = world.redeemed()[-1].form
            again = await world.http.post(f"{HONEST}/token", data=form)
            assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
        token = str((await world.stored()).access_token)
        case.judge(await world.post(token), world.called)
