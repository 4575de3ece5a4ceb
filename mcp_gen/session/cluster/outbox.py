"""Sends what a stream carries in order, each event only once the store has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from mcp_gen.core.stores.events import StoredEvent, StreamBeginning
from mcp_gen.core.stores.failures import StoreDown

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import SharedEventStore
    from mcp_gen.session.http_server.streams import Stream

__all__ = ["OutboxOwner", "StreamOutbox"]

_log = logging.getLogger("mcp_gen.server")

Stored: TypeAlias = "Awaitable[bool] | None"

MAX_TOGETHER = 100
"""Messages per write; more wait for the next one."""
AGAIN_S = 0.1
"""Seconds before another try where a store fails while it seems to be up."""


class OutboxOwner(Protocol):
    """Streams of a session, as the outbox of one of them uses them."""

    session_id: str

    @property
    def node_id(self) -> str:
        """Id of this node."""
        ...

    async def wait_up(self) -> None:
        """Wait until the stores can be used."""
        ...

    def stored(self, stream: Stream) -> None:
        """Handle that the store has more messages of a stream, or its end."""
        ...

    def refused(self, stream: Stream, unsent: list[bytes]) -> None:
        """Handle that others have ended a stream, or go on with it."""
        ...


class _Entry(Struct):
    """Message to store, and the event to send once it is stored.

    Args:
        number: Number of the message; 0 for none.
        message: The message; None for none.
        event: The event to send.
        is_last: True for the end of the stream.
        closes: True to close the response that carries the stream.
    """

    number: int
    message: bytes | None
    event: bytes
    is_last: bool = False
    closes: bool = False


class StreamOutbox:
    """Stores and sends the messages of one stream.

    All that is there when the store is free goes to it in one write: the beginning, the messages
    and the end of a short stream. Where the store cannot be reached, the stream stays open: what
    was to be stored is stored again when it can be, unless the store has it already.

    Args:
        store: Store of the events.
        owner: Streams of the session.
        stream: The stream.
        first: First event, which is sent when all nodes can know the stream.
    """

    __slots__ = (
        "_first",
        "_is_due",
        "_loop",
        "_owner",
        "_queue",
        "_store",
        "_stream",
        "_together",
        "_writing",
        "acknowledged",
        "is_over",
    )

    def __init__(
        self, store: SharedEventStore, owner: OutboxOwner, stream: Stream, first: bytes
    ) -> None:
        self._store = store
        self._owner = owner
        self._stream = stream
        self._first: bytes | None = first
        """The first event, until the stream has begun."""
        self._queue: list[_Entry] = []
        self.acknowledged = stream.said
        """Number of the last message that is stored."""
        self.is_over = False
        self._loop = asyncio.get_running_loop()
        self._together: list[_Entry] = []
        """Entries of the write that the store has not acknowledged."""
        self._writing: asyncio.Future[bool] | None = None
        """The write that the store has not acknowledged."""
        self._is_due = False
        """True if a write begins in the next turn of the loop, with all that is there by then."""
        self._write_soon()

    def write_now(self) -> asyncio.Future[bool] | None:
        """Return the write that the store has not acknowledged; None if there is nothing."""
        if self._is_due:
            self._begin_write()
        return self._writing

    def put(self, number: int, message: bytes, event: bytes) -> None:
        """Store a message, then send it."""
        self._add(_Entry(number, message, event))

    def end(self, number: int, message: bytes | None, event: bytes) -> None:
        """Store the end of the stream and its last message, if it has one, then send them."""
        self._add(_Entry(number, message, event, is_last=True))

    def close(self, hint: bytes) -> None:
        """Close the response that carries the stream, after what comes before."""
        self._add(_Entry(0, None, hint, closes=True))

    def _add(self, entry: _Entry) -> None:
        if self.is_over:
            return
        self._queue.append(entry)
        if self._writing is None and not self._is_due:
            self._write_soon()

    # Callbacks, and no task: there is one write for each message of each client.

    def _write_soon(self) -> None:
        self._is_due = True
        self._loop.call_soon(self._begin_write)

    def _begin_write(self) -> None:
        if not self._is_due or self._writing is not None:
            return
        self._is_due = False
        try:
            while self._queue or self._first is not None:
                together = self._together = self._queue[:MAX_TOGETHER]
                stored = self._write(together)
                if stored is not None:
                    self._wait_for(stored)
                    return
                self._sent()
        except Exception as error:
            self._fail(error)

    def _wait_for(self, stored: Awaitable[bool]) -> None:
        future = stored if isinstance(stored, asyncio.Future) else asyncio.ensure_future(stored)
        future.add_done_callback(self._on_stored)
        self._writing = future

    def _on_stored(self, stored: asyncio.Future[bool]) -> None:
        self._writing = None
        if stored.cancelled():
            return
        error = stored.exception()
        if isinstance(error, StoreDown):
            self._wait_for(self._is_accepted_again(self._together))
        elif error is not None:
            self._fail(error)
        elif not stored.result():
            self._refused()
        else:
            try:
                self._sent()
            except Exception as failure:
                self._fail(failure)
                return
            if self._queue:
                self._is_due = True
                self._begin_write()

    def _fail(self, error: BaseException) -> None:
        _log.error("a stream could not be stored: it ends", exc_info=error)
        self._refused()

    def _write(self, together: list[_Entry]) -> Stored:
        messages: list[StoredEvent] = []
        beginning, is_end = None, False
        if self._first is not None:
            beginning = StreamBeginning(self._owner.node_id, self._stream.asked)
        for entry in together:
            if entry.message is not None:
                messages.append(StoredEvent(entry.number, entry.message))
            if entry.is_last:
                is_end = True
        if not messages and beginning is None and not is_end:
            return None
        return self._store.write(
            self._owner.session_id, self._stream.name, messages, beginning, is_end=is_end
        )

    async def _is_accepted_again(self, together: list[_Entry]) -> bool:
        """Store once more what may have been stored; return False if the store refuses it."""
        while True:
            await self._owner.wait_up()
            try:
                if await self._is_stored(together):
                    return True
                stored = self._write(together)
                return stored is None or await stored or await self._is_stored(together)
            except StoreDown:
                await asyncio.sleep(AGAIN_S)

    async def _is_stored(self, together: list[_Entry]) -> bool:
        """Return True if the store has what was written in one step."""
        session, name = self._owner.session_id, self._stream.name
        for entry in reversed(together):
            if entry.message is not None:
                found = await self._store.after(session, name, entry.number - 1)
                return False if not found else found[0] == (entry.number, entry.message)
        status = await self._store.status(session, name)
        if status is None:
            return False
        is_end = any(entry.is_last for entry in together)
        return status.is_over if is_end else status.node == self._owner.node_id

    def _sent(self) -> None:
        """Send what is stored now."""
        stream, together = self._stream, self._together
        del self._queue[: len(together)]
        events, self._first = self._first or b"", None
        for entry in together:
            events += entry.event
            if entry.message is not None:
                self.acknowledged = entry.number
            if entry.closes and stream.reply is not None:
                reply, stream.reply = stream.reply, None
                if events:
                    reply.send(events)
                reply.end()
            self.is_over = self.is_over or entry.is_last
        if events and stream.reply is not None:
            stream.reply.send(events)
        if self.is_over:
            stream.finish()
        self._owner.stored(stream)

    def _refused(self) -> None:
        unsent = [entry.message for entry in self._queue if entry.message is not None]
        self._queue.clear()
        self._first = None
        self.is_over = True
        self._stream.finish()
        self._owner.refused(self._stream, unsent)
