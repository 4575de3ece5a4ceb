"""Test suite of clusters: the bus between their nodes, and the leases of nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from mcp_gen.core.stores.bus import Bus, BusMessage
from mcp_gen.core.stores.cluster import Cluster
from mcp_gen.core.stores.failures import BusDown, NodeGone, NodeSilent

from .running import in_loop

__all__ = ["BusSuite"]

TOPIC, OTHER_TOPIC = "suite.topic", "suite.other"
WAIT_S = 30.0
ANSWER_S = 10.0
TURN_S = 0.005


class _Received:
    """Bodies and offsets of what a bus delivers, in order."""

    def __init__(self, bus: Bus, topic: str = TOPIC) -> None:
        self.bodies: list[bytes] = []
        self.offsets: list[str] = []
        bus.on(topic, self._on_message)

    def _on_message(self, message: BusMessage) -> None:
        self.bodies.append(message.body)
        self.offsets.append(message.offset)


class BusSuite:
    """Tests of `Cluster` and `Bus`. A subclass whose name begins with `Test` opens the nodes."""

    def open_nodes(self, count: int) -> AbstractAsyncContextManager[Sequence[Cluster]]:
        """Make nodes of one cluster and start them; close them in the end.

        Args:
            count: Number of nodes.
        """
        raise NotImplementedError

    @in_loop
    async def test_all_nodes_get_all_messages_in_one_order_their_own_too(self) -> None:
        async with self.open_nodes(3) as nodes:
            received = [_Received(node.bus) for node in nodes]
            bodies = [f"{name}{number}".encode() for number in range(50) for name in "abc"]
            senders = [node for _ in range(50) for node in nodes]
            offsets = await asyncio.gather(
                *(node.bus.publish(TOPIC, body) for node, body in zip(senders, bodies, strict=True))
            )
            await _until(lambda: all(len(one.bodies) == 150 for one in received))
            assert sorted(received[0].bodies) == sorted(bodies)
            assert received[0].bodies == received[1].bodies == received[2].bodies
            assert received[0].offsets == received[1].offsets == received[2].offsets
            assert sorted(offsets) == sorted(received[0].offsets)

    @in_loop
    async def test_what_one_node_sends_one_after_another_comes_in_that_order(self) -> None:
        async with self.open_nodes(2) as (first, second):
            received = _Received(second.bus)
            bodies = [str(number).encode() for number in range(50)]
            for body in bodies:
                await first.bus.publish(TOPIC, body)
            await _until(lambda: len(received.bodies) == 50)
            assert received.bodies == bodies

    @in_loop
    async def test_a_message_names_its_sender_and_its_offset(self) -> None:
        async with self.open_nodes(2) as (first, second):
            messages: list[BusMessage] = []
            second.bus.on(TOPIC, messages.append)
            offset = await first.bus.publish(TOPIC, bytes(range(256)))
            await _until(lambda: messages)
            assert messages == [BusMessage(offset, first.node, TOPIC, bytes(range(256)))]

    @in_loop
    async def test_a_handler_gets_its_topic_alone_until_it_is_removed(self) -> None:
        async with self.open_nodes(1) as (node,):
            removed: list[BusMessage] = []
            remove = node.bus.on(TOPIC, removed.append)
            received, other = _Received(node.bus), _Received(node.bus, OTHER_TOPIC)
            await node.bus.publish(OTHER_TOPIC, b"1")
            remove()
            await node.bus.publish(TOPIC, b"2")
            await _until(lambda: received.bodies)
            assert (received.bodies, other.bodies, removed) == ([b"2"], [b"1"], [])

    @in_loop
    async def test_a_handler_that_fails_stops_no_other_and_no_later_message(self) -> None:
        def fails(message: BusMessage) -> None:
            raise ValueError("a handler")

        async with self.open_nodes(1) as (node,):
            node.bus.on(TOPIC, fails)
            received = _Received(node.bus)
            await node.bus.publish(TOPIC, b"1")
            await node.bus.publish(TOPIC, b"2")
            await _until(lambda: len(received.bodies) == 2)
            assert received.bodies == [b"1", b"2"]

    @in_loop
    async def test_many_questions_at_once_get_their_own_answers(self) -> None:
        async with self.open_nodes(2) as (first, second):
            for node in (first, second):
                node.bus.answer(TOPIC, _answer_upper)
            questions = [f"q{number}".encode() for number in range(50)]
            answers = await asyncio.gather(
                *(first.bus.ask(second.node, TOPIC, one, ANSWER_S) for one in questions),
                *(second.bus.ask(first.node, TOPIC, one, ANSWER_S) for one in questions),
            )
            assert answers == [one.upper() for one in questions] * 2

    @in_loop
    async def test_a_large_question_gets_its_answer(self) -> None:
        async with self.open_nodes(2) as (first, second):
            second.bus.answer(TOPIC, _answer_upper)
            body = b"x" * 1_000_000
            assert await first.bus.ask(second.node, TOPIC, body, ANSWER_S) == body.upper()

    @in_loop
    async def test_the_handler_of_questions_knows_who_asks_and_may_ask_back(self) -> None:
        async with self.open_nodes(2) as (first, second):

            async def ask_back(node: str, body: bytes) -> bytes:
                return await second.bus.ask(node, OTHER_TOPIC, body, ANSWER_S)

            first.bus.answer(OTHER_TOPIC, _answer_upper)
            second.bus.answer(TOPIC, ask_back)
            assert await first.bus.ask(second.node, TOPIC, b"a", ANSWER_S) == b"A"

    @in_loop
    async def test_a_node_that_nobody_knows_is_gone(self) -> None:
        async with self.open_nodes(1) as (node,):
            assert await _error(node.bus.ask("nobody", TOPIC, b"a")) is NodeGone
            assert not await node.is_alive("nobody")

    @in_loop
    async def test_a_node_is_alive_until_it_is_closed(self) -> None:
        async with self.open_nodes(2) as (first, second):
            assert await first.is_alive(first.node)
            assert await first.is_alive(second.node)
            await second.aclose()
            assert not await first.is_alive(second.node)
            assert await _error(first.bus.ask(second.node, TOPIC, b"a")) is NodeGone

    @in_loop
    async def test_a_node_whose_handler_takes_long_is_silent(self) -> None:
        async def never(node: str, body: bytes) -> bytes:
            await asyncio.Event().wait()
            return body

        await self._is_silent(never, 0.05)

    @in_loop
    async def test_a_node_whose_handler_fails_is_silent_at_once(self) -> None:
        async def fails(node: str, body: bytes) -> bytes:
            raise ValueError("a handler")

        await self._is_silent(fails, 2 * WAIT_S)

    @in_loop
    async def test_a_node_without_a_handler_is_silent_at_once(self) -> None:
        await self._is_silent(None, 2 * WAIT_S)

    async def _is_silent(
        self, handler: Callable[[str, bytes], Awaitable[bytes]] | None, timeout_s: float
    ) -> None:
        async with self.open_nodes(2) as (first, second), asyncio.timeout(WAIT_S):
            if handler is not None:
                second.bus.answer(TOPIC, handler)
            assert await _error(first.bus.ask(second.node, TOPIC, b"a", timeout_s)) is NodeSilent

    @in_loop
    async def test_a_handler_of_questions_can_be_removed(self) -> None:
        async with self.open_nodes(2) as (first, second):
            remove = second.bus.answer(TOPIC, _answer_upper)
            assert await first.bus.ask(second.node, TOPIC, b"a", ANSWER_S) == b"A"
            remove()
            assert await _error(first.bus.ask(second.node, TOPIC, b"a", ANSWER_S)) is NodeSilent

    @in_loop
    async def test_a_node_is_up_until_it_is_closed(self) -> None:
        async with self.open_nodes(1) as (node,):
            seen = [node.is_up, node.bus.is_up]
            await node.aclose()
            seen += [node.is_up, node.bus.is_up]
            assert seen == [True, True, False, False]
            assert await _error(node.bus.publish(TOPIC, b"a")) is BusDown
            assert await _error(node.bus.ask("nobody", TOPIC, b"a")) is BusDown

    @in_loop
    async def test_the_nodes_have_the_same_keys_of_request_states(self) -> None:
        async with self.open_nodes(2) as (first, second):
            assert list(first.request_state_keys()) == list(second.request_state_keys()) != []


async def _answer_upper(node: str, body: bytes) -> bytes:
    return body.upper()


async def _error(operation: Awaitable[object]) -> type[Exception] | None:
    """Return the class of the error that an operation raises."""
    try:
        await operation
    except Exception as error:
        return type(error)
    return None


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S):
        # What a bus delivers comes when it comes.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(TURN_S)
