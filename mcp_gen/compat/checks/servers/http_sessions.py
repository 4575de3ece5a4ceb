"""Checks of the HTTP endpoint: who may connect, sessions, versions before there was a header."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import (
    PeerExchange,
    asked_in_place,
    exchange_of,
    exchanges,
    http_of,
)
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.http import HttpWire, SsePairWire, endpoint_said, is_endpoint
from mcp_gen.core.transport.addresses import is_loopback
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient

FOREIGN_ORIGIN = "http://mcp-gen.example"
"""Origin of a page that no server of this machine serves."""
OTHER_LOOPBACK = "127.0.0.2"
"""Address that reaches all interfaces on Linux, and not those who listen on 127.0.0.1 alone."""
CONNECT_S = 1.0
FEWEST_CHARACTERS = 10
"""Fewest characters of a session's id: fewer cannot hold 64 bits in visible ASCII."""
SESSIONS = 3
MAX_STEP = 1000
"""Greatest distance of numbers that count up."""
_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]{1,40})")
UNKNOWN_VERSION = "no-such-version"


async def opened_from(trial: ServerTrial, origin: str) -> PeerExchange:
    """Open a connection with a header Origin, and return the first exchange."""
    client = trial.unopened()
    wire = http_of(client)
    if not is_loopback(urlsplit(wire.url).hostname or ""):
        raise NotTested("the server is not on this machine: it may serve the pages of any site")
    if isinstance(wire, SsePairWire):
        number = await wire.exchange("GET", headers={"Origin": origin})
    else:
        frame = client.opening_frame()
        number = await wire.send(client.encoded(frame), {**client.headers(frame), "Origin": origin})
    await wire.response(number, trial.timeout_s)
    wire.hang_up(number)
    await wire.ended(number, trial.timeout_s)
    found = exchange_of(client, number)
    if found.head is None:
        raise NotTested("the server did not answer")
    return found


@probe("http:origin")
async def the_origin_is_checked(trial: ServerTrial) -> None:
    found = await opened_from(trial, FOREIGN_ORIGIN)
    if found.status < 400:
        trial.broken(
            "a request from the page of another site is refused", found.shown, *found.evidence
        )


@probe("http:origin:refused")
async def a_wrong_origin_gets_status_403(trial: ServerTrial) -> None:
    found = await opened_from(trial, FOREIGN_ORIGIN)
    if found.status < 400:
        raise NotTested("the server does not refuse a wrong origin")
    if found.status != 403:
        trial.broken("status 403", found.shown, *found.evidence)


@probe("http:loopback")
async def it_listens_on_the_loopback_interface_alone(trial: ServerTrial) -> None:
    url = http_of(await trial.main()).url
    parts = urlsplit(url)
    if not is_loopback(parts.hostname or ""):
        raise NotTested("the server does not run on this machine")
    if sys.platform != "linux":
        raise NotTested("only Linux has a second address that tells")
    there = urlunsplit(parts._replace(netloc=f"{OTHER_LOOPBACK}:{parts.port or 80}"))
    wire = HttpWire(there, Transcript(trial.revision, "http"))
    try:
        number = await wire.exchange("GET")
        head = await wire.response(number, CONNECT_S)
    finally:
        await wire.aclose()
    if head is not None and head.kind == "response":
        trial.broken(
            "the server is reached at the loopback address alone",
            f"it answers at {OTHER_LOOPBACK}, too: it listens on all interfaces",
            head,
        )


# --- two endpoints ---


@rule("http:sse:endpoints", unseen="no answer came")
def answers_come_on_the_stream(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.method == "GET" and one.messages:
            found.saw()
        if one.method == "POST" and one.status < 400 and one.messages:
            found.broken(
                "the client receives messages from the endpoint of the stream",
                "one came from the endpoint for messages",
                *one.evidence,
            )


@rule("http:sse:endpoint-event", unseen="no stream was opened")
def the_stream_says_where_messages_go(transcript: Transcript, found: Found) -> None:
    for event in transcript.events:
        if is_endpoint(event):
            found.saw()
            said = event.data.decode("utf-8", "replace")
            if said != endpoint_said(event) or any(one in said for one in '"<>{} '):
                found.broken("the data of the event `endpoint` is a URI", repr(said), event)


# --- sessions ---


async def in_session(trial: ServerTrial) -> ReferenceClient:
    """Return a client of a new session.

    Raises:
        NotTested: the server gives no ids of sessions.
    """
    client = await trial.fresh(listens=False)
    if client.session_id is None:
        raise NotTested("the server has no sessions")
    return client


@rule("http:session:ascii", unseen="the server has no sessions")
def session_ids_are_visible_ascii(transcript: Transcript, found: Found) -> None:
    header = profile_of(transcript.revision).session_header
    for event in transcript.events:
        id = event.headers.get(header.lower()) if header and event.kind == "response" else None
        if id is not None:
            found.saw()
            if not id or any(not 0x21 <= ord(one) <= 0x7E for one in id):
                found.broken("the id of a session is of visible ASCII alone", repr(id), event)


@probe("http:session:secure")
async def session_ids_are_unique_and_cannot_be_guessed(trial: ServerTrial) -> None:
    clients = [await in_session(trial) for _ in range(SESSIONS)]
    ids = [str(client.session_id) for client in clients]
    heads = [event for one in clients for event in one.transcript.events if event.status][:SESSIONS]
    if len(set(ids)) < len(ids):
        trial.broken("each session has an id of its own", f"several have {ids[-1]!r}", *heads)
    elif min(map(len, ids)) < FEWEST_CHARACTERS:
        trial.broken("an id that cannot be guessed", f"{min(ids, key=len)!r} is short", *heads)
    elif counts_up(ids):
        trial.broken("an id that cannot be guessed", f"they count up: {', '.join(ids)}", *heads)


def counts_up(ids: list[str]) -> bool:
    """Return True if ids are numbers one after another, after a common beginning."""
    found = [_NUMBERED.fullmatch(one) for one in ids]
    numbers = [int(one["number"]) for one in found if one]
    if len(numbers) < len(ids) or len({one["before"] for one in found if one}) > 1:
        return False
    return all(0 < after - before < MAX_STEP for before, after in pairwise(numbers))


@probe("http:session:missing")
async def a_request_without_its_session_gets_status_400(trial: ServerTrial) -> None:
    client = await in_session(trial)
    header = str(client.profile.session_header)
    frame = client.harmless_frame()
    _, found = await asked_in_place(client, frame, {header: ""})
    if 200 <= found.status < 300:
        raise NotTested("the server does not require the id of a session")
    if found.status != 400:
        trial.broken("status 400", found.shown, *found.evidence)


@probe("http:session:ended")
async def a_session_that_has_ended_gets_status_404(trial: ServerTrial) -> None:
    client = await in_session(trial)
    ended = await client.end_session()
    if ended is None or not 200 <= ended.status < 300:
        raise NotTested("the server does not let clients end sessions")
    _, found = await asked_in_place(client, client.harmless_frame())
    if found.status != 404:
        trial.broken("status 404", found.shown, ended, *found.evidence)


# --- versions ---


@probe("http:version:unsupported")
async def a_version_that_is_not_spoken_gets_status_400(trial: ServerTrial) -> None:
    client = await trial.fresh(listens=False)
    header = str(client.profile.version_header)
    frame = client.harmless_frame()
    _, found = await asked_in_place(client, frame, {header: UNKNOWN_VERSION})
    if found.status != 400:
        trial.broken("status 400", found.shown, *found.evidence)
