"""Protocol of a wire: sends what it is told, and writes down all that comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript

__all__ = ["Wire"]


class Wire(Protocol):
    """The client's end of one connection. It knows no MCP: not even which message is a request.

    Attributes:
        transcript: All that came and went. A wire adds every event by itself, also what it sends.
    """

    transcript: Transcript

    async def open(self) -> None:
        """Open the connection.

        Raises:
            TransportError: it cannot be opened.
        """
        ...

    async def send(self, message: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Send bytes in the place of a message; return as soon as they are on their way.

        Args:
            message: The bytes.
            headers: HTTP headers beside those of HTTP itself; without HTTP they are left out.

        Returns:
            The number of the HTTP exchange, in which an answer comes; 0 without HTTP.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection as a client should. A second call does nothing."""
        ...
