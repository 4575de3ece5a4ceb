"""Reference server over a duplex transport: a pipe, memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.transcript import Transcript, cut_at

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.reference.server import ReferenceServer
    from mcp_gen.compat.transcript import Transport
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["DuplexServing"]


class DuplexServing:
    """A server with its client on one duplex transport, and the transcript of it.

    Args:
        server: The server.
        transport: What carries the messages, for the transcript.
    """

    def __init__(self, server: ReferenceServer, transport: Transport = "memory") -> None:
        self.server = server
        self.transcript = Transcript(server.profile.revision, transport)
        self._transport: Duplex
        self._ended = asyncio.Event()
        self.has_left = False
        """True if the server has ended the connection."""

    async def serve(self, transport: Duplex) -> None:
        """Serve the client until it disconnects."""
        self._transport = transport
        self.server.note = self._note
        self.server.note_closing = self._note_closing
        self.server.leave = self._leave
        self.server.connected(self._send)
        await transport.start(self)
        await self._ended.wait()
        await self.server.aclose()
        await transport.aclose()

    def _send(self, frame: Any) -> None:
        data = msgspec.json.encode(frame)
        self.transcript.add("server", "message", data)
        self._transport.send(data)

    def _note(self, about: str) -> None:
        self.transcript.add("client", "request", about=about)

    def _note_closing(self, sender: Sender, about: str) -> None:
        self.transcript.add(sender, "closed", about=about)

    def _leave(self) -> None:
        self.has_left = True
        self._note_closing("server", "the server ended")
        self._ended.set()

    # --- receiver of the transport ---

    def receive(self, message: bytes) -> None:
        """Pass a message to the server."""
        self.transcript.add("client", "message", message)
        self.server.receive(message, self._send)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool:
        """Write down the beginning of a message that is too large."""
        self.transcript.add("client", "message", beginning, about=cut_at(limit_bytes))
        return False

    def closed(self, error: BaseException | None) -> None:
        """End the serving."""
        if not self.has_left:
            self._note_closing("client", str(error) if error else "")
            self._ended.set()
