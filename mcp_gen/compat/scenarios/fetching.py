"""Listener for HTTP requests of clients that are not to make any."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["FetchListener", "fetches"]


class FetchListener:
    """HTTP listener of this machine that has nothing, and tells of each request.

    Args:
        fetched: Called with the first line of each request.
    """

    def __init__(self, fetched: Callable[[str], None]) -> None:
        self._tell = fetched
        self._starting: asyncio.Task[asyncio.Server] | None = None
        self.url = "http://127.0.0.1"
        """Its URL, once it listens."""

    async def start(self) -> None:
        """Begin to listen, if it does not yet."""
        if self._starting is None:
            starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
            self._starting = asyncio.get_running_loop().create_task(starting)
        # A client that leaves now cancels its request: a start that ended so would leave a socket.
        server = await asyncio.shield(self._starting)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def aclose(self) -> None:
        """Stop listening."""
        if self._starting is not None:
            (await self._starting).close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        self._tell(line.decode("ascii", "replace").strip())
        with contextlib.suppress(OSError):
            writer.write(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
            await writer.drain()
        writer.close()


def fetches(run: ClientRun) -> list[WireEvent]:
    """Return what was noted of such requests in a run."""
    return [
        event
        for transcript in run.transcripts
        for event in transcript.events
        if event.kind == "request" and not event.exchange
    ]
