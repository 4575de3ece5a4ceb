"""Bus over streams of Redis: one for broadcasts, and one per node for questions and answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from redis.exceptions import RedisError

from mcp_gen.cluster.signals.callbacks import AnswerHandler, BusHandlers, MessageHandler
from mcp_gen.core.stores.bus import BusMessage
from mcp_gen.core.stores.failures import BusDown, NodeGone, NodeSilent, StoreDown

from .connection import RedisConnection, Script
from .stream_reader import Entry, StreamReader

__all__ = ["BusKeys", "RedisBus", "is_before"]

log = logging.getLogger("mcp_gen.cluster")

FIELD = b"m"
INBOX_MESSAGES = 1000
INBOX_TTL_MS = 60_000

PUBLISH = Script(
    """
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return false end
    local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], ARGV[3] .. '-*', 'm', ARGV[4])
    if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
    return id
    """
)
"""Append a broadcast, if the store is the one that the node knows.

The first part of an entry's id is the store's, the second counts: a reader sees what is missing.
"""

SEND = Script(
    """
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[1], '*', 'm', ARGV[2])
    if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
    return 1
    """
)
"""Append a question or an answer to the inbox of a node, if the node has a lease."""


class BusKeys:
    """Names of the keys of the bus and of nodes. Keys of one node, and of the bus, share a slot.

    Args:
        prefix: Beginning of all names.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.broadcasts = f"{{{prefix}:bus}}"
        self.generation = f"{{{prefix}:bus}}:generation"
        self.state_keys = f"{{{prefix}:bus}}:state-keys"

    def lease(self, node: str) -> str:
        """Return the key of a node's lease."""
        return f"{{{self._prefix}:node:{node}}}:lease"

    def inbox(self, node: str) -> str:
        """Return the key of a node's inbox."""
        return f"{{{self._prefix}:node:{node}}}:inbox"


class Generation(NamedTuple):
    """Which store it is: another one, if it has lost its data.

    Args:
        value: Value of the generation key.
        epoch: First part of the ids of broadcasts.
    """

    value: bytes
    epoch: int

    @classmethod
    def read(cls, value: bytes) -> Generation:
        """Return the generation of a value."""
        return cls(value, int(value.partition(b".")[0]))


class _Broadcast(Struct, array_like=True):
    node: str
    topic: str
    body: bytes


class _Letter(Struct, array_like=True):
    """A question, or its answer."""

    is_question: bool
    number: int
    """Number of the question at the node that asks."""
    node: str
    """The node that has sent it."""
    topic: str
    timeout_s: float
    body: bytes | None
    """None where there is no answer."""


_decode_broadcast = msgspec.msgpack.Decoder(_Broadcast).decode
_decode_letter = msgspec.msgpack.Decoder(_Letter).decode
_encode = msgspec.msgpack.Encoder().encode


class RedisBus:
    """Bus of one node.

    Args:
        connection: The connection to Redis.
        keys: Names of keys.
        max_messages: Number of broadcasts that the store keeps at least.
        ttl_ms: Time to live of the stream of broadcasts, in milliseconds.
    """

    def __init__(
        self, connection: RedisConnection, keys: BusKeys, *, max_messages: int, ttl_ms: int
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._max_messages = max_messages
        self._ttl_ms = ttl_ms
        self.handlers = BusHandlers()
        self._node = ""
        self._generation: Generation | None = None
        self._clock_ms = 0.0
        """Milliseconds that the server's clock is ahead of the monotonic one, at least."""
        self._next: int | None = None
        """Number of the next broadcast; None if any may come."""
        self._broadcasts = StreamReader(connection, keys.broadcasts, self._on_broadcasts)
        self._inbox: StreamReader | None = None
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}
        self._answering: set[asyncio.Task[Any]] = set()

    # --- For nodes.py ---

    @property
    def generation(self) -> bytes | None:
        """Value of the generation key that this node knows; None at first."""
        return self._generation.value if self._generation is not None else None

    def adopt(self, generation: bytes) -> None:
        """Read and publish in this store from now on, its broadcasts from the first one on."""
        self._generation = Generation.read(generation)
        self._broadcasts.offset = "0-0"
        self._next = None

    def begin_after(self, offset: str) -> None:
        """Read broadcasts that follow an offset."""
        self._broadcasts.offset = offset
        epoch, _, number = offset.partition("-")
        known = self._generation is not None and int(epoch) == self._generation.epoch
        self._next = int(number) + 1 if known else None

    @property
    def offset(self) -> str:
        """Offset of the last broadcast that has been read."""
        return self._broadcasts.offset

    def become(self, node: str) -> None:
        """Send under this id, and read its inbox."""
        self._node = node
        self._inbox = StreamReader(self._connection, self._keys.inbox(node), self._on_letters)

    @property
    def inbox_offset(self) -> str:
        """Id of the last entry of the inbox that has been read."""
        return self._inbox.offset if self._inbox is not None else "0-0"

    def set_clock(self, server_ms: float) -> None:
        """Note the time of the server's clock."""
        self._clock_ms = server_ms - time.monotonic() * 1000

    async def missed(self) -> Sequence[Sequence[Entry]]:
        """Return all entries that were not read yet, of broadcasts and of the inbox."""
        assert self._inbox is not None
        return [await self._broadcasts.fetch(), await self._inbox.fetch()]

    def resume(self, missed: Sequence[Sequence[Entry]]) -> None:
        """Handle what was missed, and read on."""
        assert self._inbox is not None
        for reader, entries in zip((self._broadcasts, self._inbox), missed, strict=True):
            reader.take(entries)
            reader.start()

    async def pause(self) -> None:
        """Stop to read. Open questions fail."""
        for future in self._asked.values():
            if not future.done():
                future.set_exception(self._down())
                future.exception()
        for reader in (self._broadcasts, self._inbox):
            if reader is not None:
                await reader.stop()

    async def aclose(self) -> None:
        """Stop to read and to answer."""
        await self.pause()
        answering = tuple(self._answering)
        for task in answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering)

    # --- The contract ---

    @property
    def is_up(self) -> bool:
        """True if messages can be sent and are received."""
        return self._connection.is_up

    async def publish(self, topic: str, body: bytes) -> str:
        """Send a broadcast; see `Bus.publish`."""
        if self._generation is None:
            raise self._down()
        value, epoch = self._generation
        try:
            offset = await self._connection.run(
                PUBLISH,
                [self._keys.broadcasts, self._keys.generation],
                [
                    value,
                    self._max_messages,
                    epoch,
                    _encode(_Broadcast(self._node, topic, body)),
                    self._ttl_ms,
                ],
            )
        except (StoreDown, RedisError) as error:
            raise self._down(error) from None
        if offset is None:
            # Recovering finds out, and tells what must be told.
            self._connection.failed(StoreDown("its data is gone"))
            raise self._down()
        return str(offset, "ascii")

    async def ask(self, node: str, topic: str, body: bytes, timeout_s: float = 0.5) -> bytes:
        """Ask a node; see `Bus.ask`."""
        number = next(self._numbers)
        future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        question = _Letter(True, number, self._node, topic, timeout_s, body)
        try:
            async with asyncio.timeout(timeout_s):
                if not await self._send(node, question):
                    raise NodeGone(f"node {node} is gone: its lease has lapsed")
                answer = await future
        except TimeoutError:
            if not self.is_up:
                raise self._down() from None
            raise NodeSilent(
                f"node {node} did not answer about {topic} in {timeout_s:g} s"
            ) from None
        except (StoreDown, RedisError) as error:
            raise self._down(error) from None
        finally:
            del self._asked[number]
        if answer is None:
            raise NodeSilent(f"node {node} has no answer about {topic}")
        return answer

    def on(self, topic: str, handler: MessageHandler) -> Callable[[], None]:
        """Register a handler of broadcasts; see `Bus.on`."""
        return self.handlers.on(topic, handler)

    def answer(self, topic: str, handler: AnswerHandler) -> Callable[[], None]:
        """Register the handler of a topic's questions; see `Bus.answer`."""
        return self.handlers.answer(topic, handler)

    def on_gap(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for broadcasts that were missed; see `Bus.on_gap`."""
        return self.handlers.gap.add(callback)

    def on_down(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a bus that is down; see `Bus.on_down`."""
        return self.handlers.down.add(callback)

    def on_up(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a bus that is up again; see `Bus.on_up`."""
        return self.handlers.up.add(callback)

    # --- Inside ---

    def _down(self, error: BaseException | None = None) -> BusDown:
        return BusDown(str(self._connection.down_error(error)))

    def _send(self, node: str, letter: _Letter) -> asyncio.Future[Any]:
        return self._connection.run(
            SEND,
            [self._keys.lease(node), self._keys.inbox(node)],
            [INBOX_MESSAGES, _encode(letter), INBOX_TTL_MS],
        )

    def _on_broadcasts(self, entries: Sequence[Entry]) -> None:
        for id, fields in entries:
            offset = id.decode("ascii")
            epoch, _, text = offset.partition("-")
            if self._generation is None or int(epoch) != self._generation.epoch:
                # Recovering adopts the new store, and reads its broadcasts from the first one on.
                self._connection.failed(StoreDown("its data is gone"))
                return
            number = int(text)
            if self._next is not None and number != self._next:
                log.warning("cluster: %d broadcasts were missed", number - self._next)
                self.handlers.gap()
            self._next = number + 1
            try:
                node, topic, body = msgspec.structs.astuple(_decode_broadcast(fields[FIELD]))
            except (KeyError, msgspec.MsgspecError):
                log.error("cluster: broadcast %s cannot be read: is the prefix used twice?", offset)
                continue
            self.handlers.deliver([BusMessage(offset, node, topic, body)])

    def _on_letters(self, entries: Sequence[Entry]) -> None:
        for id, fields in entries:
            try:
                letter = _decode_letter(fields[FIELD])
            except (KeyError, msgspec.MsgspecError):
                log.error(
                    "cluster: a message of the inbox cannot be read: is the prefix used twice?"
                )
                continue
            if not letter.is_question:
                future = self._asked.get(letter.number)
                if future is not None and not future.done():
                    future.set_result(letter.body)
            elif self._age_s(id) < letter.timeout_s:
                task = asyncio.create_task(self._reply(letter))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            else:
                # Who asked waits no more, and has told its client so: acting on it would be wrong.
                log.debug("cluster: a question about %s came too late", letter.topic)

    def _age_s(self, id: bytes) -> float:
        sent_ms = int(id.partition(b"-")[0])
        return (time.monotonic() * 1000 + self._clock_ms - sent_ms) / 1000

    async def _reply(self, question: _Letter) -> None:
        body = await self.handlers.reply(question.node, question.topic, question.body or b"")
        answer = _Letter(False, question.number, self._node, question.topic, 0.0, body)
        try:
            await self._send(question.node, answer)
        except (StoreDown, RedisError) as error:
            log.debug("cluster: an answer could not be sent: %s", error)


def is_before(offset: str, other: str) -> bool:
    """Return True if an offset is before another one."""
    return _parsed(offset) < _parsed(other)


def _parsed(offset: str) -> tuple[int, int]:
    epoch, _, number = offset.partition("-")
    return int(epoch), int(number or 0)
