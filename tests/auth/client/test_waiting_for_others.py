"""Credentials that somebody else has in use, such as a process whose user has left the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen.auth.client import authorizer, credentials_lock, oauth
from mcp_gen.auth.stores.token_store import MemoryTokenStore
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import URL, World

HELD = f"another login or renewal holds the credentials for {URL} for more than 0.02 s"


class WatchedStore(MemoryTokenStore):
    """A store that says when its lock is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None]:
        self.asked.set()
        async with super().lock(key):
            yield


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nobody longer than a moment."""
    monkeypatch.setattr(oauth, "LOCK_TIMEOUT_S", 0.01)
    monkeypatch.setattr(authorizer, "EARLY_LOCK_TIMEOUT_S", 0.02)


async def test_a_login_waits_for_another_no_longer_than_its_user_may_take() -> None:
    world, store = World(), MemoryTokenStore()
    auth = world.oauth(store=store, login_timeout_s=0.01)
    async with asyncio.timeout(10), store.lock(URL):
        with pytest.raises(AuthError, match=HELD):
            await world.call(auth)
    # Afterwards it is as if nothing had been.
    assert await world.call(auth) == 200
    assert len(world.shown) == 1


async def test_a_logout_waits_for_a_login_no_longer_than_its_user_may_take() -> None:
    world, store = World(), MemoryTokenStore()
    auth = world.oauth(store=store, login_timeout_s=0.01)
    await world.call(auth)
    async with asyncio.timeout(10), store.lock(URL):
        with pytest.raises(AuthError, match=HELD):
            await auth.logout()
    assert await auth.status() is not None


async def test_that_it_waits_for_another_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials_lock, "NOTICE_S", 0.0)
    world, store = World(), MemoryTokenStore()
    auth = world.oauth(store=store, login_timeout_s=0.01)
    async with asyncio.timeout(10), store.lock(URL):
        with pytest.raises(AuthError):
            await auth.login(URL)
    told = [one.getMessage() for one in caplog.records]
    assert told == [
        f"the credentials for {URL} are held by another login or renewal, in this process or in "
        "one that shares the token store; waiting for it, 0.02 s at most"
    ]


async def test_a_lock_that_is_free_is_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    await world.call(world.oauth())
    assert caplog.records == []


async def test_closing_does_not_wait_for_others() -> None:
    world, store = World(), WatchedStore()
    auth = world.oauth(store=store, login_timeout_s=1e6)
    async with asyncio.timeout(10), store.lock(URL):
        store.asked.clear()
        call = asyncio.create_task(world.call(auth))
        await store.asked.wait()
        await auth.aclose()
        with pytest.raises(AuthError, match="the login was closed before it was done"):
            await call


async def test_a_valid_token_is_sent_while_another_has_its_credentials() -> None:
    world, store = World(), WatchedStore()
    auth = world.oauth(store=store, login_timeout_s=1e6)
    await world.call(auth)
    before = await auth.headers("POST", URL)
    world.now += 3600 - 20
    async with asyncio.timeout(10), store.lock(URL):
        store.asked.clear()
        waiting = asyncio.create_task(auth.headers("POST", URL))
        await store.asked.wait()
        # One request tries for a moment, and the others not at all.
        others = [await auth.headers("POST", URL) for _ in range(3)]
        assert not waiting.done()
        assert [await waiting, *others] == [before] * 4
