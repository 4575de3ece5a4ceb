"""Streams that go on at this node while their former node may still store events of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import SharedEventStore
    from mcp_gen.session.http_server.streams import Stream

__all__ = ["ResumedStreams"]

LEASES_BEHIND = 2
"""Leases after which a former node has heard of a claim or is gone, with all that it has begun."""


class ResumedStreams:
    """Streams of one session for messages of no request, which were resumed here of late.

    Args:
        session_id: The session id.
        store: Store of the events.
        lease_s: Seconds of silence after which a node is lost.
    """

    __slots__ = ("_lease_s", "_session_id", "_store", "_until_s")

    def __init__(self, session_id: str, store: SharedEventStore, lease_s: float) -> None:
        self._session_id = session_id
        self._store = store
        self._lease_s = lease_s
        self._until_s: dict[Stream, float] = {}
        """Event loop time until which a stream is looked at."""

    def __bool__(self) -> bool:
        return bool(self._until_s)

    def add(self, stream: Stream) -> None:
        """Look at a stream from now on: its events up to its last one have been read."""
        now_s = asyncio.get_running_loop().time()
        self._until_s[stream] = now_s + LEASES_BEHIND * self._lease_s

    def discard(self, stream: Stream) -> None:
        """Look at a stream no more: nothing carries it here."""
        self._until_s.pop(stream, None)

    async def look_behind(self) -> None:
        """End streams whose former node has stored an event after this one has read them.

        The client comes back, and gets it.

        Raises:
            StoreDown: The store cannot be reached.
        """
        for stream, until_s in list(self._until_s.items()):
            began_s = asyncio.get_running_loop().time()
            found = await self._store.after(self._session_id, stream.name, stream.said)
            if stream not in self._until_s:
                continue
            if found and found[-1].number > stream.said and not stream.over:
                stream.finish()
            if stream.over or began_s > until_s:
                del self._until_s[stream]
