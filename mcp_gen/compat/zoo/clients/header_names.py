"""Clients that see the names of response headers as they are sent: one minds their case."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.zoo.zoo import breaks, keeps
from mcp_gen.core.errors import SessionLost
from mcp_gen.transports.http_client.pool import origin_of

if TYPE_CHECKING:
    from mcp_gen.compat.wire.wire import Wire
    from mcp_gen.core.transport.protocols import Lines
    from mcp_gen.transports.http_client.pool import Response

CHUNK_BYTES = 65_536
_CODES = re.compile(rb"HTTP/1\.1 (\d+)")


class _RawResponse:
    """Response of a connection of its own; see `Response`."""

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers
        self._reader = reader
        self._writer = writer

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        names = {name.lower(): value for name, value in self.headers.items()}
        if names.get("transfer-encoding") != "chunked":
            while data := await self._reader.read(CHUNK_BYTES):
                yield data
            return
        try:
            while size := int(await self._reader.readline(), 16):
                yield await self._reader.readexactly(size)
                await self._reader.readline()
        except (ValueError, asyncio.IncompleteReadError):
            raise SessionLost("the server hung up") from None

    async def aclose(self) -> None:
        self._writer.close()


class _RawRequests:
    """Sends each request on a connection of its own; see `Requests`.

    Args:
        read_name: Returns the name under which a response header is kept.
    """

    def __init__(self, read_name: Callable[[str], str]) -> None:
        self._read_name = read_name

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        _, host, port = origin_of(url)
        reader, writer = await asyncio.open_connection(host, port)
        path = "/" + url.split("/", 3)[3]
        lines = [f"{method} {path} HTTP/1.1".encode(), f"host: {host}:{port}".encode()]
        lines += [b"%b: %b" % line for line in headers]
        lines += [b"connection: close", b"content-length: %d" % len(body or b"")]
        writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + (body or b""))
        found = _CODES.match(await reader.readline())
        if found is None:
            raise SessionLost("the server hung up")
        kept: dict[str, str] = {}
        while line := (await reader.readline()).decode("latin-1").strip():
            name, _, value = line.partition(":")
            kept[self._read_name(name)] = value.strip()
        return _RawResponse(int(found[1]), kept, reader, writer)

    async def aclose(self) -> None:
        """Do nothing: no connection is kept."""


class _ReadsHeadersItself(ClientScript, ABC):
    """Reads the heads of responses itself."""

    @abstractmethod
    def read_name(self, name: str) -> str:
        """Return the name under which a response header is kept."""

    def use_wire(self, wire: Wire) -> None:
        super().use_wire(wire)
        if self.http is not None:
            self.http.requests = _RawRequests(self.read_name)


@breaks("http:client:headers:case")
class MindsTheCase(_ReadsHeadersItself):
    """Knows headers by their names in small letters alone."""

    def read_name(self, name: str) -> str:
        return name


@keeps("http:client:headers:case")
class ReadsInCapitals(_ReadsHeadersItself):
    """Turns all names into capitals before it compares them, and then into small letters."""

    def read_name(self, name: str) -> str:
        return name.upper().lower()
