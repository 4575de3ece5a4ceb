"""Protocol state of one peer, without I/O: bytes in, events out, pending requests both ways."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct, json

from mcp_gen.core import envelope
from mcp_gen.core.envelope import (
    MIN_COMPLEX_BYTES,
    UNREADABLE,
    NoResponse,
    RequestId,
    TooComplex,
    decode_frame,
)
from mcp_gen.core.errors import InvalidRequest, McpError, ParseError, ProtocolError
from mcp_gen.core.loose_json import NOTHING
from mcp_gen.core.peer_values import shortened

if TYPE_CHECKING:
    from msgspec import Raw

    from mcp_gen.core.envelope import Envelope
    from mcp_wire.profile import Profile

__all__ = [
    "Batch",
    "ErrorReceived",
    "Event",
    "MessageRejected",
    "NotificationReceived",
    "ProtocolState",
    "RequestReceived",
    "ResponseReceived",
    "duplicate_id_error",
]

W = TypeVar("W")


MAX_BATCH_BYTES = 64 * 1024 * 1024
"""Bytes of the responses to one batch; the further ones become errors."""


class Batch:
    """Collects the responses to one batch. They are sent together as one array."""

    __slots__ = ("_size_bytes", "answers", "ids", "open", "refused")

    def __init__(self) -> None:
        self.open = 0
        self.refused: str | None = None
        """Why each of its entries is refused; None if the batch as a whole is not."""
        self.answers: list[bytes] = []
        self._size_bytes = 0
        self.ids: set[RequestId] = set()

    def add(self, answer: bytes | None) -> bytes | None:
        """Add the response to one entry; None if that entry gets no response.

        Returns:
            The bytes of the whole array after the last entry; None before, or if it would be empty.
        """
        self.open -= 1
        if answer is not None:
            if self._size_bytes + len(answer) > MAX_BATCH_BYTES:
                answer = _too_large(answer)
            self._size_bytes += len(answer)
            self.answers.append(answer)
        if self.open or not self.answers:
            return None
        return b"[" + b",".join(self.answers) + b"]"


class RequestReceived(Struct, gc=False):
    """The peer sent a request.

    Args:
        id: The request id.
        method: The method.
        params: The undecoded params; empty if absent.
        batch: The batch that collects the response; None for a single message.
    """

    id: RequestId
    method: str
    params: Raw
    batch: Batch | None = None


class NotificationReceived(Struct, gc=False):
    """The peer sent a notification.

    Args:
        method: The method.
        params: The undecoded params; empty if absent.
    """

    method: str
    params: Raw


class ResponseReceived(Struct, Generic[W], gc=False):
    """The peer sent a result.

    Args:
        waiter: The value that `open_request` was called with.
        result: The undecoded result.
    """

    waiter: W
    result: Raw


# These two hold an error with its traceback, so they may be part of a reference cycle: no gc=False.
class ErrorReceived(Struct, Generic[W]):
    """The peer sent an error for a request, or a malformed response.

    Args:
        waiter: The value that `open_request` was called with.
        error: The peer's error, or the violation in its response.
    """

    waiter: W
    error: McpError | ProtocolError


class MessageRejected(Struct):
    """The peer sent a message that is invalid or not allowed at this point.

    Args:
        error: The violation.
        answer: The bytes of the error response to send back; None if none is sent.
        batch: The batch that collects the error response; None for a single message.
    """

    error: InvalidRequest | ParseError
    answer: bytes | None
    batch: Batch | None = None


Event: TypeAlias = (
    RequestReceived
    | NotificationReceived
    | ResponseReceived[Any]
    | ErrorReceived[Any]
    | MessageRejected
)


class ProtocolState(Generic[W]):
    """Protocol state of one connection, without I/O.

    `W` is the driver's own type to find the sender of a request again: a future, say.

    Args:
        profile: The profile of the negotiated revision; None until one is negotiated.
        max_values: The most keys and items of one message of the peer. Others are refused.
        max_response_values: The most of a response, or of a batch; None for `max_values`.
    """

    __slots__ = (
        "_max_response_values",
        "_max_values",
        "_next_id",
        "_short_bytes",
        "_waiters",
        "in_flight",
        "profile",
    )

    def __init__(
        self,
        profile: Profile | None = None,
        max_values: int = sys.maxsize,
        max_response_values: int | None = None,
    ) -> None:
        self.profile = profile
        self._max_values = max_values
        self._max_response_values = max_response_values
        self._short_bytes = min(MIN_COMPLEX_BYTES, max_values)
        """Size of a message up to which it cannot be too complex."""
        self.in_flight: dict[RequestId, Any] = {}
        """The peer's requests that have no response yet, each with the driver's own value."""
        self._waiters: dict[RequestId, W] = {}
        self._next_id = 0

    def receive(self, data: bytes) -> list[Event]:
        """Decode one transport message into events, in wire order.

        Nothing is raised for what a peer sent: invalid messages become `MessageRejected`.

        Args:
            data: One whole JSON text in UTF-8.

        Returns:
            One event, or one per entry where the profile allows batches.
        """
        if not data.startswith(b"{") and data.lstrip().startswith(b"["):
            return self._receive_batch(data)
        return [self.read(data)]

    def _receive_batch(self, data: bytes) -> list[Event]:
        batch = Batch()
        try:
            entries = envelope.read_batch(data)
            if self.profile is None or not self.profile.allows_batches:
                where = self.profile.revision if self.profile else "a connection that is not open"
                raise InvalidRequest(f"expected one message, got an array: {where} has no batches")
        except (InvalidRequest, ParseError) as error:
            return [_rejected(error, None)]
        batch.refused = envelope.complexity(data, self._max_response_values or self._max_values)
        events = [self.read(entry, batch) for entry in entries]
        batch.open = sum(isinstance(event, RequestReceived | MessageRejected) for event in events)
        return events

    def read(self, data: bytes | Raw, batch: Batch | None = None) -> Event:
        """Decode one message that is no batch, or one entry of a batch; see `receive`."""
        if data.__class__ is bytes and len(data) <= self._short_bytes and data.isascii():
            # As below, for messages that need no further checks: these are most.
            try:
                frame = decode_frame(data)
            except UNREADABLE:
                return self._read(data, batch)
            id: Any = frame.id
            if id.__class__ is int:
                if frame.method is not UNSET:
                    if id not in self.in_flight:
                        return RequestReceived(id, frame.method, frame.params)
                elif frame.result and not frame.error and id in self._waiters:
                    return ResponseReceived(self._waiters.pop(id), frame.result)
        return self._read(data, batch)

    def _read(self, data: bytes | Raw, batch: Batch | None) -> Event:
        try:
            frame = envelope.read(data, self._max_values, self._max_response_values)
            if batch is not None and batch.refused is not None:
                raise TooComplex(batch.refused, frame)
        except TooComplex as error:
            return self.refuse(error, batch)
        except NoResponse as error:
            return self._no_response_event(error, batch)
        except (InvalidRequest, ParseError) as error:
            return _rejected(error, batch)
        return self.classify(frame, batch)

    def refuse(self, error: TooComplex, batch: Batch | None = None) -> Event:
        """Return the event for a message that is too complex.

        A request is answered with the error. A response fails the request that it belongs to.
        """
        frame = error.frame
        if frame.method is UNSET:
            # Not even an error that the peer answers with is decoded.
            frame.result = frame.error = NOTHING
        event = self.classify(frame, batch)
        if isinstance(event, RequestReceived):
            return _rejected(error, batch)
        if isinstance(event, ResponseReceived):
            return ErrorReceived(event.waiter, error)
        return event if isinstance(event, MessageRejected) else MessageRejected(error, None, batch)

    def classify(self, frame: Envelope, batch: Batch | None = None) -> Event:
        """Return the event for a frame that has been decoded already."""
        if frame.method is UNSET:
            return self._response_event(frame, batch)
        if frame.id is UNSET or frame.id is None:
            return NotificationReceived(frame.method, frame.params)
        if frame.id in self.in_flight or (batch and frame.id in batch.ids):
            return _rejected(duplicate_id_error(frame.id), batch)
        if batch:
            batch.ids.add(frame.id)
        return RequestReceived(frame.id, frame.method, frame.params, batch)

    def _response_event(self, frame: Envelope, batch: Batch | None) -> Event:
        id = frame.id
        if id is UNSET or id is None or id not in self._waiters:
            # A response gets no response: two confused peers would exchange errors for ever.
            error = InvalidRequest(f"an answer to no open request: id {shortened(repr(id))}")
            return MessageRejected(error, None, batch)
        waiter = self._waiters.pop(id)
        # Some peers send both members, one of them null.
        if frame.error and not (frame.result and bytes(frame.error) == b"null"):
            return ErrorReceived(waiter, envelope.read_error(frame.error))
        return ResponseReceived(waiter, frame.result)

    def _no_response_event(self, error: NoResponse, batch: Batch | None) -> Event:
        """Fail the request that a malformed response belongs to: it gets no other response."""
        id = error.request_id
        if id is not None and id in self._waiters:
            return ErrorReceived(self._waiters.pop(id), error)
        return MessageRejected(error, None, batch) if error.is_response else _rejected(error, batch)

    def open_request(self, waiter: W) -> RequestId:
        """Reserve the id of a new request to the peer, and remember its waiter."""
        self._next_id += 1
        self._waiters[self._next_id] = waiter
        return self._next_id

    def number_from(self, first: int) -> None:
        """Give further requests to the peer ids above `first`."""
        self._next_id = max(self._next_id, first)

    def waiter_of(self, id: RequestId | None) -> W | None:
        """Return the waiter of an open request; with None that of the only one, if there is one."""
        if id is None and len(self._waiters) == 1:
            return next(iter(self._waiters.values()))
        return None if id is None else self._waiters.get(id)

    def forget_request(self, id: RequestId) -> None:
        """Stop waiting for a response. A late response is rejected as unknown."""
        self._waiters.pop(id, None)

    def replace_waiter(self, id: RequestId, waiter: W) -> None:
        """Replace the waiter of a request that has no response yet."""
        if id in self._waiters:
            self._waiters[id] = waiter

    def abandon(self) -> list[W]:
        """Remove and return all waiters: the connection has ended."""
        waiters = list(self._waiters.values())
        self._waiters.clear()
        return waiters


class _Answer(Struct):
    id: RequestId | None = None


_answer = json.Decoder(_Answer)


def _too_large(answer: bytes) -> bytes:
    """Return the error to send in place of a response that does not fit into its batch."""
    error = InvalidRequest(f"a batch may have responses of at most {MAX_BATCH_BYTES} bytes")
    return envelope.failure(_answer.decode(answer).id, envelope.error_object(error))


def duplicate_id_error(id: RequestId) -> InvalidRequest:
    """Return the error for a request whose id belongs to another pending request."""
    return InvalidRequest("this id belongs to a request that is still open", id)


def _rejected(error: InvalidRequest | ParseError, batch: Batch | None) -> MessageRejected:
    answer = envelope.failure(error.request_id, envelope.error_object(error))
    return MessageRejected(error, answer, batch)
