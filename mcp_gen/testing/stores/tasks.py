"""Test suite of task stores of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.stores.tasks import SharedTaskStore, StoredTask

from .running import ODD_NAMES, RACERS, in_loop

__all__ = ["TaskStoreSuite"]

NOW = 1_800_000_000.0


class TaskStoreSuite:
    """Tests of `SharedTaskStore`. A subclass whose name begins with `Test` opens the stores."""

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[SharedTaskStore]]:
        """Open stores that share their data, which is empty at first.

        Args:
            count: Number of stores, as many as there would be nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_a_task_is_found_at_any_node_as_it_is(self) -> None:
        whole = _task(
            "t",
            message="ä",
            questions={"q": Raw(b'{"a": [1, []]}')},
            principal="ada",
            session="s",
            scopes=("a", "b"),
            node="node",
            tool="sum",
            arguments=Raw(b'{"a": {}}'),
            retry=True,
        )
        async with self.open_stores(2) as (here, there):
            assert await here.add(whole, NOW)
            assert await there.load("t") == whole
            done = replace(whole, status="completed", result=Raw(b'{"b":[]}'), is_error=True)
            assert await there.save(done)
            assert await here.load("t") == done
            assert await here.add(_task("u"), NOW)
            failed = _task("u", status="failed", error=Raw(b'{"code":1,"message":"a"}'))
            assert await there.save(failed)
            assert await here.load("u") == failed

    @in_loop
    async def test_an_unknown_task_is_none(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await store.add(_task("a"), NOW)
            for id in ODD_NAMES[1:]:
                assert await store.load(id) is None
                assert not await store.save(_task(id))
                assert not await store.claim(id, "w", 5.0, NOW)

    @in_loop
    async def test_ids_are_kept_apart(self) -> None:
        async with self.open_stores(1) as (store,):
            for number, id in enumerate(ODD_NAMES):
                task = _task(id, principal="ada", message=str(number))
                assert await store.add(task, NOW)
            for number, id in enumerate(ODD_NAMES):
                assert await store.load(id) == _task(id, principal="ada", message=str(number))
            found = await store.page("ada", None, None, len(ODD_NAMES))
            assert sorted(task.id for task in found) == sorted(ODD_NAMES)

    @in_loop
    async def test_a_task_that_never_expires_is_stored(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await store.add(_task("t", expires_at=None), NOW)
            assert await store.load("t") == _task("t", expires_at=None)

    @in_loop
    async def test_a_task_that_is_forgotten_is_gone(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t", principal="ada"), NOW)
            await there.forget("t")
            await there.forget("t")
            assert await here.load("t") is None
            assert await here.page("ada", None, None, 10) == []

    @in_loop
    async def test_a_final_task_does_not_change(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t"), NOW)
            assert await here.save(_task("t", status="cancelled"))
            assert not await there.save(_task("t", status="completed"))
            assert not await there.claim("t", "w", 5.0, NOW)
            assert await there.load("t") == _task("t", status="cancelled")

    @in_loop
    async def test_of_many_ends_one_counts(self) -> None:
        async with self.open_stores(2) as stores:
            assert await stores[0].add(_task("t"), NOW)
            ends = [
                stores[number % 2].save(_task("t", status="completed", message=str(number)))
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*ends)
            assert sum(results) == 1
            found = await stores[1].load("t")
            assert found == _task("t", status="completed", message=str(results.index(True)))

    # --- pages ---

    @in_loop
    async def test_pages_have_the_tasks_of_their_owner_in_order(self) -> None:
        async with self.open_stores(2) as (here, there):
            for number in (3, 1, 2, 0):
                created = NOW + number // 2
                assert await here.add(_task(f"t{number}", principal="ada", created_at=created), NOW)
            assert await here.add(_task("bob's", principal="bob"), NOW)
            assert await here.add(_task("nobody's", session="ada"), NOW)
            first = await there.page("ada", None, None, 3)
            assert [task.id for task in first] == ["t0", "t1", "t2"]
            behind = (first[-1].created_at, first[-1].id)
            rest = await there.page("ada", None, behind, 3)
            assert [task.id for task in rest] == ["t3"]

    @in_loop
    async def test_pages_of_a_session_have_the_tasks_without_a_principal(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await store.add(_task("a", session="s"), NOW)
            assert await store.add(_task("b", session="s", principal="ada"), NOW)
            assert await store.add(_task("c"), NOW)
            assert [task.id for task in await store.page(None, "s", None, 9)] == ["a"]
            assert await store.page(None, None, None, 9) == []

    @in_loop
    async def test_a_page_shows_tasks_as_they_are_now(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t", principal="ada"), NOW)
            assert await here.claim("t", "w", 5.0, NOW)
            done = _task("t", principal="ada", status="completed", attempt=1)
            assert await here.save(done)
            expected = [replace(done, node="w", claimed_until=NOW + 5)]
            assert list(await there.page("ada", None, None, 9)) == expected

    # --- workers ---

    @in_loop
    async def test_one_of_many_workers_claims_a_task(self) -> None:
        async with self.open_stores(2) as stores:
            assert await stores[0].add(_task("t", tool="sum"), NOW)
            claims = [
                stores[number % 2].claim("t", f"w{number}", 5.0, NOW) for number in range(RACERS)
            ]
            results = await asyncio.gather(*claims)
            assert sum(results) == 1
            winner = f"w{results.index(True)}"
            expected = _task("t", tool="sum", node=winner, attempt=1, claimed_until=NOW + 5)
            assert await stores[1].load("t") == expected

    @in_loop
    async def test_a_lapsed_claim_is_taken_again_only_if_the_task_may_run_again(self) -> None:
        async with self.open_stores(2) as (here, there):
            for id, retry in (("once", False), ("again", True)):
                assert await here.add(_task(id, retry=retry), NOW)
                assert await here.claim(id, "a", 5.0, NOW)
                assert not await there.claim(id, "b", 5.0, NOW + 4.9)
                assert await there.claim(id, "b", 5.0, NOW + 5.1) == retry
            found = await here.load("again")
            assert found is not None
            assert (found.node, found.attempt, found.claimed_until) == ("b", 2, NOW + 10.1)

    @in_loop
    async def test_of_many_workers_one_takes_a_lapsed_claim(self) -> None:
        async with self.open_stores(2) as stores:
            assert await stores[0].add(_task("t", retry=True), NOW)
            assert await stores[0].claim("t", "lost", 5.0, NOW)
            claims = [
                stores[number % 2].claim("t", f"w{number}", 5.0, NOW + 6)
                for number in range(RACERS)
            ]
            assert sum(await asyncio.gather(*claims)) == 1

    @in_loop
    async def test_a_claim_is_renewed_by_its_worker(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t", retry=True), NOW)
            assert not await here.renew("t", "a", 5.0, NOW)
            assert await here.claim("t", "a", 5.0, NOW)
            assert await here.renew("t", "a", 5.0, NOW + 4)
            assert not await there.renew("t", "b", 5.0, NOW + 4)
            assert not await there.claim("t", "b", 5.0, NOW + 8)
            assert await there.claim("t", "b", 5.0, NOW + 10)
            assert not await here.renew("t", "a", 5.0, NOW + 10)

    @in_loop
    async def test_a_claim_that_is_given_back_can_be_taken_at_once(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t"), NOW)
            assert await here.claim("t", "a", 5.0, NOW)
            assert not await there.release("t", "b")
            assert await here.release("t", "a")
            assert not await here.release("t", "a")
            assert not await here.renew("t", "a", 5.0, NOW)
            assert await there.claim("t", "b", 5.0, NOW)

    @in_loop
    async def test_a_worker_that_has_lost_its_task_cannot_end_it(self) -> None:
        async with self.open_stores(2) as (slow, other):
            assert await slow.add(_task("t", retry=True), NOW)
            assert await slow.claim("t", "slow", 5.0, NOW)
            mine = await slow.load("t")
            assert await other.claim("t", "other", 5.0, NOW + 6)
            yours = await other.load("t")
            assert mine is not None
            assert yours is not None
            assert not await slow.save(replace(mine, status="completed", message="slow"))
            assert await other.save(replace(yours, status="completed", message="other"))
            found = await slow.load("t")
            assert found is not None
            assert found.message == "other"

    @in_loop
    async def test_a_change_of_a_task_does_not_change_its_claim(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await here.add(_task("t"), NOW)
            assert await here.claim("t", "a", 5.0, NOW)
            before = await here.load("t")
            assert before is not None
            assert await here.renew("t", "a", 5.0, NOW + 4)
            stale = replace(before, message="still", claimed_until=NOW, node="somebody")
            assert await there.save(stale)
            expected = replace(before, message="still", claimed_until=NOW + 9)
            assert await there.load("t") == expected


def _task(id: str, **fields: Any) -> StoredTask:
    given: dict[str, Any] = {
        "created_at": NOW,
        "updated_at": NOW,
        "expires_at": NOW + 60,
        "revision": "a revision",
    }
    return StoredTask(id=id, **{**given, **fields})
