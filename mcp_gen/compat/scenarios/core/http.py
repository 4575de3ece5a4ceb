"""Scenarios over HTTP: streams that break, sessions that end, refusals, kinds of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import exchanges
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.streams import SentEvent
from mcp_gen.compat.scenarios.judgements import last_events
from mcp_gen.compat.scenarios.scenario import control, scenario, stimulus
from mcp_gen.compat.scenarios.staged import StagedServer
from mcp_gen.compat.views.conversation import is_answer

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.reference.http.sessions import ReferenceSession
    from mcp_gen.compat.reference.http.streams import EventStream
    from mcp_gen.compat.reference.server import ReferenceServer

RETRY_MS = 250
JSON_ALONE = "http:json-alone"
PLAIN_TOOLS = ("echo", "structured")


def _every(run: ClientRun) -> list[PeerExchange]:
    """Return the exchanges of all connections, in the order of their requests."""
    found = [one for transcript in run.transcripts for one in exchanges(transcript)]
    return sorted(found, key=lambda one: one.request.exchange)


# --- streams that break ---


class HangsUp(ReferenceEndpoint):
    """Hangs up once before the answer to a call, which comes when the stream is taken up."""

    has_hung_up = False

    def prime(self, stream: EventStream) -> None:
        """Begin each stream with an event that has an id."""
        stream.add(SentEvent(b"", {"id": self.event_id(stream), **self.more_fields()}))

    def more_fields(self) -> dict[str, str]:
        """Return the fields of that event beside the id."""
        return {}

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        """Hang up before the first answer to a call."""
        if not self.has_hung_up and is_object(frame) and "content" in frame.get("result", {}):
            self.has_hung_up = True
            stream.drop()
        super().send_on(client, stream, frame)


@stimulus("http:client:resumes")
class HangsUpInCalls(HangsUp):
    """Hangs up once before the answer to a call."""


def a_client_comes_back(run: ClientRun, found: Found) -> None:
    every = _every(run)
    broken = [one for one in every if one.is_stream and one.requests and _lacks_answer(one)]
    if not broken:
        raise NotTested("the client called no tool")
    found.saw()
    if not any(one.resumes for one in every):
        expected = "a client comes back for the answer with a GET that names the last event"
        found.broken(expected, f"no such GET came; {run.ended}", *broken[0].evidence)


def _lacks_answer(one: PeerExchange) -> bool:
    return one.is_over and not any(is_answer(frame) for _, frame in one.frames)


@scenario("http:client:polls", a_client_comes_back)
class SaysWhenToComeBack(HangsUp):
    """Says when to come back, and hangs up once before the answer to a call."""

    def more_fields(self) -> dict[str, str]:
        """Return the time to wait."""
        return {"retry": str(RETRY_MS)}


@stimulus("http:client:asked-anew")
class LosesAnAnswer(HangsUp):
    """Hangs up once before the answer to a call, which is lost."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        """Give each event an id, as servers of older revisions do."""
        was = self.has_hung_up
        super().send_on(client, stream, frame)
        if self.has_hung_up and not was:
            stream.end()


# --- kinds of answers ---


class _Plain(StagedServer):
    """Has no tools but those that send nothing before the answer."""

    def tools(self) -> list[Json]:
        return [tool for tool in super().tools() if tool["name"] in PLAIN_TOOLS]


class AnswersInJson(ReferenceEndpoint):
    """Answers each request with JSON."""

    def new_server(self) -> ReferenceServer:
        """Make a server that sends nothing but answers."""
        return _Plain(self.profile.revision)

    def streams_at_once(self, request: EndpointRequest) -> bool:
        """Return False."""
        return False

    def streams(self, request: EndpointRequest, answer: Json) -> bool:
        """Return False."""
        return False


control(JSON_ALONE, AnswersInJson)


def both_kinds_are_read(run: ClientRun, found: Found) -> None:
    other = run.run_of(JSON_ALONE)
    if not run.ended.well and not other.ended.well:
        raise NotTested(f"with each kind of answers {run.ended}")
    found.saw()
    expected = "an answer is read from JSON and from a stream alike"
    if not run.ended.well:
        found.broken(expected, f"with streams {run.ended}", *last_events(run))
    elif not other.ended.well:
        found.broken(expected, f"with JSON {other.ended}", *last_events(other))


@scenario("http:client:both-answers", both_kinds_are_read)
class AnswersOnStreams(AnswersInJson):
    """Answers each request on a stream."""

    def streams(self, request: EndpointRequest, answer: Json) -> bool:
        """Return True for every answer that has no status of its own."""
        return self.status_of(request, answer) == 200

    def stream_response(
        self, request: EndpointRequest, stream: EventStream, start: int = 0
    ) -> EndpointResponse:
        """Return the stream; that of the handshake names the session."""
        response = super().stream_response(request, stream, start)
        if self.is_opening(request) and request.session and self.profile.session_header:
            response.headers[self.profile.session_header] = request.session.id
        return response


# --- sessions ---


def a_lost_session_begins_anew(run: ClientRun, found: Found) -> None:
    header = run.profile.session_header
    handshake = run.profile.handshake
    assert header is not None
    assert handshake is not None
    every = _every(run)
    lost = [one for one in every if one.status == 404 and header.lower() in one.headers]
    if not lost:
        raise NotTested("the client asked for nothing in its session")
    found.saw()
    expected = "a client whose session is lost begins a new one, without the id of the old one"
    for one in every:
        is_anew = any(asked["method"] == handshake.name for asked in one.requests)
        if is_anew and one.request.exchange > lost[0].request.exchange:
            if header.lower() in one.headers:
                found.broken(expected, "the handshake names a session", *one.evidence[:2])
            return
    found.broken(expected, f"no handshake came; {run.ended}", *lost[0].evidence)


@scenario("http:client:session:anew", a_lost_session_begins_anew)
class LosesASession(ReferenceEndpoint):
    """Forgets its first session after two requests."""

    after = 2
    asked = 0

    async def post(self, request: EndpointRequest) -> EndpointResponse:
        """Take a message; forget the session where it is time."""
        is_first = bool(self.clients) and request.session is self.clients[0]
        if is_first and request.requests and not self.is_opening(request):
            self.asked += 1
            if self.asked == self.after and request.session is not None:
                request.session.is_over = True
        return await super().post(request)


# --- refusals ---


def a_refusal_is_read(run: ClientRun, found: Found) -> None:
    every = _every(run)
    refused = [one for one in every if one.status == 400 and one.error is not None]
    if not refused:
        raise NotTested("the client sent nothing that could be refused")
    found.saw()
    openings = _handshakes()
    for one in every:
        if any(asked["method"] in openings for asked in one.requests):
            expected = "an error of the revision says that the server speaks it: no handshake"
            found.broken(expected, "a handshake came", *refused[0].evidence, one.request)
            return


def _handshakes() -> set[str]:
    """Return the names of the requests of handshakes, which the revision has none of."""
    profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
    return {one.handshake.name for one in profiles if one.handshake is not None}


@scenario("http:client:refusals", a_refusal_is_read, is_exact=False)
class RefusesAtFirst(ReferenceEndpoint):
    """Refuses the first request with an error that servers of the revision alone have."""

    has_refused = False

    async def post(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse the first request; take the others."""
        key = self.profile.protocol_version_key or ""
        if not self.has_refused and member(request.message, "params", "_meta", key):
            self.has_refused = True
            assert self.profile.method_header is not None
            return self.refused(400, self.mismatch(self.profile.method_header), request.id)
        return await super().post(request)
