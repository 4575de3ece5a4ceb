"""Transport to a server that listens on a Unix socket or a TCP port, opened when it starts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_gen.core.errors import TransportError
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES
from mcp_gen.transports.streams import StreamTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["SocketTransport", "tcp_transport", "unix_transport"]


class SocketTransport:
    """Newline-delimited JSON over a socket that is opened by `start`.

    Args:
        dial: Opens the socket.
        where: The address, for error messages.
        max_message_bytes: Maximum size of a received message, in bytes; larger ones are skipped.
    """

    def __init__(
        self,
        dial: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]],
        where: str,
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    ) -> None:
        self._dial = dial
        self._where = where
        self._max = max_message_bytes
        self._streams: StreamTransport | None = None

    async def start(self, receiver: Receiver) -> None:
        """Open the socket, then start delivering messages.

        Raises:
            TransportError: nobody listens there, or the address cannot be reached.
        """
        try:
            reader, writer = await self._dial()
        except OSError as error:
            why = error.strerror or str(error)
            raise TransportError(f"cannot connect to {self._where}: {why}") from error
        self._streams = StreamTransport(reader, writer, max_message_bytes=self._max)
        await self._streams.start(receiver)

    def send(self, message: bytes) -> None:
        """Queue one message. Messages queued in one turn of the event loop go out in one write."""
        if self._streams is not None:
            self._streams.send(message)

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent (back-pressure)."""
        if self._streams is not None:
            await self._streams.drain()

    @property
    def full(self) -> bool:
        """True if the peer reads so slowly that notifications should wait; see `Paced`."""
        return self._streams is not None and self._streams.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when more can be sent; see `Paced`."""
        if self._streams is not None:
            self._streams.call_when_writable(act)

    async def aclose(self) -> None:
        """Send the queued messages, then close the socket."""
        if self._streams is not None:
            await self._streams.aclose()


def unix_transport(path: str) -> SocketTransport:
    """Return a transport to the server that listens on a Unix socket.

    Args:
        path: Path of the socket.
    """
    return SocketTransport(lambda: asyncio.open_unix_connection(path), f"unix:{path}")


def tcp_transport(host: str, port: int) -> SocketTransport:
    """Return a transport to the server that listens on a TCP port.

    Args:
        host: Name or address of the machine.
        port: The port.
    """
    return SocketTransport(lambda: asyncio.open_connection(host, port), f"tcp:{host}:{port}")
