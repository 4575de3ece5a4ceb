"""Test suite of event stores of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from mcp_gen.core.stores.events import SharedEventStore, StoredEvent, StreamBeginning, StreamStatus

from .running import ODD_NAMES, RACERS, done, in_loop

__all__ = ["EventStoreSuite"]

END = b'{"jsonrpc":"2.0","id":1,"result":{}}'


class EventStoreSuite:
    """Tests of `SharedEventStore`. A subclass whose name begins with `Test` opens the stores."""

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[SharedEventStore]]:
        """Open stores that share their data, which is empty at first.

        Args:
            count: Number of stores, as many as there would be nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_the_messages_after_one_come_in_order_at_any_node(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            for number in (1, 2, 3):
                assert await done(here.append("s", "r1", number, b"%d" % number))
            expected = [StoredEvent(2, b"2"), StoredEvent(3, b"3")]
            assert list(await there.after("s", "r1", 1) or ()) == expected
            assert list(await there.after("s", "r1", 3) or ()) == []

    @in_loop
    async def test_a_stream_that_was_not_begun_is_unknown(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await done(store.begin("s", "r1", "node", [1]))
            assert await store.after("s", "r2", 0) is None
            assert await store.after("other", "r1", 0) is None
            assert await store.status("s", "r2") is None
            assert not await done(store.end("s", "r2", 1, END))

    @in_loop
    async def test_a_stream_without_a_message_is_known(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await done(store.begin("s", "g1", "node", []))
            assert await store.after("s", "g1", 0) == []
            assert await store.status("s", "g1") == StreamStatus("node", (), 0, False)

    @in_loop
    async def test_a_stream_is_begun_once(self) -> None:
        async with self.open_stores(2) as stores:
            begun = [
                done(store.begin("s", "r1", f"node {number}", [number]))
                for store in stores
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*begun)
            assert sum(results) == 1
            winner = results.index(True) % RACERS
            expected = StreamStatus(f"node {winner}", (winner,), 0, False)
            assert await stores[0].status("s", "r1") == expected

    @in_loop
    async def test_the_status_tells_node_requests_and_last_number(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1, "two", -3]))
            assert await done(here.append("s", "r1", 1, b"1"))
            assert await done(here.append("s", "r1", 5, b"5"))
            assert await there.status("s", "r1") == StreamStatus("node", (1, "two", -3), 5, False)

    @in_loop
    async def test_a_number_that_is_not_above_the_last_is_refused(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            assert await done(here.append("s", "r1", 3, b"3"))
            for number in (1, 2, 3):
                assert not await done(there.append("s", "r1", number, b"late"))
            assert list(await here.after("s", "r1", 0) or ()) == [StoredEvent(3, b"3")]

    @in_loop
    async def test_of_many_messages_with_one_number_one_is_stored(self) -> None:
        async with self.open_stores(2) as stores:
            assert await done(stores[0].begin("s", "r1", "node", [1]))
            appended = [
                done(stores[number % 2].append("s", "r1", 1, b"%d" % number))
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*appended)
            assert sum(results) == 1
            expected = [StoredEvent(1, b"%d" % results.index(True))]
            assert list(await stores[1].after("s", "r1", 0) or ()) == expected

    @in_loop
    async def test_the_end_is_the_last_message_and_nothing_follows(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            assert await done(here.append("s", "r1", 1, b"1"))
            assert await done(there.end("s", "r1", 2, END))
            assert not await done(here.append("s", "r1", 3, b"late"))
            assert not await done(here.end("s", "r1", 3, b"late"))
            assert not await done(here.end("s", "r1", 3, None))
            assert await here.status("s", "r1") == StreamStatus("node", (1,), 2, True)
            expected = [StoredEvent(1, b"1"), StoredEvent(2, END)]
            assert list(await here.after("s", "r1", 0) or ()) == expected

    @in_loop
    async def test_a_stream_can_end_without_a_message(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await done(store.begin("s", "r1", "node", [1]))
            assert await done(store.append("s", "r1", 1, b"1"))
            assert await done(store.end("s", "r1", 0, None))
            assert not await done(store.end("s", "r1", 2, END))
            assert await store.status("s", "r1") == StreamStatus("node", (1,), 1, True)

    @in_loop
    async def test_an_end_with_a_number_that_is_taken_is_refused(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            assert await done(here.append("s", "r1", 1, b"1"))
            assert not await done(there.end("s", "r1", 1, END))
            assert await there.status("s", "r1") == StreamStatus("node", (1,), 1, False)
            assert await done(there.end("s", "r1", 2, END))

    @in_loop
    async def test_of_many_ends_one_counts(self) -> None:
        async with self.open_stores(2) as stores:
            assert await done(stores[0].begin("s", "r1", "node", [1]))
            ends = [
                done(stores[number % 2].end("s", "r1", 1 + number % 3, b"%d" % number))
                for number in range(RACERS)
            ]
            results = await asyncio.gather(*ends)
            assert sum(results) == 1
            winner = results.index(True)
            expected = [StoredEvent(1 + winner % 3, b"%d" % winner)]
            assert list(await stores[0].after("s", "r1", 0) or ()) == expected

    @in_loop
    async def test_what_is_appended_while_another_node_ends_the_stream_is_whole(self) -> None:
        async with self.open_stores(2) as (slow, other):
            assert await done(slow.begin("s", "r1", "slow", [1]))
            stored: list[int] = []

            async def append() -> None:
                for number in range(1, 1000):
                    if not await done(slow.append("s", "r1", number, b"%d" % number)):
                        return
                    stored.append(number)
                    await asyncio.sleep(0)

            async def end() -> int:
                while True:
                    status = await other.status("s", "r1")
                    assert status is not None
                    number = status.last + 1
                    if status.last >= 3 and await done(other.end("s", "r1", number, END)):
                        return number
                    await asyncio.sleep(0)

            _, last = await asyncio.gather(append(), end())
            expected = [StoredEvent(number, b"%d" % number) for number in stored]
            expected.append(StoredEvent(last, END))
            assert list(await slow.after("s", "r1", 0) or ()) == expected

    @in_loop
    async def test_a_whole_stream_is_written_in_one_step(self) -> None:
        whole = [StoredEvent(1, b"1"), StoredEvent(2, b"2"), StoredEvent(3, END)]
        async with self.open_stores(2) as (here, there):
            begins = StreamBeginning("node", [1, "two"])
            assert await done(here.write("s", "r1", whole, begins, is_end=True))
            assert await there.status("s", "r1") == StreamStatus("node", (1, "two"), 3, True)
            assert list(await there.after("s", "r1", 0) or ()) == whole
            assert not await done(there.append("s", "r1", 4, b"late"))

    @in_loop
    async def test_several_messages_are_written_in_one_step(self) -> None:
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            for first in (1, 3):
                pair = [StoredEvent(number, b"%d" % number) for number in (first, first + 1)]
                assert await done(here.write("s", "r1", pair))
            found = await there.after("s", "r1", 0)
            assert [event.number for event in found or ()] == [1, 2, 3, 4]
            assert await done(there.write("s", "r1", [], is_end=True))
            assert await here.status("s", "r1") == StreamStatus("node", (1,), 4, True)

    @in_loop
    async def test_nothing_is_written_if_a_number_is_refused(self) -> None:
        async with self.open_stores(1) as (store,):
            assert await done(store.begin("s", "r1", "node", [1]))
            assert await done(store.append("s", "r1", 2, b"2"))
            for numbers in ((2, 3), (3, 3), (4, 3)):
                messages = [StoredEvent(number, b"late") for number in numbers]
                assert not await done(store.write("s", "r1", messages, is_end=True))
            assert await store.status("s", "r1") == StreamStatus("node", (1,), 2, False)
            assert list(await store.after("s", "r1", 0) or ()) == [StoredEvent(2, b"2")]

    @in_loop
    async def test_nothing_is_written_if_the_stream_is_another_nodes(self) -> None:
        event = [StoredEvent(1, b"1")]
        async with self.open_stores(2) as (here, there):
            assert await done(here.begin("s", "r1", "node", [1]))
            assert not await done(there.write("s", "r1", event, StreamBeginning("other", [1])))
            assert not await done(there.write("s", "r2", event))
            assert await here.status("s", "r1") == StreamStatus("node", (1,), 0, False)
            assert await here.status("s", "r2") is None

    @in_loop
    async def test_a_stream_of_no_request_goes_on_if_it_is_begun_again(self) -> None:
        async with self.open_stores(2) as (here, there):
            first, second = [StoredEvent(1, b"1")], [StoredEvent(2, b"2")]
            assert await done(here.write("s", "g1", first, StreamBeginning("node", [])))
            assert await done(there.write("s", "g1", second, StreamBeginning("other", [])))
            assert await here.status("s", "g1") == StreamStatus("node", (), 2, False)
            assert list(await here.after("s", "g1", 0) or ()) == [*first, *second]

    @in_loop
    async def test_messages_are_stored_as_they_are(self) -> None:
        messages = [b'"\\u0000"', "ä €".encode(), b"\xff\x00\r\n", b"x" * 100_000]
        async with self.open_stores(1) as (store,):
            assert await done(store.begin("s", "r1", "node", [1]))
            for number, message in enumerate(messages, 1):
                assert await done(store.append("s", "r1", number, message))
            found = await store.after("s", "r1", 0)
            assert [event.message for event in found or ()] == messages

    @in_loop
    async def test_names_of_sessions_and_streams_are_kept_apart(self) -> None:
        names = [(session, stream) for session in ODD_NAMES for stream in ODD_NAMES]
        async with self.open_stores(1) as (store,):
            for number, (session, stream) in enumerate(names, 1):
                assert await done(store.begin(session, stream, "node", [number]))
                assert await done(store.append(session, stream, number, b"%d" % number))
            for number, (session, stream) in enumerate(names, 1):
                found = await store.after(session, stream, 0)
                assert list(found or ()) == [StoredEvent(number, b"%d" % number)]

    @in_loop
    async def test_a_session_that_is_forgotten_leaves_nothing(self) -> None:
        async with self.open_stores(2) as (here, there):
            for session in ("s", "other"):
                assert await done(here.begin(session, "r1", "node", [1]))
                assert await done(here.append(session, "r1", 1, b"1"))
            forgotten = there.forget("s")
            if forgotten is not None:
                await forgotten
            assert await here.after("s", "r1", 0) is None
            assert await here.status("s", "r1") is None
            assert list(await here.after("other", "r1", 0) or ()) == [StoredEvent(1, b"1")]
