"""The store in memory: atomic, bounded, and forgetful in time."""

from __future__ import annotations

from mcp_gen.auth import MemoryProxyStore
from tests.auth.proxy.people import Clock


async def test_a_value_is_swapped_by_one_who_knows_the_old_one() -> None:
    store = MemoryProxyStore()
    await store.add("grant", "key", b"old", 1e12)
    assert not await store.swap("grant", "key", b"other", b"new", 1e12)
    assert await store.swap("grant", "key", b"old", b"new", 1e12)
    assert not await store.swap("grant", "key", b"old", b"newest", 1e12)
    assert await store.get("grant", "key") == b"new"
    assert not await store.swap("grant", "absent", b"old", b"new", 1e12)


async def test_a_value_is_taken_once() -> None:
    store = MemoryProxyStore()
    await store.add("login", "key", b"value", 1e12)
    assert await store.take("grant", "key") is None
    assert await store.take("login", "key") == b"value"
    assert await store.take("login", "key") is None


async def test_an_entry_is_forgotten_at_its_time() -> None:
    clock = Clock()
    store = MemoryProxyStore(clock=clock)
    await store.add("login", "key", b"value", clock.now + 10)
    clock.now += 9
    assert await store.get("login", "key") == b"value"
    clock.now += 1
    assert await store.take("login", "key") is None


async def test_what_has_ended_makes_room_before_what_has_not() -> None:
    clock = Clock()
    store = MemoryProxyStore(max_grants=2, clock=clock)
    await store.add("grant", "lasting", b"1", clock.now + 100)
    await store.add("grant", "short", b"2", clock.now + 1)
    clock.now += 1
    await store.add("grant", "new", b"3", clock.now + 100)
    assert await store.get("grant", "lasting") == b"1"
    await store.add("grant", "newest", b"4", clock.now + 100)
    assert await store.get("grant", "lasting") is None
