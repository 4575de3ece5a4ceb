"""TCP and TLS for httpcore2, without what a general one costs: one write per request, no timers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore2

__all__ = ["SocketBackend"]

WRITE_AT_ONCE_BYTES = 64 * 1024
READ_AHEAD_BYTES = 256 * 1024


class SocketBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections. Of timeouts it keeps that of connecting: others are the caller's."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect, to whichever address of the host answers.

        Raises:
            httpcore2.ConnectError, httpcore2.ConnectTimeout: nobody answers, or not in time.
        """
        loop = asyncio.get_running_loop()
        local = (local_address, 0) if local_address else None
        try:
            async with asyncio.timeout(timeout):
                _, wire = await loop.create_connection(_Wire, host, port, local_addr=local)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"no connection in {timeout:g} s") from None
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from error
        return _SocketStream(wire)


class _SocketStream(httpcore2.AsyncNetworkStream):
    """What httpcore2 reads from and writes to. What it writes goes out when it begins to read."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> bytes:
        """What has come, once something has; nothing at the end."""
        if self._unsent:
            self._flush()
        return await self._wire.read()

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> None:
        """Queue, or send where it is much."""
        self._unsent.append(buffer)
        self._unsent_bytes += len(buffer)
        if self._unsent_bytes > WRITE_AT_ONCE_BYTES:
            self._flush()
            await self._wire.writable()

    def _flush(self) -> None:
        # A server may have answered and gone before it was sent everything.
        if not self._wire.gone.is_set():
            self._wire.transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0

    async def aclose(self) -> None:
        """Close, at once: nothing that is worth to be waited for is ever unsent."""
        self._wire.transport.abort()
        await self._wire.gone.wait()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> httpcore2.AsyncNetworkStream:
        """The same connection, encrypted.

        Raises:
            httpcore2.ConnectError, httpcore2.ConnectTimeout: it cannot be, or not in time.
        """
        loop, wire = asyncio.get_running_loop(), self._wire
        if self._unsent:
            self._flush()
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    wire.transport, wire, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError:
            wire.transport.abort()
            raise httpcore2.ConnectTimeout(f"no encryption in {timeout:g} s") from None
        except OSError as error:  # all errors of TLS are
            wire.transport.abort()
            raise httpcore2.ConnectError(str(error)) from error
        if transport is None:
            raise httpcore2.ConnectError("the server hung up")
        wire.transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        """What httpcore2 asks for: the TLS object, and whether an idle connection is at its end."""
        if info == "is_readable":
            return self._wire.has_news
        return self._wire.transport.get_extra_info(info)


class _Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.gone = asyncio.Event()
        self._came: list[bytes] = []
        self._came_bytes = 0
        self._ended = False
        self._error: Exception | None = None
        self._paused = False
        self._reader: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def has_news(self) -> bool:
        return bool(self._came) or self._ended

    async def read(self) -> bytes:
        if not self._came and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        came = self._came
        if not came and self._error is not None:
            raise httpcore2.ReadError(str(self._error)) from self._error
        data = came[0] if len(came) == 1 else b"".join(came)
        came.clear()
        self._came_bytes = 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return data

    async def writable(self) -> None:
        await self._writable.wait()
        if self._ended and self._error is not None:
            raise httpcore2.WriteError(str(self._error)) from self._error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._came.append(data)
        self._came_bytes += len(data)
        if self._came_bytes > READ_AHEAD_BYTES and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = self._error or exc
        self._paused = False
        self.gone.set()
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
