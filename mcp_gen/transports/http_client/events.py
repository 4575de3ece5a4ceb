"""The events of an HTTP answer, as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from mcp_gen.core.transport.sse import Event, EventReader, Place

if TYPE_CHECKING:
    from mcp_gen.transports.http_client.pool import Response

__all__ = ["EVENTS", "events_of"]

EVENTS = "text/event-stream"


async def events_of(
    response: Response, place: Place, limit_bytes: int
) -> AsyncGenerator[Event, None]:
    """The events with data; `place` keeps how far this is.

    Raises:
        TransportError: an event is longer than `limit_bytes`.
        SessionLost: the stream broke off.
    """
    reader = EventReader(limit_bytes)
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            for event in reader.feed(chunk, place):
                yield event
