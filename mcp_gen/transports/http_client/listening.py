"""SSE parsing, and streams that are resumed where they break off.

Source:
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from mcp_gen.core.errors import SessionLost, TransportError
from mcp_gen.core.transport.sse import Event, EventReader, Place
from mcp_gen.transports.http_client.endpoint import media_type

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines, PostedRequest
    from mcp_gen.transports.http_client.endpoint import HttpEndpoint
    from mcp_gen.transports.http_client.pool import Response

__all__ = ["EVENTS", "EventListener", "events_of"]

EVENTS = "text/event-stream"
RETRY_MS = 1000
"""How long to wait before a stream is opened again, where the server does not say."""
REST_TIMEOUT_S = 5.0
"""How long a stream may stay open behind the answer that it was opened for."""
MAX_VAIN_RESUMES = 5
LONGEST_WAIT_S = 30.0

_log = logging.getLogger("mcp_gen.client")


class EventListener:
    """Reads the streams of one server. `headers` gives those that every GET has."""

    def __init__(
        self,
        endpoint: HttpEndpoint,
        max_message_bytes: int,
        deliver: Callable[[bytes], None],
        headers: Callable[[], Lines],
    ) -> None:
        self._endpoint = endpoint
        self._max = max_message_bytes
        self._deliver = deliver
        self._headers = headers

    async def follow(self, response: Response, asked: PostedRequest, *, resumes: bool) -> None:
        """Read the stream of a request; with `resumes`, go on behind what came if it breaks off.

        Raises:
            SessionLost: it ended, and the answer cannot be had.
            TransportError: an event is too long.
        """
        place = Place()
        vain = 0
        while True:
            seen = place.events
            try:
                await self._read(response, place, asked)
                lost = SessionLost("the stream ended before the answer came")
            except SessionLost as error:
                lost = error
            if asked.finished:
                return
            if not resumes or not place.id:
                raise lost
            vain = 0 if place.events > seen else vain + 1
            response = await self._resumed(place, lost, vain)

    async def listen(self, opened: asyncio.Event) -> None:
        """Hear what belongs to no request, for as long as the server has a stream for it.

        `opened` is set once the stream is open, or could not be opened at first.
        """
        try:
            await self._keep_listening(Place(), opened)
        finally:
            opened.set()

    async def _read(self, response: Response, place: Place, asked: PostedRequest) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as rest:
                async with aclosing(events_of(response, place, self._max)) as events:
                    async for event in events:
                        self._take(event)
                        if asked.finished and rest.when() is None:
                            # A stream that is read to its end leaves a connection to be used again.
                            rest.reschedule(loop.time() + REST_TIMEOUT_S)
        except (TimeoutError, TransportError):
            if not asked.finished:
                raise
        finally:
            await response.aclose()

    async def _resumed(self, place: Place, lost: SessionLost, vain: int) -> Response:
        """The rest of a stream.

        Raises:
            SessionLost: `lost`, where the rest cannot be had.
        """
        while vain < MAX_VAIN_RESUMES:
            await asyncio.sleep(_wait_s(place, vain))
            try:
                response = await self._get(place)
            except TransportError:
                vain += 1
                continue
            if response.status == 200 and media_type(response) == EVENTS:
                return response
            await response.aclose()
            if response.status < 500:
                break
            vain += 1
        raise lost

    async def _keep_listening(self, place: Place, opened: asyncio.Event) -> None:
        vain = 0
        while True:
            seen = place.events
            try:
                if not await self._listen_once(place, opened):
                    return
            except TransportError as error:
                _log.debug("the stream for notifications ended: %s", error)
            except Exception:
                _log.exception("the stream for notifications ended")
                return
            opened.set()
            vain = 0 if place.events > seen else vain + 1
            await asyncio.sleep(_wait_s(place, vain))

    async def _listen_once(self, place: Place, opened: asyncio.Event) -> bool:
        """Read one stream to its end; False if there is none to be had."""
        response = await self._get(place)
        opened.set()
        try:
            if response.status >= 500:
                return True
            if response.status != 200 or media_type(response) != EVENTS:
                # It has none, or the session is over, which the next request finds out: 405 says
                # one and 404 the other, but some say either for both.
                return False
            async with aclosing(events_of(response, place, self._max)) as events:
                async for event in events:
                    self._take(event)
        finally:
            await response.aclose()
        return True

    async def _get(self, place: Place) -> Response:
        headers = [(b"accept", EVENTS.encode()), *self._headers()]
        if place.id:
            headers.append((b"last-event-id", place.id))
        return await self._endpoint.send("GET", headers)

    def _take(self, event: Event) -> None:
        # Other kinds of events are none of this protocol's.
        if event.name == "message":
            self._deliver(event.data)


def _wait_s(place: Place, vain: int) -> float:
    """How long to wait before a stream is opened again: as the server says, longer if in vain."""
    asked_for = RETRY_MS if place.retry_ms is None else place.retry_ms
    if not vain:
        return asked_for / 1000
    return max(asked_for / 1000, min(0.1 * 2.0**vain, LONGEST_WAIT_S))


async def events_of(
    response: Response, place: Place, limit_bytes: int
) -> AsyncGenerator[Event, None]:
    """Yield the events that have data; `place` records the last one.

    Raises:
        TransportError: an event is longer than `limit_bytes`.
        SessionLost: the stream broke off.
    """
    reader = EventReader(limit_bytes)
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            for event in reader.feed(chunk, place):
                yield event
