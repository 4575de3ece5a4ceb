"""TCP/TLS backend of httpcore2 with little overhead: one write per request, no timers."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore2

from mcp_gen.core.errors import TransportError

__all__ = ["SocketBackend", "SocketStream"]

WRITE_AT_ONCE_BYTES = 64 * 1024
"""Bytes of a request that are buffered before they are written."""
READ_AHEAD_BYTES = 256 * 1024
"""Bytes of a response that are buffered before reading pauses (back-pressure)."""

MAX_INTERIM_RESPONSES = 100
"""Interim responses (1xx) before an answer. httpcore2 reads all that have arrived in one turn."""
_STATUS_LINE = re.compile(rb"\nHTTP/1\.[01] ([0-9])")
_SUCCESS = b"HTTP/1.1 2"
_STATUS_CUT = 10
"""Bytes of a status line, with the line break before it, that are too few to see its kind."""


class SocketBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections for httpcore2. Only the connect and TLS timeouts are applied."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> SocketStream:
        """Connect to whichever address of the host accepts.

        Raises:
            httpcore2.ConnectError: No address accepts.
            httpcore2.ConnectTimeout: No connection in `timeout` seconds.
        """
        loop = asyncio.get_running_loop()
        local = (local_address, 0) if local_address else None
        try:
            async with asyncio.timeout(timeout):
                _, protocol = await loop.create_connection(
                    _SocketProtocol, host, port, local_addr=local
                )
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"no connection in {timeout:g} s") from None
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from error
        return SocketStream(protocol)


class SocketStream(httpcore2.AsyncNetworkStream):
    """Stream of one connection. Written data is sent when httpcore2 begins to read."""

    def __init__(self, protocol: _SocketProtocol) -> None:
        self._protocol = protocol
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._cut: bytes | None = None
        """The last bytes before an answer; None once its head has begun."""
        self._interim_responses = 0

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> bytes:
        """Return the received data, at least one byte; empty at the end of the stream.

        Raises:
            TransportError: The server sends more than 100 interim responses before its answer.
        """
        if self._unsent:
            self._flush()
            self._cut, self._interim_responses = b"\n", 0
        protocol = self._protocol
        if not protocol.received and not protocol.ended:
            protocol.reader = asyncio.get_running_loop().create_future()
            await protocol.reader
        received = protocol.received
        if not received and protocol.error is not None:
            raise httpcore2.ReadError(str(protocol.error)) from protocol.error
        data = received[0] if len(received) == 1 else b"".join(received)
        received.clear()
        protocol.received_bytes = 0
        if protocol.is_paused:
            protocol.is_paused = False
            protocol.transport.resume_reading()
        if self._cut is not None:
            if self._cut == b"\n" and data.startswith(_SUCCESS):
                self._cut = None
            else:
                self._count_interim_responses(self._cut + data)
        return data

    def _count_interim_responses(self, data: bytes) -> None:
        for found in _STATUS_LINE.finditer(data):
            if found[1] != b"1":
                self._cut = None
                return
            self._interim_responses += 1
            if self._interim_responses > MAX_INTERIM_RESPONSES:
                raise TransportError(
                    f"the server sends more than {MAX_INTERIM_RESPONSES} interim responses (1xx) "
                    "before its answer"
                )
        self._cut = data[-_STATUS_CUT:]

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> None:
        """Buffer the data; send the buffer once it is large."""
        self._unsent.append(buffer)
        self._unsent_bytes += len(buffer)
        if self._unsent_bytes > WRITE_AT_ONCE_BYTES:
            self._flush()
            await self._protocol.writable()

    def _flush(self) -> None:
        # The server may respond and disconnect before it has received the whole request.
        if not self._protocol.closed.is_set():
            self._protocol.transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0

    async def aclose(self) -> None:
        """Close the connection at once. No data worth waiting for is left to send."""
        self._protocol.transport.abort()
        await self._protocol.closed.wait()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> httpcore2.AsyncNetworkStream:
        """Encrypt the connection and return this stream.

        Raises:
            httpcore2.ConnectError: The TLS handshake failed.
            httpcore2.ConnectTimeout: The TLS handshake took more than `timeout` seconds.
        """
        loop, protocol = asyncio.get_running_loop(), self._protocol
        if self._unsent:
            self._flush()
        transport: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    protocol.transport, protocol, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"no encryption in {timeout:g} s") from None
        except OSError as error:  # the base class of all TLS errors
            raise httpcore2.ConnectError(str(error)) from error
        finally:
            if transport is None:
                protocol.transport.abort()
                # asyncio tells the protocol of the handshake alone.
                protocol.connection_lost(None)
        if transport is None:
            raise httpcore2.ConnectError("the server hung up")
        protocol.transport = transport
        return self

    @property
    def is_readable(self) -> bool:
        """True if the connection has received data or has ended."""
        return bool(self._protocol.received) or self._protocol.ended

    def get_extra_info(self, info: str) -> Any:
        """Return connection details that httpcore2 asks for.

        `is_readable` tells if an idle connection has received data or has ended; `ssl_object` is
        the TLS object.
        """
        if info == "is_readable":
            return self.is_readable
        return self._protocol.transport.get_extra_info(info)


class _SocketProtocol(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.closed = asyncio.Event()
        self.received: list[bytes] = []
        self.received_bytes = 0
        self.ended = False
        self.error: Exception | None = None
        self.is_paused = False
        self.reader: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    async def writable(self) -> None:
        await self._writable.wait()
        if self.ended and self.error is not None:
            raise httpcore2.WriteError(str(self.error)) from self.error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.received.append(data)
        self.received_bytes += len(data)
        if self.received_bytes > READ_AHEAD_BYTES and not self.is_paused:
            self.is_paused = True
            self.transport.pause_reading()
        reader = self.reader
        if reader is not None and not reader.done():
            reader.set_result(None)

    def eof_received(self) -> None:
        self.ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self.error = self.error or exc
        self.is_paused = False
        self.closed.set()
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self) -> None:
        if self.reader is not None and not self.reader.done():
            self.reader.set_result(None)
