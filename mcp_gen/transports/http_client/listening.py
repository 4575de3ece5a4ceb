"""SSE parsing, and SSE streams that are resumed after a disconnect.

Source:
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from mcp_gen.core.errors import AuthError, SessionLost, TransportError
from mcp_gen.core.transport.sse import Event, EventReader, StreamPosition
from mcp_gen.transports.http_client.endpoint import CHUNK_LINES, media_type
from mcp_gen.transports.lines import LINES_AT_ONCE

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines, PostedRequest
    from mcp_gen.transports.http_client.endpoint import HttpEndpoint
    from mcp_gen.transports.http_client.pool import Response

__all__ = ["EVENTS", "EventListener", "events_of", "is_response"]

EVENTS = "text/event-stream"
SMALL_BYTES = 1024
"""Bytes of a chunk whose lines are not worth to be counted."""
RETRY_MS = 1000
"""Default delay before a stream is reopened, in milliseconds, if the server sends none."""
REST_TIMEOUT_S = 5.0
"""Seconds that a stream may stay open after the response that it was opened for."""
MAX_VAIN_RESUMES = 5
"""Maximum number of consecutive attempts to resume a stream without a new event."""
LONGEST_WAIT_S = 30.0
"""Maximum of the exponential back-off before a stream is reopened, in seconds."""

_log = logging.getLogger("mcp_gen.client")


class EventListener:
    """Reads the SSE streams of one server and resumes them.

    Args:
        endpoint: The server.
        max_message_bytes: Maximum size of an event, in bytes.
        deliver: Called with each message.
        headers: Returns the headers of each GET.
        wait_for_room: Awaited after each message: returns when another one may be read.
    """

    def __init__(
        self,
        endpoint: HttpEndpoint,
        max_message_bytes: int,
        deliver: Callable[[bytes], None],
        headers: Callable[[], Lines],
        wait_for_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._endpoint = endpoint
        self._max = max_message_bytes
        self._deliver = deliver
        self._headers = headers
        self._wait_for_room = wait_for_room
        self.lost_sessions = 0
        """Number of sessions that the server has ended."""

    async def follow(
        self, response: Response, asked: PostedRequest, *, resumes: bool, lost_sessions: int
    ) -> None:
        """Read the SSE stream of a request until its response has arrived.

        Args:
            response: The response to the POST.
            asked: The sender of the request.
            resumes: True to resume the stream after a disconnect, from the last event id.
            lost_sessions: `lost_sessions` when the request was sent. Once more are lost, only
                responses are delivered: the ids of requests may be used again in the next session.

        Raises:
            SessionLost: The stream ended before the response, and could not be resumed.
            TransportError: An event is too large.
        """
        place = StreamPosition()
        failures = 0
        while True:
            seen = place.events
            try:
                await self._read(response, place, asked, lost_sessions)
                lost = SessionLost("the stream ended before the answer came")
            except SessionLost as error:
                lost = error
            if asked.finished:
                return
            if not resumes or not place.id:
                raise lost
            failures = 0 if place.events > seen else failures + 1
            response = await self._resume(place, lost, failures)

    async def listen(self, opened: asyncio.Event) -> None:
        """Read the stream of server-to-client notifications for as long as the server offers one.

        Args:
            opened: Set once the stream is open, or the first attempt has failed.
        """
        try:
            await self._keep_listening(StreamPosition(), opened)
        finally:
            opened.set()

    async def _read(
        self, response: Response, place: StreamPosition, asked: PostedRequest, lost_sessions: int
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as rest_timeout:
                async with aclosing(events_of(response, place, self._max)) as events:
                    async for event in events:
                        if lost_sessions == self.lost_sessions or is_response(event.data):
                            self._deliver_event(event)
                        await self._wait_for_room()
                        if asked.finished and rest_timeout.when() is None:
                            # A stream read to its end leaves its connection reusable.
                            rest_timeout.reschedule(loop.time() + REST_TIMEOUT_S)
        except (TimeoutError, TransportError):
            if not asked.finished:
                raise
        finally:
            await response.aclose()

    async def _resume(self, place: StreamPosition, lost: SessionLost, failures: int) -> Response:
        """Reconnect and return the response that continues a stream.

        Raises:
            SessionLost: `lost`, if the stream cannot be resumed.
        """
        while failures < MAX_VAIN_RESUMES:
            await asyncio.sleep(_wait_s(place, failures))
            try:
                response = await self._get(place)
            except TransportError:
                failures += 1
                continue
            if response.status == 200 and media_type(response) == EVENTS:
                return response
            await response.aclose()
            if response.status < 500:
                break
            failures += 1
        raise lost

    async def _keep_listening(self, place: StreamPosition, opened: asyncio.Event) -> None:
        failures = 0
        while True:
            seen = place.events
            try:
                if not await self._listen_once(place, opened):
                    return
            except TransportError as error:
                _log.debug("the stream for notifications ended: %s", error)
            except AuthError as error:
                _log.warning("no notifications of the server: %s", error)
                return
            except Exception:
                _log.exception("the stream for notifications ended")
                return
            opened.set()
            failures = 0 if place.events > seen else failures + 1
            await asyncio.sleep(_wait_s(place, failures))

    async def _listen_once(self, place: StreamPosition, opened: asyncio.Event) -> bool:
        """Read one notification stream to its end; return False if the server offers none."""
        response = await self._get(place)
        opened.set()
        try:
            if response.status >= 500:
                return True
            if response.status != 200 or media_type(response) != EVENTS:
                # The server offers no stream (405), or the session has ended (404), but some
                # servers mix up the two. The next request finds out if the session has ended.
                return False
            async with aclosing(events_of(response, place, self._max)) as events:
                async for event in events:
                    self._deliver_event(event)
                    await self._wait_for_room()
        finally:
            await response.aclose()
        return True

    async def _get(self, place: StreamPosition) -> Response:
        headers = [(b"accept", EVENTS.encode()), *self._headers()]
        if place.id:
            headers.append((b"last-event-id", place.id))
        return await self._endpoint.send("GET", headers)

    def _deliver_event(self, event: Event) -> None:
        # The protocol defines no other event types.
        if event.name == "message":
            self._deliver(event.data)


class _Frame(msgspec.Struct):
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_frames: msgspec.json.Decoder[_Frame | list[_Frame]] = msgspec.json.Decoder(_Frame | list[_Frame])


def is_response(message: bytes) -> bool:
    """Return True if a message is a response, or a batch of responses only."""
    try:
        read = _frames.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    frames = read if isinstance(read, list) else [read]
    return all(frame.method is msgspec.UNSET for frame in frames)


def _wait_s(place: StreamPosition, failures: int) -> float:
    """Return the seconds to wait before a stream is reopened; longer after `failures` failures."""
    delay_ms = RETRY_MS if place.retry_ms is None else place.retry_ms
    if not failures:
        return delay_ms / 1000
    return max(delay_ms / 1000, min(0.1 * 2.0**failures, LONGEST_WAIT_S))


async def events_of(
    response: Response,
    place: StreamPosition,
    limit_bytes: int,
    oversized: Callable[[int, bytes, bytes], bool | None] | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield the events of a response that have data.

    Args:
        response: An SSE response.
        place: The position in the stream; updated with each event.
        limit_bytes: Maximum size of an event, in bytes.
        oversized: Called with larger events, which are skipped; see `EventReader`.

    Raises:
        TransportError: An event is larger than `limit_bytes`, and `oversized` is None.
        SessionLost: The server disconnected.
    """
    reader, lines = EventReader(limit_bytes, oversized), 0
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            lines += CHUNK_LINES
            if len(chunk) <= SMALL_BYTES:
                for event in reader.feed(chunk, place):
                    yield event
            else:
                for count, events in reader.parts(chunk, place, LINES_AT_ONCE):
                    for event in events:
                        yield event
                    lines += count
                    if lines >= LINES_AT_ONCE:
                        # What has arrived already is read without a wait.
                        lines = 0
                        await asyncio.sleep(0)
            if lines >= LINES_AT_ONCE:
                lines = 0
                await asyncio.sleep(0)
