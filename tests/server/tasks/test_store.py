"""Task stores: the in-memory store, and the calls that any store gets."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.stores.tasks import MemoryTaskStore, StoredTask

NOW = 1000.0


def a_task(id: str, **fields: Any) -> StoredTask:
    given = {"created_at": NOW, "updated_at": NOW, "expires_at": NOW + 60, "revision": "r"}
    return StoredTask(id=id, **{**given, **fields})


async def kept(store: MemoryTaskStore, *tasks: StoredTask) -> list[bool]:
    return [await store.add(task, NOW) for task in tasks]


def test_a_task_can_be_written_and_read() -> None:
    task = a_task("1", result=Raw(b'{"a":1.50}'), questions={"q": Raw(b"{}")}, principal="ann")
    written = msgspec.json.encode(task)
    assert msgspec.json.encode(msgspec.json.decode(written, type=StoredTask)) == written


async def test_what_is_saved_is_loaded() -> None:
    store = MemoryTaskStore()
    await kept(store, a_task("1"))
    assert await store.save(a_task("1", message="half"))
    found = await store.load("1")
    assert found is not None
    assert found.message == "half"


async def test_what_is_over_stays_as_it_is() -> None:
    store = MemoryTaskStore()
    await kept(store, a_task("1"))
    assert await store.save(a_task("1", status="cancelled"))
    assert not await store.save(a_task("1", status="completed"))
    found = await store.load("1")
    assert found is not None
    assert found.status == "cancelled"


async def test_what_is_forgotten_does_not_come_back() -> None:
    store = MemoryTaskStore()
    await kept(store, a_task("1"))
    await store.forget("1")
    assert not await store.save(a_task("1"))
    assert (await store.load("1"), len(store)) == (None, 0)


async def test_a_full_store_takes_no_more_while_all_run() -> None:
    store = MemoryTaskStore(max_tasks=2)
    assert await kept(store, a_task("1"), a_task("2"), a_task("3")) == [True, True, False]
    assert len(store) == 2


async def test_a_full_store_forgets_what_is_over_of_the_same_principal() -> None:
    store = MemoryTaskStore(max_tasks=2)
    done = a_task("1", principal="ann", status="completed")
    await kept(store, done, a_task("2", principal="ann"))
    assert await store.add(a_task("4", principal="ann"), NOW)
    assert (await store.load("1"), len(store)) == (None, 2)


async def test_who_fills_a_store_does_not_keep_others_from_having_tasks() -> None:
    store = MemoryTaskStore(max_tasks=4)
    done = [a_task(str(i), principal="ann", status="completed") for i in range(4)]
    await kept(store, *done)
    more = await kept(store, a_task("4", principal="bob"), a_task("5", principal="bob"))
    assert more == [True, True]
    assert [id for id in "012345" if id in store] == ["2", "3", "4", "5"]


async def test_a_full_store_forgets_nothing_of_who_has_no_more_than_others() -> None:
    store = MemoryTaskStore(max_tasks=2)
    done = [a_task(name, principal=name, status="completed") for name in ("ann", "bob")]
    await kept(store, *done)
    assert not await store.add(a_task("1", principal="eve"), NOW)


async def test_a_full_store_forgets_whose_time_is_over() -> None:
    store = MemoryTaskStore(max_tasks=2)
    await kept(store, a_task("1"), a_task("2"))
    assert await store.add(a_task("3", principal="bob"), NOW + 61)
    assert len(store) == 1


async def test_pages_hold_the_tasks_of_a_principal_in_order() -> None:
    store = MemoryTaskStore()
    mine = [a_task(str(n), principal="ann", created_at=NOW + n) for n in (3, 1, 2)]
    await kept(store, *mine, a_task("9", principal="bob"), a_task("8"))
    page = await store.page("ann", "s", None, 2)
    assert [task.id for task in page] == ["1", "2"]
    rest = await store.page("ann", "s", (page[-1].created_at, page[-1].id), 2)
    assert [task.id for task in rest] == ["3"]


async def test_without_principals_pages_hold_the_tasks_of_a_session() -> None:
    store = MemoryTaskStore()
    await kept(store, a_task("1", session="s"), a_task("2", session="t"), a_task("3"))
    assert [task.id for task in await store.page(None, "s", None, 9)] == ["1"]
    assert await store.page(None, None, None, 9) == []


def test_a_task_is_over_where_nothing_follows() -> None:
    over = {
        status: replace(a_task("1"), status=status).is_final for status in ("working", "failed")
    }
    assert over == {"working": False, "failed": True}
