"""Connections to addresses that were checked: one resolution, then its addresses alone."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import httpcore2

from mcp_gen.auth.fetching.addresses import AddressClass, address_class
from mcp_gen.core.errors import TransportError

__all__ = ["CheckedBackend", "Resolver", "resolve", "sockets"]

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host and port, in the order in which to try them."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, as the operating system resolves it.

    Args:
        host: The host.
        port: The port.

    Raises:
        OSError: It has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def sockets() -> httpcore2.AsyncNetworkBackend:
    """Return what opens connections with the sockets of the operating system."""
    # Pyright sees the class that stands in for it where anyio is missing.
    return cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens one connection, to given addresses whatever host httpcore2 asks for.

    Args:
        network: Opens connections.
        addresses: The addresses, already checked; None for the host that is asked for.

    Attributes:
        address: The address that the connection goes to; None before.
    """

    def __init__(
        self, network: httpcore2.AsyncNetworkBackend, addresses: Sequence[str] | None
    ) -> None:
        self._network = network
        self._addresses = addresses
        self._left_bytes = 0
        self._stream: CountedStream | None = None
        self.address: str | None = None

    @property
    def reached(self) -> AddressClass | None:
        """The class of the address that the connection goes to; None before."""
        return None if self.address is None else address_class(self.address)

    def allow(self, received_bytes: int) -> None:
        """Allow the next response.

        Args:
            received_bytes: Maximum number of bytes that are received.
        """
        self._left_bytes = received_bytes
        if self._stream is not None:
            self._stream.left_bytes = received_bytes

    async def aclose(self) -> None:
        """Close the connection, also where it was not encrypted in time."""
        if self._stream is not None:
            await self._stream.aclose()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that accepts.

        Each address has an equal share of the time: one that swallows packets hinders none.

        Raises:
            httpcore2.ConnectError: No address accepts.
            httpcore2.ConnectTimeout: No connection in `timeout` seconds.
        """
        if self._addresses is None:
            opened = await self._network.connect_tcp(host, port, timeout)
            return self._counted(opened)
        share = None if timeout is None else timeout / len(self._addresses)
        error: Exception | None = None
        for address in self._addresses:
            try:
                opened = await self._network.connect_tcp(address, port, share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failure:
                error = failure
            else:
                self.address = address
                return self._counted(opened)
        raise error or httpcore2.ConnectError("the host has no address")

    def _counted(self, opened: httpcore2.AsyncNetworkStream) -> CountedStream:
        self._stream = CountedStream(opened, self._left_bytes)
        return self._stream


class CountedStream(httpcore2.AsyncNetworkStream):
    """Bounds the number of bytes that are received.

    Args:
        stream: The connection.
        left_bytes: How many bytes may come.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream, left_bytes: int) -> None:
        self._stream = stream
        self.left_bytes = left_bytes

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> bytes:
        """Return received data; empty at the end.

        Raises:
            TransportError: There is more than may come.
        """
        data = await self._stream.read(max_bytes, timeout)
        self.left_bytes -= len(data)
        if self.left_bytes < 0:
            raise TransportError(
                "the response has more bytes than max_header_bytes and max_body_bytes allow"
            )
        return data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> None:
        """Send data."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2 says so
    ) -> httpcore2.AsyncNetworkStream:
        """Encrypt the connection and return this stream."""
        self._stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return connection details that httpcore2 asks for."""
        return self._stream.get_extra_info(info)
