"""Clients of the reference server over HTTP: a server, a transcript and streams each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.transcript import Transcript

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.http.streams import EventStream
    from mcp_gen.compat.reference.server import ReferenceServer

__all__ = ["ReferenceSession"]


class ReferenceSession:
    """One client, or all of them where the revision has no sessions.

    Args:
        id: Id of the session; empty without sessions.
        server: The server that answers it.
    """

    def __init__(self, id: str, server: ReferenceServer) -> None:
        self.id = id
        self.server = server
        self.transcript = Transcript(server.profile.revision, "http")
        self.is_over = False
        self.streams: list[EventStream] = []
        """Every stream, the first one first."""
        self.listening: list[EventStream] = []
        """Streams for what belongs to no request."""
        self.held: list[Json] = []
        """Messages that belong to no request, and came before there was a stream for them."""

    async def end(self) -> None:
        """End everything: the client is gone."""
        self.is_over = True
        for stream in self.streams:
            stream.end()
        await self.server.aclose()
