"""Recorder: the transcripts of all connections of one client to one server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import entries
from mcp_gen.compat.plugin.taps import TappedRequests, TappedTransport
from mcp_gen.compat.transcript import Transcript
from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
from mcp_gen.transports.http_client.posting import PostingTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        self._recorded: list[tuple[Transcript, bool]] = []
        """Transcripts, each with True if HTTP carries it in the older way: a stream and POSTs."""

    def recorded(self, target: ConnectTarget) -> ConnectTarget:
        """Return a target whose connections are written down."""
        older = target.dial_older
        return replace(
            target,
            dial=partial(self._dial, target.dial),
            dial_older=older and partial(self._dial, older),
        )

    def transcripts(self, revision: str) -> list[Transcript]:
        """Return what was spoken at a revision, one transcript per connection.

        A server may speak a revision over the HTTP transport of another one. No rule of transports
        is about that: its transcript is one of memory.

        Args:
            revision: The revision.
        """
        profile = mcp_wire.profile(revision)
        found: list[Transcript] = []
        for transcript, is_pair in self._recorded:
            spoken = spoken_at(revision, transcript)
            if spoken.transport == "http" and is_pair != (profile.http_transport == "sse_pair"):
                spoken.transport = "memory"
            if spoken.events:
                found.append(spoken)
        return found

    def _dial(self, dial: Callable[[], Duplex | Posts]) -> Duplex | Posts:
        transcript = Transcript("", self._transport)
        inner = dial()
        self._recorded.append((transcript, isinstance(inner, LegacySseTransport)))
        if isinstance(inner, PostingTransport):
            inner.intercept(lambda requests: TappedRequests(requests, transcript))
            return inner
        return TappedTransport(inner, transcript)


def spoken_at(revision: str, transcript: Transcript) -> Transcript:
    """Return the part of a transcript that was spoken at a revision.

    A client that looks for the newest revision of both sides asks first with a request that older
    revisions do not have: there it is left out, with its answer.

    Args:
        revision: The revision.
        transcript: The transcript of one connection.
    """
    spoken = Transcript(revision, transcript.transport)
    probes = _probes() - mcp_wire.profile(revision).methods.keys()
    events = list(_without(probes, transcript.events)) if probes else transcript.events
    if any(event.kind == "message" for event in events):
        spoken.events = [
            msgspec.structs.replace(event, number=number) for number, event in enumerate(events)
        ]
    spoken.is_full = transcript.is_full
    return spoken


def _without(methods: set[str], events: list[WireEvent]) -> Iterator[WireEvent]:
    """Yield the events that are neither requests of these methods nor of what came of them."""
    asked = {event.exchange for event in events if event.exchange and _asks(event, methods)}
    open_ids: set[bytes] = set()
    for event in events:
        if _asks(event, methods):
            open_ids |= _ids(event)
        elif event.sender == "server" and _ids(event) & open_ids:
            open_ids -= _ids(event)
        elif event.exchange not in asked:
            yield event


def _probes() -> set[str]:
    """Return the methods that ask a server for its revisions."""
    profiles = map(mcp_wire.profile, mcp_wire.REVISIONS)
    return {profile.discover.name for profile in profiles if profile.discover is not None}


def _asks(event: WireEvent, methods: set[str]) -> bool:
    return event.sender == "client" and any(
        one.get("method") in methods for one in entries(event.message)
    )


def _ids(event: WireEvent) -> set[bytes]:
    """Return the ids of the messages of an event, as JSON: 1 and "1" are two ids."""
    return {msgspec.json.encode(one["id"]) for one in entries(event.message) if "id" in one}
