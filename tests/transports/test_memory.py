"""Memory transport: messages pass in both directions, until either end closes."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen.transports.memory import MemoryTransport, memory_pair

WAIT_S = 30.0


class End:
    """One end, with its received messages."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.messages: list[bytes] = []
        self.hang_ups: list[BaseException | None] = []
        self._news = asyncio.Event()

    async def start(self) -> End:
        await self.transport.start(self)
        return self

    async def got(self, count: int) -> list[bytes]:
        """Return the messages, once there are this many."""
        async with asyncio.timeout(WAIT_S):
            while len(self.messages) < count:
                self._news.clear()
                await self._news.wait()
        return self.messages

    async def ended(self) -> None:
        async with asyncio.timeout(WAIT_S):
            while not self.hang_ups:
                self._news.clear()
                await self._news.wait()

    def receive(self, message: bytes) -> None:
        self.messages.append(message)
        self._news.set()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError("memory has no limit")

    def closed(self, error: BaseException | None) -> None:
        self.hang_ups.append(error)
        self._news.set()


async def pair() -> tuple[End, End]:
    one, other = map(End, memory_pair())
    return await one.start(), await other.start()


either_side = pytest.mark.parametrize("closing", [0, 1], ids=["one side", "the other"])


async def test_messages_arrive_in_the_order_in_which_they_were_sent() -> None:
    one, other = await pair()
    for message in (b"1", b"2", b"3"):
        one.transport.send(message)
    assert await other.got(3) == [b"1", b"2", b"3"]


async def test_what_is_sent_before_and_after_a_start_keeps_its_order() -> None:
    one, other = map(End, memory_pair())
    await one.start()
    one.transport.send(b"1")
    await other.start()
    one.transport.send(b"2")
    assert await other.got(2) == [b"1", b"2"]


async def test_a_message_arrives_at_once() -> None:
    one, other = await pair()
    one.transport.send(b"1")
    assert other.messages == [b"1"]


class Echo(End):
    """End that echoes its messages, and records the order."""

    def __init__(self, transport: MemoryTransport, log: list[str], answers: list[bytes]) -> None:
        super().__init__(transport)
        self._log = log
        self._answers = answers

    def receive(self, message: bytes) -> None:
        self._log.append(f"begins {message.decode()}")
        while self._answers:
            self.transport.send(self._answers.pop(0))
        self._log.append(f"ends {message.decode()}")
        super().receive(message)


async def test_nothing_arrives_while_another_message_is_being_taken() -> None:
    one, other = memory_pair()
    log: list[str] = []
    left = Echo(one, log, [b"c"])
    right = Echo(other, log, [b"a", b"b"])
    await left.start()
    await right.start()
    one.send(b"1")
    one.send(b"2")
    assert await left.got(2) == [b"a", b"b"]
    assert await right.got(3) == [b"1", b"2", b"c"]
    begun = [line for line in log if line.startswith("begins")]
    assert log == [line for one in begun for line in (one, one.replace("begins", "ends"))]


async def test_what_a_receiver_raises_is_not_the_senders_business() -> None:
    one, other = memory_pair()
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: complaints.append(str(context["message"])))

    class Fails(End):
        def receive(self, message: bytes) -> None:
            raise ZeroDivisionError

    try:
        await Fails(other).start()
        one.send(b"1")
        one.send(b"2")
    finally:
        loop.set_exception_handler(handler)
    assert complaints == ["a receiver failed"] * 2


async def test_what_was_sent_before_the_other_side_began_arrives_when_it_begins() -> None:
    one, other = map(End, memory_pair())
    await one.start()
    one.transport.send(b"1")
    one.transport.send(b"2")
    await other.start()
    assert await other.got(2) == [b"1", b"2"]


@either_side
async def test_closing_either_side_ends_both(closing: int) -> None:
    ends = await pair()
    await ends[closing].transport.aclose()
    for end in ends:
        await end.ended()


@either_side
async def test_each_side_is_told_of_the_end_once_although_both_close(closing: int) -> None:
    ends = await pair()
    await ends[closing].transport.aclose()
    await ends[1 - closing].transport.aclose()
    await ends[closing].transport.aclose()
    await asyncio.sleep(0)
    assert [end.hang_ups for end in ends] == [[None], [None]]


@either_side
async def test_what_was_sent_before_closing_arrives_before_the_end(closing: int) -> None:
    ends = await pair()
    ends[closing].transport.send(b"1")
    await ends[closing].transport.aclose()
    await ends[1 - closing].ended()
    assert ends[1 - closing].messages == [b"1"]


@either_side
async def test_what_is_sent_after_either_side_closed_does_not_arrive(closing: int) -> None:
    ends = await pair()
    await ends[closing].transport.aclose()
    for end in ends:
        end.transport.send(b"late")
    await asyncio.sleep(0)
    assert [end.messages for end in ends] == [[], []]


async def test_a_side_that_begins_after_the_other_has_closed_is_told_so() -> None:
    one, other = map(End, memory_pair())
    await one.start()
    one.transport.send(b"1")
    await one.transport.aclose()
    await other.start()
    await other.ended()
    assert other.messages == [b"1"]
