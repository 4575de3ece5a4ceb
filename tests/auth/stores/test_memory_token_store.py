"""The token store in memory, and what stored credentials show of themselves."""

from __future__ import annotations

import asyncio

import msgspec

from mcp_gen.auth.stores.token_store import MemoryTokenStore, StoredCredentials

KEY = "https://api.example/mcp"


def credentials(**changes: object) -> StoredCredentials:
    base = StoredCredentials(
        issuer="https://as.example",
        client_id="client",
        client_secret="the-secret",
        access_token="the-access-token",
        refresh_token="the-refresh-token",
        key="the-key",
    )
    return msgspec.structs.replace(base, **changes)


async def test_what_was_saved_is_loaded_and_what_was_deleted_is_not() -> None:
    store = MemoryTokenStore()
    await store.save(KEY, credentials())
    loaded = await store.load(KEY)
    await store.delete(KEY)
    assert (loaded, await store.load(KEY)) == (credentials(), None)


async def test_deleting_what_is_not_there_has_no_effect() -> None:
    await MemoryTokenStore().delete(KEY)


async def test_one_lock_of_a_key_is_held_at_a_time() -> None:
    store, held, most = MemoryTokenStore(), 0, 0

    async def hold() -> None:
        nonlocal held, most
        async with store.lock(KEY):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(hold() for _ in range(5)))
    assert most == 1


async def test_locks_of_two_keys_are_held_at_once() -> None:
    store = MemoryTokenStore()
    async with asyncio.timeout(5), store.lock(KEY), store.lock("https://other.example"):
        pass


async def test_a_lock_is_free_after_one_who_waited_for_it_was_cancelled() -> None:
    store = MemoryTokenStore()

    async def hold() -> None:
        async with store.lock(KEY):
            pass

    async with store.lock(KEY):
        waiting = asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), store.lock(KEY):
        pass


def test_one_store_serves_several_event_loops_in_turn() -> None:
    store = MemoryTokenStore()

    async def contend() -> None:
        async def hold() -> None:
            async with store.lock(KEY):
                await asyncio.sleep(0)

        await asyncio.gather(hold(), hold())

    asyncio.run(contend())
    asyncio.run(contend())


def test_the_repr_of_credentials_has_no_secret() -> None:
    shown = f"{credentials()!r} {credentials()}"
    assert [word for word in ("the-secret", "-token", "the-key") if word in shown] == []


def test_credentials_survive_json() -> None:
    text = msgspec.json.encode(credentials(scopes=["a", "b"], expires_at=12.5))
    decoded = msgspec.json.decode(text, type=StoredCredentials)
    assert decoded == credentials(scopes=["a", "b"], expires_at=12.5)
