"""Transport to the server that can be spliced to a client's: its messages pass undecoded then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.errors import SessionLost
from mcp_gen.core.loose_json import NOTHING
from mcp_gen.core.transport.protocols import Paced, Pausable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.protocols import Duplex, Receiver

__all__ = ["UpstreamTap", "copier"]


class _RequestHead(Struct):
    id: int | str | None = None
    method: str | None = None


class _ResponseHead(Struct):
    id: int | str | None = None
    method: str | None = None
    result: Raw = NOTHING
    error: Raw = NOTHING


_request = msgspec.json.Decoder(_RequestHead)
_response = msgspec.json.Decoder(_ResponseHead)


class UpstreamTap:
    """Transport to the server. One handshake of a client can be sent over it as it came.

    If the server agrees to the client's revision, the messages of both sides are then copied. If it
    does not, a session of this bridge goes on with the handshake that was answered.

    Args:
        transport: The transport itself; not started yet.
    """

    def __init__(self, transport: Duplex) -> None:
        self._transport = transport
        self._receiver: Receiver | None = None
        self._started = False
        self._answer: asyncio.Future[bytes] | None = None
        """Response to the client's handshake, while it is awaited."""
        self._id: RequestId | None = None
        self._recorded: bytes | None = None
        """Response to the client's handshake, for a session of this bridge to begin with."""
        self._early: list[bytes] = []
        """Messages that came before there was a receiver for them."""
        self._deliver: Callable[[bytes], None] | None = None
        self._closed_with: tuple[BaseException | None] | None = None
        self._closes: Callable[[BaseException | None], None] | None = None

    # --- the client's own handshake ---

    async def ask(self, message: bytes, id: RequestId) -> bytes:
        """Send the handshake of a client as it is, and return the response as it is.

        Raises:
            SessionLost: The server ended.
            TransportError: The server cannot be reached.
        """
        self._answer, self._id = asyncio.get_running_loop().create_future(), id
        await self._start()
        self._transport.send(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    def record(self, answer: bytes) -> None:
        """Begin the session of this bridge with this response to its handshake."""
        self._recorded = answer

    def splice(
        self,
        deliver: Callable[[bytes], None],
        closes: Callable[[BaseException | None], None],
    ) -> None:
        """Deliver all messages undecoded from now on, and the end of the connection."""
        self._deliver, self._closes = deliver, closes
        early, self._early = self._early, []
        for message in early:
            deliver(message)
        if self._closed_with is not None:
            closes(*self._closed_with)

    # --- Receiver ---

    def receive(self, message: bytes) -> None:
        """Handle one message of the server."""
        if self._deliver is not None:
            self._deliver(message)
        elif self._answer is not None and not self._answer.done() and self._is_answer(message):
            self._answer.set_result(message)
        elif self._receiver is not None and self._recorded is None:
            self._receiver.receive(message)
        else:
            self._early.append(message)

    def _is_answer(self, message: bytes) -> bool:
        try:
            found = _response.decode(message)
        except msgspec.DecodeError:
            return False
        return found.method is None and (found.id == self._id or found.id is None)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Handle a message that is too long to be read."""
        if self._receiver is not None:
            return self._receiver.oversized(limit_bytes, beginning, end)
        return None

    def closed(self, error: BaseException | None) -> None:
        """Handle the end of the connection."""
        self._closed_with = (error,)
        if self._answer is not None and not self._answer.done():
            why = f": {error}" if error else ""
            self._answer.set_exception(SessionLost(f"the server hung up{why}"))
        if self._closes is not None:
            self._closes(error)
        elif self._receiver is not None:
            self._receiver.closed(error)

    # --- Duplex ---

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            await self._transport.start(self)

    async def start(self, receiver: Receiver) -> None:
        """Start delivering messages."""
        self._receiver = receiver
        await self._start()
        if self._closed_with is not None:
            receiver.closed(*self._closed_with)

    def send(self, message: bytes) -> None:
        """Send a message; the recorded response answers the handshake of this bridge."""
        if self._recorded is None:
            self._transport.send(message)
            return
        asked = _request.decode(message)
        answer, self._recorded = _response.decode(self._recorded), None
        asyncio.get_running_loop().call_soon(self._replay, asked.id, answer)

    def _replay(self, id: RequestId | None, answer: _ResponseHead) -> None:
        receiver = self._receiver
        if receiver is None:
            return
        outcome = ("error", answer.error) if answer.error else ("result", answer.result)
        receiver.receive(msgspec.json.encode(dict([("jsonrpc", "2.0"), ("id", id), outcome])))
        early, self._early = self._early, []
        for message in early:
            receiver.receive(message)

    async def drain(self) -> None:
        """Wait until the server has read enough for more to be sent (back-pressure)."""
        await self._transport.drain()

    @property
    def full(self) -> bool:
        """True if the server reads so slowly that notifications should wait."""
        return isinstance(self._transport, Paced) and self._transport.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the server has read enough for more to be sent."""
        if isinstance(self._transport, Paced):
            self._transport.call_when_writable(act)

    @property
    def inner(self) -> Duplex:
        """The transport itself."""
        return self._transport

    async def aclose(self) -> None:
        """Send the queued messages, then close."""
        await self._transport.aclose()


def copier(source: Duplex, target: Duplex) -> Callable[[bytes], None]:
    """Return a function that sends messages of one transport over the other.

    While the reader of the target is slow, nothing is read from the source.
    """
    send = target.send
    # Asked once: protocols are slow to check.
    if not (isinstance(source, Pausable) and isinstance(target, Paced)):
        return send
    pausable, paced = source, target

    def copy(message: bytes) -> None:
        send(message)
        if paced.full:
            pausable.pause_reading()
            paced.call_when_writable(pausable.resume_reading)

    return copy
