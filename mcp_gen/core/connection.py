"""One peer's protocol state, without I/O: bytes in, events out; requests in flight both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct

from mcp_gen.core import envelope
from mcp_gen.core.envelope import NoResponse
from mcp_gen.core.errors import InvalidRequest, McpError, ParseError, ProtocolError

if TYPE_CHECKING:
    from msgspec import Raw

    from mcp_gen.core.envelope import Envelope, RequestId
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
    "still_open",
]

W = TypeVar("W")


class Batch:
    """Collects the answers to one array of frames, which is answered with one array."""

    __slots__ = ("answers", "ids", "open")

    def __init__(self) -> None:
        self.open = 0
        self.answers: list[bytes] = []
        self.ids: set[RequestId] = set()

    def add(self, answer: bytes | None) -> bytes | None:
        """Take one answer (None: this entry gets none); the whole array once it was the last."""
        self.open -= 1
        if answer is not None:
            self.answers.append(answer)
        if self.open or not self.answers:
            return None
        return b"[" + b",".join(self.answers) + b"]"


class RequestReceived(Struct, gc=False):
    """The peer asks something."""

    id: RequestId
    method: str
    params: Raw
    batch: Batch | None = None


class NotificationReceived(Struct, gc=False):
    """The peer tells something."""

    method: str
    params: Raw


class ResponseReceived(Struct, Generic[W], gc=False):
    """The peer answered; `waiter` is what the request was opened with."""

    waiter: W
    result: Raw


# These two hold an error, and with it the frames that it passed: they may be part of a cycle.
class ErrorReceived(Struct, Generic[W]):
    """The peer answered with an error, or with what is no answer at all."""

    waiter: W
    error: McpError | ProtocolError


class MessageRejected(Struct):
    """A message that is none, or has no place here. `answer` goes back to the peer as it is."""

    error: ProtocolError
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
    """The state of one connection. `profile` is None until the peers have agreed on a revision.

    `W` is whatever the driver wants back with an answer: a future, say.
    """

    __slots__ = ("_next_id", "_waiters", "in_flight", "profile")

    def __init__(self, profile: Profile | None = None) -> None:
        self.profile = profile
        self.in_flight: dict[RequestId, Any] = {}
        """The peer's requests that are being answered, with what the driver keeps for each."""
        self._waiters: dict[RequestId, W] = {}
        self._next_id = 0

    def receive(self, data: bytes) -> list[Event]:
        """Decode one transport message and return what it means, in wire order.

        `data` is one whole JSON text in UTF-8. The list has one event, or one per entry where the
        profile allows batches. Nothing is raised for what a peer sent: see `Refused`.
        """
        if not data.startswith(b"{") and data.lstrip().startswith(b"["):
            return self._receive_batch(data)
        return [self.read(data)]

    def _receive_batch(self, data: bytes) -> list[Event]:
        batch = Batch()
        try:
            entries = envelope.read_batch(data)
            if self.profile is None or not self.profile.allows_batches:
                spoken = self.profile.revision if self.profile else "a connection that is not open"
                raise InvalidRequest(f"expected one message, got an array: {spoken} has no batches")
        except ProtocolError as error:
            return [_refused(error, None)]
        events = [self.read(entry, batch) for entry in entries]
        batch.open = sum(isinstance(event, RequestReceived | MessageRejected) for event in events)
        return events

    def read(self, data: bytes | Raw, batch: Batch | None = None) -> Event:
        """Decode one message that is no array, or an entry of one; see `receive`."""
        try:
            frame = envelope.read(data)
        except NoResponse as error:
            return self._no_answer(error, batch)
        except ProtocolError as error:
            return _refused(error, batch)
        return self.classify(frame, batch)

    def classify(self, frame: Envelope, batch: Batch | None = None) -> Event:
        """What a frame means that has been read already."""
        if frame.method is UNSET:
            return self._answer(frame, batch)
        if frame.id is UNSET or frame.id is None:
            return NotificationReceived(frame.method, frame.params)
        if frame.id in self.in_flight or (batch and frame.id in batch.ids):
            return _refused(still_open(frame.id), batch)
        if batch:
            batch.ids.add(frame.id)
        return RequestReceived(frame.id, frame.method, frame.params, batch)

    def _answer(self, frame: Envelope, batch: Batch | None) -> Event:
        id = frame.id
        if id is UNSET or id is None or id not in self._waiters:
            # An answer is never answered, or two confused peers would talk for ever.
            error = InvalidRequest(f"an answer to no open request: id {id!r}")
            return MessageRejected(error, None, batch)
        waiter = self._waiters.pop(id)
        if frame.error:
            return ErrorReceived(waiter, envelope.read_error(frame.error))
        return ResponseReceived(waiter, frame.result)

    def _no_answer(self, error: NoResponse, batch: Batch | None) -> Event:
        """Whoever waits under its id will get no better one."""
        id = error.request_id
        if id is not None and id in self._waiters:
            return ErrorReceived(self._waiters.pop(id), error)
        return MessageRejected(error, None, batch) if error.tries else _refused(error, batch)

    def open_request(self, waiter: W) -> RequestId:
        """Reserve the id of a request to the peer."""
        self._next_id += 1
        self._waiters[self._next_id] = waiter
        return self._next_id

    def forget_request(self, id: RequestId) -> None:
        """Stop waiting: an answer that still comes is refused as unknown."""
        self._waiters.pop(id, None)

    def wait_on(self, id: RequestId, waiter: W) -> None:
        """Wait for the same answer with another waiter, if it has not come."""
        if id in self._waiters:
            self._waiters[id] = waiter

    def abandon(self) -> list[W]:
        """Everything that is still waited for; the connection has ended."""
        waiters = list(self._waiters.values())
        self._waiters.clear()
        return waiters


def still_open(id: RequestId) -> InvalidRequest:
    """The error where a request takes the id of another that has not been answered yet."""
    return InvalidRequest("this id belongs to a request that is still open", id)


def _refused(error: ProtocolError, batch: Batch | None) -> MessageRejected:
    id = error.request_id if isinstance(error, InvalidRequest | ParseError) else None
    return MessageRejected(error, envelope.failure(id, envelope.error_object(error)), batch)
