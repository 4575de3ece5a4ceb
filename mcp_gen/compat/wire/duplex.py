"""Wire over a duplex transport: a process, memory, a socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_gen.compat.transcript import cut_at

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["DuplexWire"]


class DuplexWire:
    """Wire whose messages go through a duplex transport; see `Wire`.

    Args:
        transport: The transport, not started yet.
        transcript: Takes all that comes and goes.
    """

    def __init__(self, transport: Duplex, transcript: Transcript) -> None:
        self.transcript = transcript
        self._transport = transport
        self._is_closed = False

    async def open(self) -> None:
        """Start the transport."""
        await self._transport.start(self)

    async def send(self, message: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Send one message; there is no HTTP exchange."""
        self.transcript.add("client", "message", message)
        self._transport.send(message)
        await self._transport.drain()
        return 0

    async def aclose(self) -> None:
        """Close the transport."""
        if not self._is_closed:
            self._is_closed = True
            await self._transport.aclose()

    # --- receiver of the transport ---

    def receive(self, message: bytes) -> None:
        """Write down a message."""
        self.transcript.add("server", "message", message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool:
        """Write down the beginning of a message that is too large to be kept."""
        self.transcript.add("server", "message", beginning, about=cut_at(limit_bytes))
        return False

    def closed(self, error: BaseException | None) -> None:
        """Write down the end of the connection."""
        self.transcript.add("server", "closed", about=str(error) if error else "")
