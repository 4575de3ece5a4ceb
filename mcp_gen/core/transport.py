"""The two shapes of a transport, as types: a duplex moves messages, an exchange answers one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

__all__ = ["Answer", "Duplex", "Exchange", "Receiver"]


class Receiver(Protocol):
    """What a duplex transport hands its messages to. Called on the event loop, never re-entered."""

    def receive(self, message: bytes) -> None:
        """One whole message came."""
        ...

    def oversized(self, limit_bytes: int) -> None:
        """A message was larger than the transport's limit, and has been skipped."""
        ...

    def closed(self, error: BaseException | None) -> None:
        """No message will come any more; `error` says why, None after an orderly end."""
        ...


class Duplex(Protocol):
    """Whole messages both ways: a pipe, a process, a socket, memory."""

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver. Raises TransportError where it cannot."""
        ...

    def send(self, message: bytes) -> None:
        """Queue one message; what is queued in one turn of the loop goes out together."""
        ...

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent."""
        ...

    async def close(self) -> None:
        """Send what is queued, then end. Calling it twice does nothing."""
        ...


class Answer(Struct, frozen=True):
    """An HTTP answer: status, body, and the headers beside its content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Exchange(Protocol):
    """One HTTP POST: a message in, an answer out."""

    async def answer(self, message: bytes, headers: Mapping[str, str]) -> Answer:
        """Answer one message. Header names are lower case."""
        ...

    async def end_session(self, headers: Mapping[str, str]) -> Answer:
        """End the session that the headers name."""
        ...
