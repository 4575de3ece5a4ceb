"""Test suite of state stores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from mcp_gen.core.stores.state import StateStore

from .running import ODD_NAMES, in_loop

__all__ = ["StateStoreSuite"]

NOW = 1_800_000_000.0


class StateStoreSuite:
    """Tests of `StateStore`. A subclass whose name begins with `Test` opens the stores."""

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[StateStore]]:
        """Open stores that share their data, which is empty at first.

        Args:
            count: Number of stores, as many as there would be nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_a_value_is_found_at_any_node(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _saved(here, "k", "a", b'"\\u0000 \xc3\xa4"')
            assert await there.load("k", "a", now=NOW) == b'"\\u0000 \xc3\xa4"'
            assert await there.load("k", "b", now=NOW) is None
            assert await there.load("other", "a", now=NOW) is None

    @in_loop
    async def test_the_last_value_of_a_name_wins(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _saved(here, "k", "a", b"1")
            assert await _saved(there, "k", "a", b"22")
            assert await here.load("k", "a", now=NOW) == b"22"

    @in_loop
    async def test_all_values_of_a_key_expire_together(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _saved(store, "k", "a", b"1", expires_at=NOW + 10)
            assert await _saved(store, "k", "b", b"2", expires_at=NOW + 20)
            assert await store.load("k", "a", now=NOW + 19) == b"1"
            assert await store.load("k", "a", now=NOW + 20) is None
            assert await store.load("k", "b", now=NOW + 20) is None

    @in_loop
    async def test_what_has_expired_does_not_come_back(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _saved(store, "k", "a", b"1", expires_at=NOW + 10)
            assert await store.save(
                "k", "b", b"2", expires_at=NOW + 30, now=NOW + 20, max_bytes=100
            )
            assert await store.load("k", "a", now=NOW + 20) is None

    @in_loop
    async def test_a_key_has_no_more_bytes_than_allowed(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _saved(here, "k", "ab", b"1234", max_bytes=6)
            assert not await _saved(there, "k", "c", b"", max_bytes=6)
            assert not await _saved(there, "k", "ab", b"12345", max_bytes=6)
            assert await there.load("k", "ab", now=NOW) == b"1234"
            assert await _saved(there, "k", "ab", b"12", max_bytes=6)
            assert await _saved(there, "k", "c", b"3", max_bytes=6)

    @in_loop
    async def test_a_value_that_is_forgotten_frees_its_bytes(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _saved(here, "k", "a", b"123", max_bytes=6)
            assert await _saved(here, "k", "b", b"1", max_bytes=6)
            await there.forget("k", "a")
            await there.forget("k", "a")
            assert await here.load("k", "a", now=NOW) is None
            assert await here.load("k", "b", now=NOW) == b"1"
            assert await _saved(here, "k", "c", b"456", max_bytes=6)

    @in_loop
    async def test_a_key_that_is_forgotten_has_no_values(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _saved(here, "k", "a", b"1")
            assert await _saved(here, "other", "a", b"1")
            await there.forget("k")
            assert await here.load("k", "a", now=NOW) is None
            assert await here.load("other", "a", now=NOW) == b"1"

    @in_loop
    async def test_keys_and_names_are_kept_apart(self) -> None:
        pairs = [(key, name) for key in ODD_NAMES for name in (*ODD_NAMES, "until", "bytes")]
        async with self.open_stores(1) as (store,):
            for number, (key, name) in enumerate(pairs):
                assert await _saved(store, key, name, b"%d" % number, max_bytes=10_000)
            for number, (key, name) in enumerate(pairs):
                assert await store.load(key, name, now=NOW) == b"%d" % number


async def _saved(
    store: StateStore,
    key: str,
    name: str,
    value: bytes,
    *,
    expires_at: float = NOW + 60,
    max_bytes: int = 1000,
) -> bool:
    return await store.save(key, name, value, expires_at=expires_at, now=NOW, max_bytes=max_bytes)
