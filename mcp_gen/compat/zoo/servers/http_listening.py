"""Endpoints that break the rules of GET streams and resumption, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.sessions import ReferenceSession
from mcp_gen.compat.reference.http.streams import EventStream, SentEvent
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.servers.http_streams import PAUSE_S, is_question
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("http:get")
class GetNotFound(ReferenceEndpoint):
    """Says of a GET that there is nothing."""

    async def get(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=404)


@keeps("http:get")
class GetNotAllowed(ReferenceEndpoint):
    """Has no stream for what belongs to no request."""

    async def get(self, request: EndpointRequest) -> EndpointResponse:
        return self.no_such_method(request)


class ProgressElsewhere(ReferenceServer):
    """Reports progress as if it belonged to no request."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        result = await super().run_count(call, arguments)
        await asyncio.sleep(PAUSE_S)
        return result

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        if call.progress_token is not None:
            self.tell("progress", {"progressToken": call.progress_token, **params})


@breaks("http:get:unrelated")
class ProgressOnGet(ReferenceEndpoint):
    """Reports progress on the stream of a GET."""

    def new_server(self) -> ReferenceServer:
        return ProgressElsewhere(self.profile.revision)


class TellsOfChanges(ReferenceServer):
    """Says in the middle of a call that the list of tools has changed."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        self.tell("tool_list_changed")
        return await super().run_count(call, arguments)


@keeps("http:get:unrelated")
class ChangesOnGet(ReferenceEndpoint):
    """Says on the stream of a GET that the list of tools has changed, during a call."""

    def new_server(self) -> ReferenceServer:
        return TellsOfChanges(self.profile.revision)


@breaks("http:get:no-answers")
class AnswersOnGet(ReferenceEndpoint):
    """Sends the answers to calls on the stream of a GET."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        if "method" not in frame and client.listening and stream not in client.listening:
            stream = client.listening[-1]
        super().send_on(client, stream, frame)

    def answered(self, stream: EventStream) -> None:
        asyncio.get_running_loop().call_later(PAUSE_S, stream.end)


@keeps("http:get:no-answers")
class QuestionsOnGet(ReferenceEndpoint):
    """Sends the questions of a call on the stream of a GET."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        if is_question(frame) and client.listening:
            stream = client.listening[-1]
        super().send_on(client, stream, frame)


@breaks("http:no-broadcast")
class QuestionsEverywhere(ReferenceEndpoint):
    """Sends a question on every stream."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        super().send_on(client, stream, frame)
        if is_question(frame):
            for other in client.listening:
                super().send_on(client, other, frame)


@keeps("http:no-broadcast")
class QuestionsInTurn(ReferenceEndpoint):
    """Sends the same question twice, with an id each, on two streams."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        super().send_on(client, stream, frame)
        ping = self.profile.ping
        if is_question(frame) and ping is not None and client.listening:
            again: dict[str, Any] = {"jsonrpc": "2.0", "id": f"again-{frame['id']}"}
            super().send_on(client, client.listening[-1], {**again, "method": ping.name})


@breaks("http:event-ids")
class LastEvents(ReferenceEndpoint):
    """Gives the answer on each stream the same id."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        super().send_on(client, stream, frame)
        if "method" not in frame:
            stream.events[-1] = SentEvent(stream.events[-1].data, {"id": "last"})


@keeps("http:event-ids")
class IdsInTwoCases(ReferenceEndpoint):
    """Gives events ids that differ in the case of letters alone."""

    def event_id(self, stream: EventStream) -> str:
        number = len(stream.events)
        letters = f"{number:b}".replace("1", "A").replace("0", "a")
        return f"{stream.name}-{letters}"


@breaks("http:replay")
class ReplaysAll(ReferenceEndpoint):
    """Replays the messages of all streams."""

    def resume(self, request: EndpointRequest, last: str) -> EndpointResponse | None:
        streams = request.session.streams if request.session else []
        if super().resume(request, last) is None:
            return None
        whole = EventStream("whole")
        for stream in streams:
            for event in stream.events:
                whole.add(event)
        whole.end()
        return self.stream_response(request, whole)


@keeps("http:replay")
class ReplaysWithNewIds(ReferenceEndpoint):
    """Replays what a stream missed, after an event that primes the client again."""

    def resume(self, request: EndpointRequest, last: str) -> EndpointResponse | None:
        found = super().resume(request, last)
        if found is None or found.stream is None:
            return None
        if found.stream.is_over:
            rest = EventStream(f"{found.stream.name}-rest{request.exchange}")
            rest.add(SentEvent(b"", {"id": self.event_id(rest)}))
            for event in found.stream.events[found.start :]:
                rest.add(event)
            rest.end()
            return self.stream_response(request, rest)
        return found
