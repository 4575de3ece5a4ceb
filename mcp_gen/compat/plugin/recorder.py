"""Recorder: the transcripts of all connections of one client to one server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import entries
from mcp_gen.compat.plugin.taps import TappedRequests, TappedTransport
from mcp_gen.compat.transcript import Transcript
from mcp_gen.transports.http_client.posting import PostingTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.client.connecting.targets import ConnectTarget
    from mcp_gen.compat.transcript import Transport, WireEvent
    from mcp_gen.core.transport.protocols import Duplex, Posts

__all__ = ["Recorder", "spoken_at"]


class Recorder:
    """Transcripts of the connections to one target, of which each is written down.

    Args:
        transport: What carries the messages.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport: Transport = transport
        self._transcripts: list[Transcript] = []

    def recorded(self, target: ConnectTarget) -> ConnectTarget:
        """Return a target whose connections are written down."""
        older = target.dial_older
        return replace(
            target,
            dial=partial(self._dial, target.dial),
            dial_older=older and partial(self._dial, older),
        )

    def transcripts(self, revision: str) -> list[Transcript]:
        """Return what was spoken at a revision, one transcript per connection."""
        found = (spoken_at(revision, one) for one in self._transcripts)
        return [one for one in found if one.events]

    def _dial(self, dial: Callable[[], Duplex | Posts]) -> Duplex | Posts:
        transcript = Transcript("", self._transport)
        self._transcripts.append(transcript)
        inner = dial()
        if isinstance(inner, PostingTransport):
            inner.intercept(lambda requests: TappedRequests(requests, transcript))
            return inner
        return TappedTransport(inner, transcript)


def spoken_at(revision: str, transcript: Transcript) -> Transcript:
    """Return the part of a transcript that was spoken at a revision.

    A client that looks for the newest revision of both sides asks at another one first: that
    request and its answer are left out, as is all before the handshake.
    """
    spoken = Transcript(revision, transcript.transport)
    events = transcript.events
    handshake = mcp_wire.profile(revision).handshake
    if handshake is not None:
        start = next((at for at, one in enumerate(events) if _asks(one, handshake.name)), None)
        events = [] if start is None else _from(start, events)
    spoken.events = [
        msgspec.structs.replace(event, number=number) for number, event in enumerate(events)
    ]
    spoken.is_full = transcript.is_full
    return spoken


def _from(start: int, events: list[WireEvent]) -> list[WireEvent]:
    """Return the events from a request on, without answers to earlier ones."""
    exchange = events[start].exchange
    earlier = {msgspec.json.encode(id) for event in events[:start] for id in _ids(event, "client")}
    return [
        event
        for event in events
        # The head of an HTTP request comes before its message.
        if (event.exchange >= exchange if event.exchange else event.number >= start)
        and not any(msgspec.json.encode(id) in earlier for id in _ids(event, "server"))
    ]


def _asks(event: WireEvent, method: str) -> bool:
    return event.sender == "client" and any(
        one.get("method") == method for one in entries(event.message)
    )


def _ids(event: WireEvent, sender: str) -> list[Any]:
    """Return the ids of the requests of the client in an event, or of the server's answers."""
    if event.sender != sender:
        return []
    return [
        one["id"]
        for one in entries(event.message)
        if "id" in one and ("method" in one) == (sender == "client")
    ]
