"""The suites of stores find what is wrong with a store: each of these has one fault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple
from unittest import mock

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields, replace

from mcp_gen.cluster.memory.cluster import MemoryCluster
from mcp_gen.core.stores.bus import BusMessage
from mcp_gen.core.stores.events import MemoryEventStore
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.core.stores.sessions import MemorySessionStore, StoredSession
from mcp_gen.core.stores.state import MemoryStateStore
from mcp_gen.core.stores.tasks import MemoryTaskStore, StoredTask
from mcp_gen.testing.stores import (
    BusSuite,
    EventStoreSuite,
    OnceStoreSuite,
    SessionStoreSuite,
    StateStoreSuite,
    TaskStoreSuite,
    bus,
)
from mcp_gen.testing.stores.running import done

AsyncMethod = Callable[..., Any]

LATE_S = 0.02


class Fault(NamedTuple):
    """A method of a store that does something else, and the test that sees it."""

    suite: type[Any]
    store: Callable[[], Any]
    method: str
    instead: Callable[[AsyncMethod], AsyncMethod]
    test: str


def gives(value: Any) -> Callable[[AsyncMethod], AsyncMethod]:
    """Do nothing, and return a value."""

    def instead(original: AsyncMethod) -> AsyncMethod:
        async def method(*arguments: Any, **options: Any) -> Any:
            return value

        return method

    return instead


def returns(change: Callable[[Any], Any]) -> Callable[[AsyncMethod], AsyncMethod]:
    """Change what is returned."""

    def instead(original: AsyncMethod) -> AsyncMethod:
        async def method(*arguments: Any, **options: Any) -> Any:
            return change(await original(*arguments, **options))

        return method

    return instead


def takes(change: Callable[..., tuple[Any, ...]]) -> Callable[[AsyncMethod], AsyncMethod]:
    """Change the arguments."""

    def instead(original: AsyncMethod) -> AsyncMethod:
        def method(*arguments: Any, **options: Any) -> Any:
            return original(*change(*arguments), **options)

        return method

    return instead


def works_once(original: AsyncMethod) -> AsyncMethod:
    """Fail from the second time on."""
    times = iter([True])

    async def method(*arguments: Any, **options: Any) -> Any:
        assert next(times, False)
        return await original(*arguments, **options)

    return method


def once() -> MemoryOnceStore:
    return MemoryOnceStore(60.0, time.monotonic)


FAULTS = {
    "events in the wrong order": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "after",
        returns(lambda found: found and found[::-1]),
        "test_the_messages_after_one_come_in_order_at_any_node",
    ),
    "unknown streams are empty": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "after",
        returns(lambda found: found or []),
        "test_a_stream_that_was_not_begun_is_unknown",
    ),
    "ids of requests are texts": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "begin",
        takes(lambda session, stream, node, ids: (session, stream, node, [*map(str, ids)])),
        "test_the_status_tells_node_requests_and_last_number",
    ),
    "names are joined": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "append",
        takes(lambda session, stream, *more: (session, stream.replace(":", ""), *more)),
        "test_names_of_sessions_and_streams_are_kept_apart",
    ),
    "several messages are put in order": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "write",
        takes(lambda session, stream, events, *more: (session, stream, sorted(events), *more)),
        "test_nothing_is_written_if_a_number_is_refused",
    ),
    "what is there is passed over": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "write",
        takes(
            lambda session, stream, events, *more: (
                session,
                stream,
                [one for one in events if one.number > 2],
                *more,
            )
        ),
        "test_nothing_is_written_if_a_number_is_refused",
    ),
    "messages are texts": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "append",
        takes(
            lambda *place_and_message: (
                *place_and_message[:-1],
                place_and_message[-1].decode(errors="replace").encode(),
            )
        ),
        "test_messages_are_stored_as_they_are",
    ),
    "the end is a message": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "status",
        returns(lambda status: status and status._replace(is_over=False)),
        "test_the_end_is_the_last_message_and_nothing_follows",
    ),
    "a session is not forgotten": Fault(
        EventStoreSuite,
        MemoryEventStore,
        "forget",
        gives(None),
        "test_a_session_that_is_forgotten_leaves_nothing",
    ),
    "sessions without a limit": Fault(
        SessionStoreSuite,
        MemorySessionStore,
        "create",
        lambda original: (
            lambda session, limit, keep_s: original(session, limit=10**6, keep_s=keep_s)
        ),
        "test_there_are_no_more_sessions_than_allowed_over_all_nodes",
    ),
    "a change of what has changed": Fault(
        SessionStoreSuite,
        MemorySessionStore,
        "update",
        returns(lambda changes: changes or 1),
        "test_a_change_of_what_has_changed_is_refused",
    ),
    "a session that is given to all": Fault(
        SessionStoreSuite,
        MemorySessionStore,
        "expired",
        gives([]),
        "test_an_expired_session_is_given_to_one_node",
    ),
    "every move is the first": Fault(
        SessionStoreSuite,
        MemorySessionStore,
        "enter",
        returns(lambda move: move and 1),
        "test_every_move_has_a_number_of_its_own",
    ),
    "a claim that everyone gets": Fault(
        TaskStoreSuite,
        MemoryTaskStore,
        "claim",
        returns(lambda claimed: True),
        "test_one_of_many_workers_claims_a_task",
    ),
    "an end that everyone makes": Fault(
        TaskStoreSuite,
        MemoryTaskStore,
        "save",
        returns(lambda saved: True),
        "test_of_many_ends_one_counts",
    ),
    "pages in the wrong order": Fault(
        TaskStoreSuite,
        MemoryTaskStore,
        "page",
        returns(lambda tasks: tasks[::-1]),
        "test_pages_have_the_tasks_of_their_owner_in_order",
    ),
    "a claim that is not given back": Fault(
        TaskStoreSuite,
        MemoryTaskStore,
        "release",
        gives(True),
        "test_a_claim_that_is_given_back_can_be_taken_at_once",
    ),
    "a task that can be forgotten but once": Fault(
        TaskStoreSuite,
        MemoryTaskStore,
        "forget",
        works_once,
        "test_a_task_that_is_forgotten_is_gone",
    ),
    "values of everyone": Fault(
        OnceStoreSuite,
        once,
        "get",
        takes(lambda name, principal=None: (name, "ada")),
        "test_nobody_else_gets_the_values_of_a_principal",
    ),
    "names that can be guessed": Fault(
        OnceStoreSuite,
        once,
        "put",
        returns(lambda name: name[:8]),
        "test_new_names_differ_and_cannot_be_guessed",
    ),
    "bytes without a limit": Fault(
        StateStoreSuite,
        MemoryStateStore,
        "save",
        returns(lambda saved: True),
        "test_a_key_has_no_more_bytes_than_allowed",
    ),
    "a key that is not forgotten": Fault(
        StateStoreSuite,
        MemoryStateStore,
        "forget",
        gives(None),
        "test_a_key_that_is_forgotten_has_no_values",
    ),
}


def run(fault: Fault, faulty: bool) -> None:
    """Run the test of a suite over a store in memory."""
    store = fault.store()
    if faulty:
        setattr(store, fault.method, fault.instead(getattr(store, fault.method)))

    @asynccontextmanager
    async def open_stores(count: int) -> AsyncGenerator[Sequence[Any]]:
        yield [store] * count

    suite = fault.suite()
    suite.open_stores = open_stores
    getattr(suite, fault.test)()


@pytest.mark.parametrize("name", FAULTS)
def test_a_suite_finds_a_store_with_a_fault(name: str) -> None:
    run(FAULTS[name], faulty=False)
    with pytest.raises((AssertionError, ValueError, TypeError)):
        run(FAULTS[name], faulty=True)


def begins_with(first: int) -> Callable[[AsyncMethod], AsyncMethod]:
    """Let a call run before those that came earlier."""

    def instead(original: AsyncMethod) -> AsyncMethod:
        ran, calls = asyncio.Event(), 0

        async def method(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            number, calls = calls, calls + 1
            if number < first:
                await ran.wait()
            was_done = await done(original(*arguments, **options))
            if number == first:
                ran.set()
            return was_done

        return method

    return instead


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_the_suite_of_events_takes_a_store_in_which_another_end_counts(first: int) -> None:
    test = "test_of_many_ends_one_counts"
    slow = Fault(EventStoreSuite, MemoryEventStore, "end", begins_with(first), test)
    run(slow, faulty=True)


def with_defaults(kind: type[Any]) -> list[str]:
    """Return the fields of a struct that a store can lose unnoticed."""
    return [one.name for one in fields(kind) if not one.required]


def loses(field: str) -> Callable[[AsyncMethod], AsyncMethod]:
    """Read what is stored without a field."""

    def lose(found: Any) -> Any:
        if found is None:
            return None
        (one,) = [one for one in fields(found) if one.name == field]
        default = one.default if one.default is not NODEFAULT else one.default_factory()
        return replace(found, **{field: default})

    return returns(lose)


def answers_always(answer: AsyncMethod) -> AsyncMethod:
    """Answer also for a handler that fails or takes long."""

    def method(topic: str, handler: Callable[[str, bytes], Awaitable[bytes]]) -> Any:
        async def reply(node: str, body: bytes) -> bytes:
            with suppress(ValueError, TimeoutError):
                return await asyncio.wait_for(handler(node, body), LATE_S)
            return b""

        return answer(topic, reply)

    return method


SESSION_TESTS = [
    "test_a_session_is_found_at_any_node_as_it_is",
    "test_a_move_is_no_change_of_the_session",
    "test_a_change_replaces_the_fields_that_it_names",
]
TASK_TESTS = ["test_a_task_is_found_at_any_node_as_it_is", "test_one_of_many_workers_claims_a_task"]


@pytest.mark.parametrize("field", with_defaults(StoredSession))
def test_a_suite_finds_a_store_that_loses_a_field_of_sessions(field: str) -> None:
    assert found_by(SESSION_TESTS, SessionStoreSuite, MemorySessionStore, field)


@pytest.mark.parametrize("field", with_defaults(StoredTask))
def test_a_suite_finds_a_store_that_loses_a_field_of_tasks(field: str) -> None:
    assert found_by(TASK_TESTS, TaskStoreSuite, MemoryTaskStore, field)


def found_by(tests: list[str], suite: type[Any], store: Callable[[], Any], field: str) -> list[str]:
    """Return the tests that see that a field is lost."""
    found: list[str] = []
    for test in tests:
        try:
            run(Fault(suite, store, "load", loses(field), test), faulty=True)
        except AssertionError:
            found.append(test)
    return found


@pytest.mark.parametrize(
    ("method", "instead", "test"),
    [
        ("is_alive", gives(True), "test_a_node_is_alive_until_it_is_closed"),
        (
            "bus.publish",
            returns(lambda offset: "0"),
            "test_a_message_names_its_sender_and_its_offset",
        ),
        ("bus.ask", returns(bytes.lower), "test_a_large_question_gets_its_answer"),
        ("bus.ask", gives(b""), "test_a_node_without_a_handler_is_silent_at_once"),
        ("bus.answer", answers_always, "test_a_node_whose_handler_fails_is_silent_at_once"),
        ("bus.answer", answers_always, "test_a_node_whose_handler_takes_long_is_silent"),
    ],
)
def test_the_suite_of_clusters_finds_a_cluster_with_a_fault(
    method: str, instead: Callable[[AsyncMethod], AsyncMethod], test: str
) -> None:
    with pytest.raises(AssertionError):
        getattr(suite_of_nodes(method, instead), test)()


def stops_at_an_error(on: AsyncMethod) -> AsyncMethod:
    """Hand nothing on once a handler has failed."""
    failed = False

    def method(topic: str, handler: Callable[[BusMessage], None]) -> Any:
        def hand_on(message: BusMessage) -> None:
            nonlocal failed
            if not failed:
                try:
                    handler(message)
                except ValueError:
                    failed = True

        return on(topic, hand_on)

    return method


def test_the_suite_of_clusters_finds_one_that_stops_at_an_error() -> None:
    suite = suite_of_nodes("bus.on", stops_at_an_error)
    with mock.patch.object(bus, "WAIT_S", 10 * LATE_S), pytest.raises(TimeoutError):
        suite.test_a_handler_that_fails_stops_no_other_and_no_later_message()


def late(on: AsyncMethod) -> AsyncMethod:
    """Hand messages on a little later, in their order."""

    def method(topic: str, handler: Callable[[BusMessage], None]) -> Callable[[], None]:
        loop, last = asyncio.get_running_loop(), 0.0

        def hand_on(message: BusMessage) -> None:
            nonlocal last
            # Timers of one time have no order.
            last = max(loop.time() + LATE_S, last + 1e-6)
            loop.call_at(last, handler, message)

        remove: Callable[[], None] = on(topic, hand_on)
        return remove

    return method


@pytest.mark.parametrize(
    "test",
    [
        "test_all_nodes_get_all_messages_in_one_order_their_own_too",
        "test_what_one_node_sends_one_after_another_comes_in_that_order",
        "test_a_message_names_its_sender_and_its_offset",
        "test_a_handler_gets_its_topic_alone_until_it_is_removed",
        "test_a_handler_that_fails_stops_no_other_and_no_later_message",
    ],
)
def test_the_suite_of_clusters_waits_for_messages_that_come_late(test: str) -> None:
    getattr(suite_of_nodes("bus.on", late), test)()


def suite_of_nodes(method: str, instead: Callable[[AsyncMethod], AsyncMethod]) -> BusSuite:
    """Return the suite over a cluster in memory, a method of which does something else."""

    @asynccontextmanager
    async def open_nodes(count: int) -> AsyncGenerator[list[MemoryCluster]]:
        first = MemoryCluster()
        nodes = [first, *(first.another_node() for _ in range(count - 1))]
        for node in nodes:
            owner, name = (node.bus, method[4:]) if method[:4] == "bus." else (node, method)
            setattr(owner, name, instead(getattr(owner, name)))
            await node.start()
        yield nodes
        for node in nodes:
            await node.aclose()

    suite: Any = BusSuite()
    suite.open_nodes = open_nodes
    made: BusSuite = suite
    return made
