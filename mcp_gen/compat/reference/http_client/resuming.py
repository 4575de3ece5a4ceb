"""Resumption of a stream that a server has ended before its answer, where the revision has it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.compat.transcript import fields_of
from mcp_gen.compat.wire.http import SsePairWire

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent
    from mcp_gen.compat.wire.http import HttpWire
    from mcp_wire.profile import Profile

__all__ = ["RESUME_HEADER", "answers_elsewhere", "last_event_id", "resumed", "retry_ms"]

RESUME_HEADER = "Last-Event-ID"


class _Client(Protocol):
    profile: Profile

    @property
    def timeout_s(self) -> float: ...

    @property
    def http(self) -> HttpWire | None: ...

    @property
    def transcript(self) -> Transcript: ...

    def headers(self, message: Any) -> Mapping[str, str]: ...


async def resumed(client: _Client, ended: WireEvent) -> int:
    """Ask for the rest of a stream, after the time that the server said.

    Args:
        client: The client.
        ended: The end of the stream.

    Returns:
        The number of the exchange with the rest; 0 if the stream cannot be resumed.
    """
    if client.http is None or not client.profile.resumes_streams:
        return 0
    id = last_event_id(client.transcript, ended.exchange)
    if id is None:
        return 0
    wait_s = retry_ms(client.transcript, ended.exchange) / 1000
    if wait_s > client.timeout_s:
        return 0
    await asyncio.sleep(wait_s)
    headers = {**client.headers(b""), RESUME_HEADER: id}
    return await client.http.exchange("GET", headers=headers)


def last_event_id(transcript: Transcript, exchange: int) -> str | None:
    """Return the id of the last event of a stream that has one; None for none."""
    for event in reversed(transcript.events):
        if event.exchange == exchange and event.kind in ("message", "sse"):
            id = fields_of(event.about).get("id")
            if id:
                return id
    return None


def retry_ms(transcript: Transcript, exchange: int) -> int:
    """Return the time until a client may come back, in milliseconds; 0 if it was not said."""
    for event in reversed(transcript.events):
        if event.exchange == exchange and event.kind in ("message", "sse"):
            said = fields_of(event.about).get("retry", "")
            if said.isdecimal() and len(said) < 10:
                return int(said)
    return 0


def answers_elsewhere(client: _Client, ended: WireEvent) -> bool:
    """Return True for the end of a POST that was taken, whose answer comes on a stream."""
    if not isinstance(client.http, SsePairWire):
        return False
    head = client.transcript.head(ended.exchange)
    return head is not None and 200 <= head.status < 300
