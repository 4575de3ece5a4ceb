"""Test suite of session stores of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.stores.sessions import SharedSessionStore, StoredSession

from .running import ODD_NAMES, RACERS, in_loop

__all__ = ["SessionStoreSuite"]

NOW = 1_800_000_000.0


class SessionStoreSuite:
    """Tests of `SharedSessionStore`. A subclass whose name begins with `Test` opens the stores."""

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[SharedSessionStore]]:
        """Open stores that share their data, which is empty at first.

        Args:
            count: Number of stores, as many as there would be nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_a_session_is_found_at_any_node_as_it_is(self) -> None:
        whole = _session(
            "s",
            principal="ada",
            key_thumbprint="print",
            ready=True,
            log_level="info",
            subscribed=("file:///ä", "b"),
            state={"a": Raw(b'{"b": [1, []]}'), "": Raw(b"null")},
        )
        async with self.open_stores(2) as (here, there):
            assert await _created(here, whole)
            assert await there.load("s") == whole

    @in_loop
    async def test_an_unknown_session_is_none(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _created(store, _session("a"))
            for id in ODD_NAMES[1:]:
                assert await store.load(id) is None

    @in_loop
    async def test_a_session_that_is_saved_is_found(self) -> None:
        async with self.open_stores(2) as (here, there):
            await here.save(_session("s", log_level="info", subscribed=("a",)))
            await there.save(_session("s", ready=True, moves=3))
            assert await here.load("s") == _session("s", ready=True, moves=3)

    @in_loop
    async def test_a_session_that_is_forgotten_is_gone(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _created(here, _session("s"))
            await there.forget("s")
            assert await here.load("s") is None
            assert await here.update("s", {"ready": True}, 0) is None
            assert await here.enter("s", "node") is None
            assert await here.count() == 0

    @in_loop
    async def test_ids_are_kept_apart(self) -> None:
        async with self.open_stores(1) as (store,):
            for number, id in enumerate(ODD_NAMES):
                assert await _created(store, _session(id, log_level=str(number)))
            for number, id in enumerate(ODD_NAMES):
                assert await store.load(id) == _session(id, log_level=str(number))

    @in_loop
    async def test_a_session_is_created_once(self) -> None:
        async with self.open_stores(2) as stores:
            created = [
                _created(stores[number % 2], _session("s", log_level=str(number)))
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*created)
            assert sum(results) == 1
            assert await stores[0].load("s") == _session("s", log_level=str(results.index(True)))
            assert await stores[1].count() == 1

    @in_loop
    async def test_there_are_no_more_sessions_than_allowed_over_all_nodes(self) -> None:
        async with self.open_stores(2) as stores:
            created = [
                _created(stores[number % 2], _session(f"s{number}"), limit=5)
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*created)
            assert sum(results) == 5
            assert [await store.count() for store in stores] == [5, 5]
            for number, was_created in enumerate(results):
                assert (await stores[0].load(f"s{number}") is not None) == was_created

    @in_loop
    async def test_a_session_that_has_ended_makes_room(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _created(here, _session("a"), limit=1)
            assert not await _created(there, _session("b"), limit=1)
            await there.forget("a")
            assert await _created(here, _session("b"), limit=1)

    @in_loop
    async def test_a_change_replaces_the_fields_that_it_names(self) -> None:
        changes: dict[str, Any] = {
            "ready": True,
            "subscribed": ("a", "b"),
            "state": {"k": Raw(b"1")},
        }
        async with self.open_stores(2) as (here, there):
            assert await _created(here, _session("s", log_level="info"))
            assert await there.update("s", changes, 0) == 1
            expected = replace(_session("s", log_level="info", changes=1), **changes)
            assert await here.load("s") == expected
            assert await here.update("s", {"log_level": None, "subscribed": ()}, 1) == 2
            expected = replace(expected, log_level=None, subscribed=(), changes=2)
            assert await there.load("s") == expected

    @in_loop
    async def test_a_change_of_what_has_changed_is_refused(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _created(here, _session("s"))
            assert await here.update("s", {"log_level": "info"}, 0) == 1
            assert await there.update("s", {"log_level": "debug"}, 0) is None
            assert await there.update("s", {"log_level": "debug"}, 2) is None
            assert await there.load("s") == _session("s", log_level="info", changes=1)

    @in_loop
    async def test_of_many_changes_at_once_one_counts(self) -> None:
        async with self.open_stores(2) as stores:
            assert await _created(stores[0], _session("s"))
            changes = [
                stores[number % 2].update("s", {"log_level": str(number)}, 0)
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*changes)
            assert sorted(results, key=str) == [1, *[None] * (RACERS - 1)]
            level = str(results.index(1))
            assert await stores[0].load("s") == _session("s", log_level=level, changes=1)

    @in_loop
    async def test_no_change_is_lost_if_each_is_tried_until_it_counts(self) -> None:
        async with self.open_stores(2) as stores:
            assert await _created(stores[0], _session("s"))

            async def add(store: SharedSessionStore, name: str) -> None:
                while True:
                    session = await store.load("s")
                    assert session is not None
                    names = (*session.subscribed, name)
                    if await store.update("s", {"subscribed": names}, session.changes):
                        return
                    await asyncio.sleep(0)

            await asyncio.gather(
                *(add(stores[number % 2], str(number)) for number in range(RACERS))
            )
            found = await stores[0].load("s")
            assert found is not None
            assert sorted(found.subscribed, key=int) == [str(number) for number in range(RACERS)]
            assert found.changes == RACERS

    @in_loop
    async def test_a_touch_tells_which_sessions_are_gone(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await _created(here, _session("a"))
            assert await _created(here, _session("b"))
            await here.forget("b")
            assert await there.touch({}) == []
            found = await there.touch({"a": NOW, "b": NOW, "a}b": NOW})
            assert sorted(found) == ["a}b", "b"]

    @in_loop
    async def test_sessions_that_were_not_heard_of_are_expired(self) -> None:
        async with self.open_stores(2) as (here, there):
            for id in ("a", "b", "c"):
                assert await _created(here, _session(id))
            assert await here.touch({"a": NOW + 10.5, "b": NOW + 20}) == []
            # A time before the stored one.
            assert await there.touch({"b": NOW + 1}) == []
            assert await there.expired(NOW) == []
            assert list(await there.expired(NOW + 10.5)) == ["c"]
            assert list(await there.expired(NOW + 11)) == ["a"]
            assert await here.count() == 1

    @in_loop
    async def test_an_expired_session_is_given_to_one_node(self) -> None:
        async with self.open_stores(2) as stores:
            ids = [f"s{number}" for number in range(RACERS)]
            for id in ids:
                assert await _created(stores[0], _session(id))
            claims = [stores[number % 2].expired(NOW + 1) for number in range(RACERS)]
            found = [id for claimed in await asyncio.gather(*claims) for id in claimed]
            assert sorted(found) == sorted(ids)
            assert await stores[1].touch({ids[0]: NOW + 2}) == [ids[0]]

    @in_loop
    async def test_the_sessions_not_heard_of_for_longest_expire_first(self) -> None:
        async with self.open_stores(2) as (here, there):
            for id in ("a", "b", "c", "d"):
                assert await _created(here, _session(id))
            assert await here.touch({"a": NOW + 3, "b": NOW + 1, "c": NOW + 2, "d": NOW + 9}) == []
            found = [await there.expired(NOW + 5, most=most) for most in (1, 2, 2)]
            assert [list(ids) for ids in found] == [["b"], ["c", "a"], []]

    @in_loop
    async def test_every_move_has_a_number_of_its_own(self) -> None:
        async with self.open_stores(2) as stores:
            assert await _created(stores[0], _session("s"))
            assert await _created(stores[0], _session("other"))
            entered = [
                stores[number % 2].enter("s", f"node {number % 3}") for number in range(RACERS)
            ]
            moves = await asyncio.gather(*entered)
            assert sorted(move or 0 for move in moves) == list(range(1, RACERS + 1))
            for number, move in enumerate(moves):
                assert await stores[0].node_of("s", move or 0) == f"node {number % 3}"
            assert await stores[0].enter("other", "node") == 1

    @in_loop
    async def test_a_move_is_no_change_of_the_session(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _created(store, _session("s"))
            assert await store.enter("s", "node") == 1
            assert await store.load("s") == _session("s", moves=1)
            assert await store.update("s", {"ready": True}, 0) == 1

    @in_loop
    async def test_a_number_that_nobody_has_names_no_node(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _created(store, _session("s"))
            assert await store.enter("s", "node") == 1
            for move in (-1, 0, 2, 2**40):
                assert await store.node_of("s", move) is None
            assert await store.node_of("other", 1) is None

    @in_loop
    async def test_the_nodes_of_moves_long_past_are_forgotten(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await _created(store, _session("s"))
            for number in range(1, 301):
                assert await store.enter("s", f"node {number}") == number
            assert await store.node_of("s", 1) is None
            assert await store.node_of("s", 200) == "node 200"


def _session(id: str, **fields: Any) -> StoredSession:
    given: dict[str, Any] = {
        "client": Raw(b'{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}'),
        "revision": "a revision",
        "began_at": NOW,
    }
    return StoredSession(id=id, **{**given, **fields})


async def _created(store: SharedSessionStore, session: StoredSession, limit: int = 1000) -> bool:
    return await store.create(session, limit=limit, keep_s=1800.0)
