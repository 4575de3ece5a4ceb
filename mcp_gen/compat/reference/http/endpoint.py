"""HTTP endpoint of the reference server, at exactly one revision.

Every step is a method of its own, so that a peer of the zoo breaks one rule by overriding one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from mcp_gen.compat.json_values import Json, entries, is_array, is_object, member
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.http.app import EndpointApp
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.header_checks import metadata_version, mismatch_of
from mcp_gen.compat.reference.http.sessions import ReferenceSession
from mcp_gen.compat.reference.http.streams import EventStream, SentEvent
from mcp_gen.compat.reference.http_client.resuming import RESUME_HEADER
from mcp_gen.compat.transcript import Transcript
from mcp_gen.core.transport.addresses import is_loopback
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.reference.server import ReferenceServer

__all__ = ["ReferenceEndpoint"]

PATH = "/mcp"
MESSAGES_PATH = "/mcp/messages"
"""Path of the endpoint for messages, at a revision with two endpoints."""
STREAM = {"content-type": "text/event-stream", "cache-control": "no-cache"}
JSON = {"content-type": "application/json"}


class ReferenceEndpoint(EndpointApp):
    """Endpoint of exactly one revision: an ASGI app.

    Args:
        make_server: Makes the server of a new client.
        revision: The revision.
    """

    def __init__(self, make_server: Callable[[], ReferenceServer], revision: str) -> None:
        super().__init__(PATH, Transcript(revision, "http"))
        self.profile = profile_of(revision)
        self._make_server = make_server

    # --- requests ---

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request after the checks of it."""
        refusal = self.check_path(request) or self.check_origin(request)
        if refusal is not None:
            return refusal
        if self.profile.http_transport == "sse_pair":
            return await self.respond_in_pair(request)
        if request.method == "POST":
            return await self.post(request)
        if request.method == "GET" and self.profile.get_stream:
            return await self.get(request)
        if request.method == "DELETE" and self.profile.session_header:
            return await self.delete(request)
        return self.no_such_method(request)

    async def respond_in_pair(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request at a revision with two endpoints."""
        if request.path == PATH:
            return (
                self.open_pair(request) if request.method == "GET" else self.no_such_method(request)
            )
        if request.method != "POST":
            return self.no_such_method(request)
        if request.session is None or request.session.is_over:
            return self.no_such_session(request)
        return self.take(request)

    def check_path(self, request: EndpointRequest) -> EndpointResponse | None:
        """Refuse another path than that of the endpoint."""
        has_two = self.profile.http_transport == "sse_pair"
        paths = (PATH, MESSAGES_PATH) if has_two else (PATH,)
        return None if request.path in paths else EndpointResponse(status=404)

    def check_origin(self, request: EndpointRequest) -> EndpointResponse | None:
        """Refuse what comes from the page of another site."""
        origin = request.headers.get("origin")
        if origin is None or is_loopback(urlsplit(origin).hostname or ""):
            return None
        return self.refused(403, Failure(self.profile.errors.invalid_request, "Wrong origin"))

    def check_session(self, request: EndpointRequest) -> EndpointResponse | None:
        """Refuse what does not name a session that there is."""
        header = self.profile.session_header
        if header is None or self.is_opening(request):
            return None
        if header.lower() not in request.headers:
            return self.no_session_named(request)
        if request.session is None or request.session.is_over:
            return self.no_such_session(request)
        return None

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        """Refuse another revision than the one there is."""
        profile = self.profile
        if profile.version_header is None:
            return None
        said = request.headers.get(profile.version_header.lower())
        if not profile.version_header_required:
            if said in (None, profile.revision):
                return None
            return self.refused(400, self.unsupported(said))
        in_body = metadata_version(profile, request.message)
        if said is None or in_body not in (None, said):
            return self.refused(400, self.mismatch(profile.version_header), request.id)
        if in_body is None and said != profile.revision:
            return self.refused(400, self.unsupported(said), request.id)
        return None

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        """Refuse headers that do not say what the message says."""
        if self.profile.method_header is None or request.session is None:
            return None
        for one in request.requests:
            tools = request.session.server.tools()
            wrong = mismatch_of(self.profile, request.headers, one, tools)
            if wrong is not None:
                return self.refused(400, self.mismatch(wrong), one["id"])
        return None

    # --- clients ---

    def client_of(self, request: EndpointRequest) -> ReferenceSession | None:
        """Return the client that a request comes from; None if it is not known."""
        header = self.profile.session_header
        if self.profile.http_transport == "sse_pair":
            if request.method == "GET":
                return self.new_client(self.session_id())
            return self.client_with(request.query.get("session_id"))
        if header is None:
            return self.clients[0] if self.clients else self.new_client("")
        if self.is_opening(request):
            return self.new_client(self.session_id())
        return self.client_with(request.headers.get(header.lower()))

    def client_with(self, id: str | None) -> ReferenceSession | None:
        """Return the client with the id of a session; None if there is none."""
        return next((one for one in self.clients if one.id == id), None)

    def new_client(self, id: str) -> ReferenceSession:
        """Begin a session."""
        client = ReferenceSession(id, self.new_server())
        client.server.connected(lambda frame: self.send_unasked(client, frame))
        self.clients.append(client)
        return client

    def new_server(self) -> ReferenceServer:
        """Make the server of a new client."""
        return self._make_server()

    def session_id(self) -> str:
        """Return the id of a new session."""
        return secrets.token_urlsafe(24)

    def is_opening(self, request: EndpointRequest) -> bool:
        """Return True for the request that begins a session."""
        handshake = self.profile.handshake
        is_post = request.method == "POST"
        return is_post and handshake is not None and request.names(handshake.name)

    def disconnected(self, request: EndpointRequest) -> None:
        """Take note that a client has disconnected before the end of a response."""
        session = request.session
        if session is None:
            return
        if self.profile.stream_drop_cancels:
            for one in request.requests:
                session.server.cancel(one["id"])
        if self.profile.http_transport == "sse_pair" and request.method == "GET":
            self.run(session.end())

    # --- POST ---

    async def post(self, request: EndpointRequest) -> EndpointResponse:
        """Take a message."""
        refusal = self.check_session(request) or self.check_version(request)
        refusal = refusal or self.check_headers(request)
        if refusal is not None:
            return refusal
        return await self.answer(request) if request.requests else self.take(request)

    def take(self, request: EndpointRequest) -> EndpointResponse:
        """Take what is not answered in the response; refuse what cannot be taken."""
        client = request.session
        if client is None:
            return self.no_session_named(request)
        refusals: list[Json] = []
        is_at_once = True

        def outlet(frame: Json) -> None:
            if is_at_once:
                refusals.append(frame)
            else:
                self.send_unasked(client, frame)

        client.server.receive(request.body, outlet)
        is_at_once = False
        has_answers = any("method" not in one for one in entries(request.message))
        if refusals:
            return self.json_response(400, refusals[0])
        if has_answers and self.profile.asks_client != "server_request":
            wrong = Failure(self.profile.errors.invalid_request, "A server asks nothing")
            return self.refused(400, wrong)
        return self.accepted(request)

    def accepted(self, request: EndpointRequest) -> EndpointResponse:
        """Return the response to a notification or an answer."""
        return EndpointResponse(status=202)

    async def answer(self, request: EndpointRequest) -> EndpointResponse:
        """Answer the requests in a body: with JSON, or with a stream."""
        client = request.session
        assert client is not None
        stream = EventStream(f"post{request.exchange}")
        client.streams.append(stream)
        waiting: list[Json] = []
        arrived = asyncio.Event()
        is_stream = self.streams_at_once(request)
        has_answered = False
        if is_stream:
            self.prime(stream)
            arrived.set()

        def outlet(frame: Json) -> None:
            nonlocal has_answered
            has_answered = has_answered or "method" not in frame
            if is_stream:
                self.send_on(client, stream, frame)
            else:
                waiting.append(frame)
                arrived.set()

        def done(task: asyncio.Task[None]) -> None:
            running.discard(task)
            if not running:
                # The stream of a request that is never answered stays open.
                if has_answered or task.cancelled():
                    self.answered(stream)
                arrived.set()

        client.server.receive(request.body, outlet)
        ids = [msgspec.json.encode(one["id"]).decode() for one in request.requests]
        calls = client.server.calls
        running = {calls[id] for id in ids if id in calls}
        for task in list(running):
            task.add_done_callback(done)
        await arrived.wait()
        is_answer = bool(waiting) and "method" not in waiting[0]
        if is_answer and not self.streams(request, waiting[0]):
            return self.answer_response(request, waiting[0])
        if not is_stream:
            self.prime(stream)
            is_stream = True
            for frame in waiting:
                self.send_on(client, stream, frame)
        return self.stream_response(request, stream)

    def streams_at_once(self, request: EndpointRequest) -> bool:
        """Return True if the answer comes on a stream that is opened before there is any."""
        # A status of its own would come too late on a stream.
        return not self.profile.http_status and self.is_call(request)

    def streams(self, request: EndpointRequest, answer: Json) -> bool:
        """Return True if an answer that comes first is sent on a stream."""
        return self.status_of(request, answer) == 200 and self.is_call(request)

    def is_call(self, request: EndpointRequest) -> bool:
        """Return True if a body calls a tool, and its client takes streams."""
        takes = "text/event-stream" in request.headers.get("accept", "")
        call = self.profile.call_tool
        return takes and call is not None and request.names(call.name)

    def answer_response(self, request: EndpointRequest, answer: Json) -> EndpointResponse:
        """Return the response with an answer as JSON."""
        response = self.json_response(self.status_of(request, answer), answer)
        opens = self.is_opening(request) and is_object(member(answer, "result"))
        if opens and request.session is not None and self.profile.session_header:
            response.headers[self.profile.session_header] = request.session.id
        return response

    def status_of(self, request: EndpointRequest, answer: Json) -> int:
        """Return the status of the response with an answer."""
        if is_array(answer):
            return 200
        code = member(answer, "error", "code")
        if code == self.profile.errors.invalid_params and self.lacks_metadata(request):
            return 400
        return self.profile.http_status.get(code, 200)

    def lacks_metadata(self, request: EndpointRequest) -> bool:
        """Return True if a request does not say what each must, where there is no handshake."""
        keys = (self.profile.protocol_version_key, self.profile.client_capabilities_key)
        meta = member(request.message, "params", "_meta")
        return any(key is not None and member(meta, key) is None for key in keys)

    # --- streams ---

    def stream_response(
        self, request: EndpointRequest, stream: EventStream, start: int = 0
    ) -> EndpointResponse:
        """Return the response with a stream, from one of its events on."""
        headers = dict(STREAM)
        if not self.profile.get_stream and self.profile.http_transport == "streamable":
            headers["x-accel-buffering"] = "no"
        return EndpointResponse(status=200, headers=headers, stream=stream, start=start)

    def prime(self, stream: EventStream) -> None:
        """Begin a stream with an event that a client can come back to."""
        if self.profile.primes_streams:
            stream.add(SentEvent(b"", {"id": self.event_id(stream)}))

    def event_id(self, stream: EventStream) -> str:
        """Return the id of the next event of a stream."""
        return f"{stream.name}-{len(stream.events)}"

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        """Send a message on a stream."""
        fields = {"id": self.event_id(stream)} if self.profile.resumes_streams else {}
        stream.add(SentEvent(msgspec.json.encode(frame), fields))

    def answered(self, stream: EventStream) -> None:
        """End a stream after the answer."""
        stream.end()

    def send_unasked(self, client: ReferenceSession, frame: Json) -> None:
        """Send a message that belongs to no request."""
        open_ones = [one for one in client.listening if not one.is_over]
        if open_ones:
            self.send_on(client, open_ones[-1], frame)
        else:
            client.held.append(frame)

    # --- GET and DELETE ---

    async def get(self, request: EndpointRequest) -> EndpointResponse:
        """Open a stream for what belongs to no request, or resume one."""
        refusal = self.check_session(request) or self.check_version(request)
        if refusal is not None:
            return refusal
        last = request.headers.get(RESUME_HEADER.lower())
        found = self.resume(request, last) if last else None
        return found or self.listen(request)

    def listen(self, request: EndpointRequest) -> EndpointResponse:
        """Open a stream for what belongs to no request."""
        client = request.session
        assert client is not None
        stream = EventStream(f"get{request.exchange}")
        self.prime(stream)
        client.streams.append(stream)
        client.listening.append(stream)
        held, client.held = client.held, []
        for frame in held:
            self.send_on(client, stream, frame)
        return self.stream_response(request, stream)

    def resume(self, request: EndpointRequest, last: str) -> EndpointResponse | None:
        """Return the rest of the stream of an event; None if there is none.

        Args:
            request: The request.
            last: Id of the last event that the client has seen.
        """
        for stream in request.session.streams if request.session else ():
            place = stream.place_of(last)
            if place is not None:
                return self.stream_response(request, stream, place)
        return None

    async def delete(self, request: EndpointRequest) -> EndpointResponse:
        """End a session."""
        refusal = self.check_session(request) or self.check_version(request)
        if refusal is not None:
            return refusal
        assert request.session is not None
        await request.session.end()
        return EndpointResponse(status=200)

    def open_pair(self, request: EndpointRequest) -> EndpointResponse:
        """Open the stream of a client, at a revision with two endpoints."""
        client = request.session
        assert client is not None
        stream = EventStream("stream")
        client.streams.append(stream)
        client.listening.append(stream)
        stream.add(self.endpoint_event(client))
        return self.stream_response(request, stream)

    def endpoint_event(self, client: ReferenceSession) -> SentEvent:
        """Return the event that says where messages go."""
        where = f"{MESSAGES_PATH}?session_id={client.id}"
        return SentEvent(where.encode(), {"event": "endpoint"})

    # --- refusals ---

    def no_such_method(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse an HTTP method."""
        return EndpointResponse(status=405)

    def no_session_named(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse a request without the id of a session."""
        return self.refused(400, Failure(self.profile.errors.invalid_request, "Missing session id"))

    def no_such_session(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse a request with the id of a session that there is none of."""
        return self.refused(404, Failure(self.profile.errors.invalid_request, "No such session"))

    def unsupported(self, version: str | None) -> Failure:
        """Return the error for a revision that is not spoken."""
        code = self.profile.errors.unsupported_protocol_version
        if code is None:
            return Failure(self.profile.errors.invalid_request, "Unsupported protocol version")
        data = {"supported": [self.profile.revision], "requested": version}
        return Failure(code, "Unsupported protocol version", data)

    def mismatch(self, header: str) -> Failure:
        """Return the error for a header that does not say what the message says."""
        code = self.profile.errors.header_mismatch
        assert code is not None
        # A client of an earlier revision can do nothing but show the data to its user.
        return Failure(code, f"Header mismatch: {header}", {"supported": [self.profile.revision]})

    def refused(self, status: int, failure: Failure, id: Any = None) -> EndpointResponse:
        """Return the response with an error."""
        error: Json = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        named: Json = {} if id is None else {"id": id}
        return self.json_response(status, {"jsonrpc": "2.0", **named, "error": error})

    def json_response(self, status: int, frame: Json) -> EndpointResponse:
        """Return the response with a message as JSON."""
        return EndpointResponse(status=status, headers=dict(JSON), body=msgspec.json.encode(frame))
