"""Test suite of stores of the values of `Context.once`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from mcp_gen.core.stores.once import OnceStore

from .running import ODD_NAMES, in_loop

__all__ = ["OnceStoreSuite"]


class OnceStoreSuite:
    """Tests of `OnceStore`. A subclass whose name begins with `Test` opens the stores."""

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[OnceStore]]:
        """Open stores that share their data, which is empty at first.

        Args:
            count: Number of stores, as many as there would be nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_values_are_found_by_their_name_at_any_node(self) -> None:
        values = {"a": 1, "b": ["ä", None], "": {"c": 0.5}}
        async with self.open_stores(2) as (here, there):
            name = await here.put(None, values, "ada")
            assert await there.get(name, "ada") == values

    @in_loop
    async def test_values_of_a_name_are_replaced(self) -> None:
        async with self.open_stores(2) as (here, there):
            name = await here.put(None, {"a": 1, "b": 2})
            assert await there.put(name, {"a": 3}) == name
            assert await here.get(name) == {"a": 3}

    @in_loop
    async def test_nobody_else_gets_the_values_of_a_principal(self) -> None:
        async with self.open_stores(2) as (here, there):
            name = await here.put(None, {"a": 1}, "ada")
            for other in ("bob", "", None, "ada:x"):
                assert await there.get(name, other) == {}
            assert await there.put(name, {"b": 2}, "bob") == name
            assert await here.get(name, "ada") == {"a": 1}

    @in_loop
    async def test_values_without_a_principal_are_nobodys(self) -> None:
        async with self.open_stores(1) as (store,):
            name = await store.put(None, {"a": 1})
            assert await store.get(name, "None") == {}
            assert await store.get(name, "") == {}

    @in_loop
    async def test_an_unknown_name_has_no_values(self) -> None:
        async with self.open_stores(1) as (store,):
            await store.put(None, {"a": 1})
            for name in (None, "", *ODD_NAMES):
                assert await store.get(name) == {}

    @in_loop
    async def test_new_names_differ_and_cannot_be_guessed(self) -> None:
        async with self.open_stores(2) as stores:
            names = {await stores[number % 2].put(None, {}) for number in range(20)}
            assert len(names) == 20
            assert min(map(len, names)) >= 20
