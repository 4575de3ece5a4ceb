"""Checks of clients over HTTP: how messages are sent, streams, sessions, versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import UNSET

from mcp_gen.compat.checks.check import judged, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.frames import NOTHING
from mcp_gen.compat.checks.http_exchanges import exchanges
from mcp_gen.compat.json_values import entries, is_object, member
from mcp_gen.compat.method_names import openings
from mcp_gen.compat.reference.http_client.resuming import RESUME_HEADER, last_event_id, retry_ms
from mcp_gen.compat.views.conversation import id_key, is_answer, is_foreign
from mcp_gen.compat.views.lines import is_utf_8
from mcp_gen.compat.wire.http import endpoint_said, is_endpoint
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.transcript import Transcript, WireEvent

STREAM = "text/event-stream"
JSON = "application/json"
NO_POST = "the client sent no POST"
RESUME = RESUME_HEADER.lower()
EARLY_MS = 5
"""Milliseconds that a client may come back early: clocks are read at different times."""


# --- messages ---


@rule("http:client:sse:posts", unseen="the client opened no stream")
def messages_go_where_the_stream_says(transcript: Transcript, found: Found) -> None:
    opened = next((event for event in transcript.events if is_endpoint(event)), None)
    if opened is None:
        return
    path = endpoint_said(opened).partition("?")[0]
    for one in _own(transcript):
        if one.request.number > opened.number and one.sent is not None:
            found.saw()
            if one.request.about.partition(" ")[2] != path:
                expected = f"messages go to the address that the stream began with, {path}"
                found.broken(expected, f"{one.request.about} came", opened, one.request)


@rule("http:client:posts", unseen=NOTHING)
def messages_are_posted(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.sent is not None:
            found.saw()
            if one.method != "POST":
                found.broken("a message is the body of a POST", f"{one.method} came", one.request)


@rule("http:client:body", unseen=NO_POST)
def a_body_is_one_message(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.method != "POST":
            continue
        found.saw()
        if one.sent is None:
            found.broken("the body of a POST is a message", "it is empty", one.request)
        elif one.sent.message is UNSET and is_utf_8(one.sent.data):
            expected = "the body of a POST is one message, in JSON"
            found.broken(expected, "it is none", one.request, one.sent)


@rule("http:client:accept", unseen=NO_POST)
def a_post_takes_both_kinds_of_answers(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.method == "POST":
            found.saw()
            _judge_accept(one, (JSON, STREAM), found)


@rule("http:client:get-accept", unseen="the client sent no GET")
def a_get_takes_streams(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.method == "GET":
            found.saw()
            _judge_accept(one, (STREAM,), found)


def _judge_accept(one: PeerExchange, wanted: tuple[str, ...], found: Found) -> None:
    said = one.headers.get("accept", "")
    kinds = {part.partition(";")[0].strip().lower() for part in said.split(",")}
    missing = [kind for kind in wanted if kind not in kinds]
    if missing:
        expected = f"the header `Accept` of a {one.method} lists {' and '.join(wanted)}"
        found.broken(expected, f"it is {said!r}" if said else "there is none", one.request)


# --- streams ---


@rule("http:client:cancels", unseen="the client hung up on no request")
def who_cancels_says_so(transcript: Transcript, found: Found) -> None:
    cancelled = profile_of(transcript.revision).cancelled
    assert cancelled is not None
    told = {
        id_key(member(frame, "params", "requestId"))
        for _, frame in transcript.frames("client")
        if frame.get("method") == cancelled.name
    }
    answered = {
        id_key(frame.get("id")) for _, frame in transcript.frames("server") if is_answer(frame)
    }
    every = exchanges(transcript)
    for one in every:
        if one.ended is None or one.ended.sender != "client":
            continue
        later = [two for two in every if two.request.number > one.ended.number]
        if any(two.resumes for two in later) or not any(two.requests for two in later):
            continue
        for asked in one.requests:
            if id_key(asked["id"]) in answered:
                continue
            found.saw()
            if id_key(asked["id"]) not in told:
                expected = "a client that gives up a request cancels it"
                found.broken(expected, "it only hung up", *one.evidence, one.ended)


@rule("http:client:resumes", unseen="the client took up no stream")
def a_stream_is_taken_up_after_its_last_event(transcript: Transcript, found: Found) -> None:
    for one, broken, last in _resumed(transcript):
        found.saw()
        if broken is None:
            expected = f"`{RESUME_HEADER}` names the last event of a stream that broke"
            came = f"{one.headers[RESUME]!r} is none"
            found.broken(expected, came, *last, one.request)


@rule("http:client:retry", unseen="the client took up no stream that had said when")
def a_client_comes_back_when_it_is_told_to(transcript: Transcript, found: Found) -> None:
    for one, broken, _ in _resumed(transcript):
        said_ms = 0 if broken is None else retry_ms(transcript, broken.exchange)
        if broken is None or said_ms == 0:
            continue
        found.saw()
        came_ms = (one.request.at_s - broken.at_s) * 1000
        if came_ms + EARLY_MS < said_ms:
            expected = f"a client comes back after {said_ms} ms, as the stream said"
            found.broken(expected, f"it came after {came_ms:.0f} ms", broken, one.request)


def _resumed(
    transcript: Transcript,
) -> Iterator[tuple[PeerExchange, WireEvent | None, list[WireEvent]]]:
    """Yield each GET that takes up a stream.

    With it the end of the stream before it, None if it names the last event of none; and the ends
    of all streams before it.
    """
    for one in exchanges(transcript):
        if one.method != "GET" or not one.resumes:
            continue
        before = [
            event
            for event in transcript.events[: one.request.number]
            if event.kind == "ended" and last_event_id(transcript, event.exchange) is not None
        ]
        wanted = one.headers[RESUME]
        broken = [two for two in before if last_event_id(transcript, two.exchange) == wanted]
        yield one, broken[-1] if broken else None, before[-1:]


@rule("http:client:asked-anew", unseen="no stream broke before its answer")
def no_stream_is_taken_up(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.resumes:
            found.broken(
                "a stream that broke is never taken up",
                f"a {one.method} with `{RESUME_HEADER}` came",
                one.request,
            )
        elif one.is_stream and one.is_over and one.requests:
            answered = [frame for _, frame in one.frames if is_answer(frame)]
            if not answered:
                found.saw()


# --- sessions ---


@rule("http:client:session:sent", unseen="no session began")
def requests_name_their_session(transcript: Transcript, found: Found) -> None:
    header = profile_of(transcript.revision).session_header
    assert header is not None
    given: WireEvent | None = None
    for one in exchanges(transcript):
        if given is not None and not _opens(one):
            found.saw()
            said = one.headers.get(header.lower())
            if said != given.headers[header.lower()]:
                came = "there is none" if said is None else "it names another one"
                expected = f"`{header}` names the session after the handshake"
                found.broken(expected, came, given, one.request)
        if given is None and one.head is not None and header.lower() in one.head.headers:
            given = one.head


def sessions_are_ended(run: ClientRun, found: Found) -> None:
    header = run.profile.session_header
    assert header is not None
    if not run.ended.well:
        raise NotTested(str(run.ended))
    for transcript in run.transcripts:
        every = exchanges(transcript)
        given = [one.head for one in every if one.head and header.lower() in one.head.headers]
        if not given:
            continue
        found.saw()
        if not any(one.method == "DELETE" for one in every):
            expected = "a session that is not needed any more is ended with DELETE"
            found.broken(expected, "no DELETE came", *given[:1], transcript.events[-1])


judged("http:client:session:deleted", sessions_are_ended)


# --- versions ---


@rule("http:client:version", unseen="the client sent nothing after its first request")
def requests_name_their_revision(transcript: Transcript, found: Found) -> None:
    header = profile_of(transcript.revision).version_header
    assert header is not None
    for one in _own(transcript):
        found.saw()
        if header.lower() not in one.headers:
            found.broken(f"every request has `{header}`", "it is not there", *_parts(one))


@rule("http:client:version:negotiated", unseen="the client named no revision in a header")
def the_header_names_what_was_agreed_on(transcript: Transcript, found: Found) -> None:
    header = profile_of(transcript.revision).version_header
    assert header is not None
    for one in _own(transcript):
        said = one.headers.get(header.lower())
        if said is not None:
            found.saw()
            if said != transcript.revision:
                expected = f"`{header}` names {transcript.revision}, which was agreed on"
                found.broken(expected, f"it is {said!r}", *_parts(one))


@rule("http:client:version:matches", unseen="the client named no revision in a header")
def header_and_body_name_one_revision(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    header, key = profile.version_header, profile.protocol_version_key
    assert header is not None
    assert key is not None
    for one in exchanges(transcript):
        said = one.headers.get(header.lower())
        in_body = member(one.sent.message if one.sent else None, "params", "_meta", key)
        if said is not None and isinstance(in_body, str):
            found.saw()
            if said != in_body:
                expected = f"`{header}` names the revision of the body, {in_body!r}"
                found.broken(expected, f"it is {said!r}", *_parts(one))


def _own(transcript: Transcript) -> Iterator[PeerExchange]:
    """Yield the requests of a connection after its opening, without probes for other revisions."""
    profile = profile_of(transcript.revision)
    for one in exchanges(transcript):
        message = one.sent.message if one.sent else None
        if profile.handshake is None:
            # What does not say its revision in the body is told of elsewhere.
            key = profile.protocol_version_key or ""
            if member(message, "params", "_meta", key) is not None:
                yield one
        elif not _opens(one) and not _is_probe(one, transcript.revision):
            yield one


def _opens(one: PeerExchange) -> bool:
    sent = entries(one.sent.message) if one.sent else ()
    return any(frame.get("method") in openings() for frame in sent)


def _is_probe(one: PeerExchange, revision: str) -> bool:
    message = one.sent.message if one.sent else None
    return is_object(message) and is_foreign(message, revision)


def _parts(one: PeerExchange) -> tuple[WireEvent, ...]:
    """Return what the client sent in an exchange: the body, then the head, which is at fault."""
    return (one.request,) if one.sent is None else (one.sent, one.request)
