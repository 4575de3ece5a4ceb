"""Relay before an HTTP server of this machine, which spells the names of response headers anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing, suppress
from urllib.parse import urlsplit, urlunsplit

__all__ = ["relayed"]

HOST = "127.0.0.1"
HEAD_END = b"\r\n\r\n"
CHUNK_BYTES = 65_536


@asynccontextmanager
async def relayed(url: str, spelled: Callable[[str], str]) -> AsyncGenerator[str, None]:
    """Relay requests to a server, one per connection, and yield the URL to send them to.

    Args:
        url: The URL of the server.
        spelled: Returns the name of a response header as it is to be sent.
    """
    parts = urlsplit(url)
    relay = _Relay(parts.port or 80, spelled)
    server = await asyncio.start_server(relay.serve, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield urlunsplit(parts._replace(netloc=f"{HOST}:{port}"))
    finally:
        server.close()
        await relay.aclose()


class _Relay:
    """Relay to one port.

    Args:
        port: The port of the server.
        spelled: Returns the name of a response header as it is to be sent.
    """

    def __init__(self, port: int, spelled: Callable[[str], str]) -> None:
        self._port = port
        self._spelled = spelled
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):
            request = _head(await reader.readuntil(HEAD_END))
            to_reader, to_writer = await asyncio.open_connection(HOST, self._port)
            with closing(to_writer):
                # The end of the response is then that of the connection.
                kept = [line for line in request if not line.lower().startswith(b"connection:")]
                to_writer.write(b"\r\n".join([*kept, b"connection: close"]) + HEAD_END)
                sending = asyncio.ensure_future(self._send(reader, to_writer))
                try:
                    await self._answer(to_reader, writer)
                finally:
                    sending.cancel()
                    await asyncio.wait([sending])

    async def aclose(self) -> None:
        """End every connection."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on the body of the request; a client that disconnects disconnects there, too."""
        with suppress(OSError):
            await _pump(reader, writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, *lines = _head(await reader.readuntil(HEAD_END))
        names = [line.partition(b":") for line in lines]
        spelled = [
            b"%b:%b" % (self._spelled(name.decode("ascii")).encode(), value)
            for name, _, value in names
        ]
        writer.write(b"\r\n".join([status, *spelled]) + HEAD_END)
        await _pump(reader, writer)


def _head(read: bytes) -> list[bytes]:
    return read.removesuffix(HEAD_END).split(b"\r\n")


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
