"""Refresh tokens of the example authorization server."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.auth.authorization_server.visitor import given, refusal, visiting

REFUSED = (400, "invalid_grant")


async def test_a_refresh_gives_new_tokens_of_both_kinds() -> None:
    async with visiting() as visitor:
        first = await visitor.login()
        second = given(await visitor.refresh(first["refresh_token"]))
        third = given(await visitor.refresh(second["refresh_token"]))
    texts = [
        one[kind] for one in (first, second, third) for kind in ("access_token", "refresh_token")
    ]
    assert len(set(texts)) == 6


async def test_a_refresh_token_that_is_used_twice_revokes_all_that_follow() -> None:
    async with visiting() as visitor:
        first = await visitor.login()
        second = given(await visitor.refresh(first["refresh_token"]))
        stolen = await visitor.refresh(first["refresh_token"])
        honest = await visitor.refresh(second["refresh_token"])
    assert [refusal(stolen), refusal(honest)] == [REFUSED, REFUSED]


async def test_without_rotation_a_refresh_token_stays() -> None:
    async with visiting(rotate_refresh_tokens=False) as visitor:
        token = (await visitor.login())["refresh_token"]
        found = [given(await visitor.refresh(token)) for _ in range(2)]
    assert ["refresh_token" in one for one in found] == [False, False]


async def test_a_refresh_may_narrow_the_scopes_for_one_access_token() -> None:
    async with visiting() as visitor:
        first = await visitor.login(scope="read write")
        narrow = given(await visitor.refresh(first["refresh_token"], scope="read"))
        wide = given(await visitor.refresh(narrow["refresh_token"]))
    assert (narrow["scope"], wide["scope"]) == ("read", "read write")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"scope": "files more"}, "invalid_scope"),
        ({"resource": "https://other.example/"}, "invalid_target"),
        ({"client_id": "other"}, "invalid_grant"),
    ],
)
async def test_a_refresh_asks_for_nothing_that_was_not_given(
    form: dict[str, str | None], error: str
) -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, client_id="other"))
        token = (await visitor.login())["refresh_token"]
        response = await visitor.refresh(token, **form)
    assert refusal(response) == (400, error)


@pytest.mark.parametrize(("token", "error"), [("x", "invalid_grant"), ("", "invalid_request")])
async def test_a_refresh_token_that_is_made_up_or_missing_is_refused(
    token: str, error: str
) -> None:
    async with visiting() as visitor:
        assert refusal(await visitor.refresh(token)) == (400, error)


async def test_a_refresh_token_expires() -> None:
    async with visiting(refresh_token_lifetime_s=1000) as visitor:
        token = (await visitor.login())["refresh_token"]
        visitor.clock.now += 1001
        assert refusal(await visitor.refresh(token)) == REFUSED
