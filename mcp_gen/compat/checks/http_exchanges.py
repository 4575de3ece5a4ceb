"""HTTP exchanges of a transcript: request, response, and the messages of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, entries, is_object
from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
from mcp_gen.compat.transcript import fields_of
from mcp_gen.compat.wire.http import HttpWire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = ["PeerExchange", "answers_in", "asked_in_place", "exchange_of", "exchanges", "http_of"]

STREAM = "text/event-stream"


class PeerExchange(Struct, kw_only=True):
    """One HTTP request, and all that came of it.

    Args:
        request: The head of the request.
        sent: The message in its body; None for none.
        head: The head of the response; None if there is none.
        events: Messages and other events of the response, in order.
        ended: The end of the response; None if it has none.
    """

    request: WireEvent
    sent: WireEvent | None = None
    head: WireEvent | None = None
    events: list[WireEvent] = []
    ended: WireEvent | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.request.about.partition(" ")[0]

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the request, with names in lower case."""
        return self.request.headers

    @property
    def status(self) -> int:
        """Status of the response; 0 if there is none."""
        return self.head.status if self.head else 0

    @property
    def content_type(self) -> str:
        """Media type of the response, in lower case; empty for none."""
        said = self.head.headers.get("content-type", "") if self.head else ""
        return said.partition(";")[0].strip().lower()

    @property
    def is_stream(self) -> bool:
        """True if the response is a stream of events."""
        return self.status == 200 and self.content_type == STREAM

    @property
    def resumes(self) -> bool:
        """True if the request asks for the rest of a stream."""
        return "last-event-id" in self.request.headers

    @property
    def is_over(self) -> bool:
        """True if the server has ended the response."""
        return self.ended is not None and self.ended.sender == "server"

    @property
    def requests(self) -> list[Json]:
        """Requests of the protocol that the client has sent in it."""
        return [one for one in self._sent() if "method" in one and "id" in one]

    @property
    def is_unasking(self) -> bool:
        """True if the client has sent notifications or answers in it, and nothing else."""
        sent = list(self._sent())
        return bool(sent) and not any("method" in one and "id" in one for one in sent)

    @property
    def frames(self) -> list[tuple[WireEvent, Json]]:
        """Messages of the response."""
        return [(one, frame) for one in self.messages for frame in entries(one.message)]

    @property
    def messages(self) -> list[WireEvent]:
        """Events of the response that are messages."""
        return [one for one in self.events if one.kind == "message"]

    @property
    def error(self) -> Json | None:
        """The first error of the response, with an id or without."""
        for _, frame in self.frames:
            error = frame.get("error")
            if is_object(error):
                return error
        return None

    @property
    def code(self) -> Any:
        """Code of the first error; None for none."""
        return (self.error or {}).get("code")

    @property
    def evidence(self) -> tuple[WireEvent, ...]:
        """Request and response, as far as they are there; the faulty one last."""
        found = (self.request, self.sent, self.head, *self.messages[-1:])
        return tuple(one for one in found if one is not None)

    @property
    def shown(self) -> str:
        """Status and error for a sentence."""
        code = "" if self.code is None else f" and error {self.code}"
        return f"status {self.status}{code}" if self.head else "no response"

    def ids(self) -> Iterator[tuple[WireEvent, str]]:
        """Yield the events of a stream that have an id, with it."""
        for event in self.events:
            id = fields_of(event.about).get("id")
            if id is not None:
                yield event, id

    def _sent(self) -> Iterator[Json]:
        return iter(entries(self.sent.message)) if self.sent else iter(())


def exchanges(transcript: Transcript) -> list[PeerExchange]:
    """Return the exchanges of a transcript, in the order of their requests."""
    return _exchanges(transcript.events)


def _exchanges(events: Iterable[WireEvent]) -> list[PeerExchange]:
    found: dict[int, PeerExchange] = {}
    for event in events:
        if event.kind == "request":
            found[event.exchange] = PeerExchange(request=event)
            continue
        one = found.get(event.exchange)
        if one is None:
            continue
        if event.kind == "response":
            one.head = event
        elif event.kind == "ended":
            one.ended = event
        elif event.sender == "client":
            one.sent = event
        else:
            one.events.append(event)
    return list(found.values())


def exchange_of(client: ReferenceClient, number: int) -> PeerExchange:
    """Return one exchange of a client by its number."""
    events = (one for one in client.transcript.events if one.exchange == number)
    return _exchanges(events)[0]


def answers_in(exchange: PeerExchange) -> dict[str, WireEvent]:
    """Return the messages with answers in an exchange, by the request's id as JSON."""
    return {
        msgspec.json.encode(frame["id"]).decode(): event
        for event, frame in exchange.frames
        if "method" not in frame and "id" in frame
    }


def http_of(client: ReferenceClient) -> HttpWire:
    """Return the wire of a client.

    Raises:
        NotTested: it is none over HTTP.
    """
    if client.http is None:
        raise NotTested("the server is not examined over HTTP")
    return client.http


async def asked_in_place(
    client: ReferenceClient, frame: Json, headers: Mapping[str, str] | None = None
) -> tuple[ServerReply, PeerExchange]:
    """Ask, and return the reply with the exchange that it came in.

    Args:
        client: The client.
        frame: The request.
        headers: HTTP headers in place of those that belong to the request; an empty one is left
            out.
    """
    right = client.headers(frame)
    given: Mapping[str, str] = headers or {}
    spelled = {name.lower() for name in given}
    kept = {name: value for name, value in right.items() if name.lower() not in spelled}
    reply = await client.ask_frame(frame, headers={**kept, **given})
    if reply.event is None:
        # An error without an id answers nobody, and comes before the end.
        await http_of(client).ended(reply.asked.exchange, client.timeout_s)
    return reply, exchange_of(client, reply.asked.exchange)
