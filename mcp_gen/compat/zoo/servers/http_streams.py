"""Endpoints that break the rules of streams, and their twins."""

from __future__ import annotations

import asyncio

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.sessions import ReferenceSession
from mcp_gen.compat.reference.http.streams import EventStream, SentEvent
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

PAUSE_S = 0.03


class SlowCount(ReferenceServer):
    """Takes its time to count."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        total = int(arguments["steps"])
        for step in range(1, total + 1):
            await asyncio.sleep(PAUSE_S)
            self.report_progress(call, {"progress": step, "total": total})
        return {"content": [{"type": "text", "text": str(total)}]}


class Polling(ReferenceEndpoint):
    """Hangs up before each answer to a call, which comes once its stream is resumed."""

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream)}))

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        if "method" in frame:
            super().send_on(client, stream, frame)
            return
        stream.drop()
        self.run(self.answer_later(client, stream, frame))

    async def answer_later(
        self, client: ReferenceSession, stream: EventStream, frame: Json
    ) -> None:
        """Send an answer after a while."""
        await asyncio.sleep(PAUSE_S)
        super().send_on(client, stream, frame)
        super().answered(stream)

    def answered(self, stream: EventStream) -> None:
        """Leave the stream open: its answer comes later."""


@breaks("http:stream:answers")
class StreamsWithoutAnswers(ReferenceEndpoint):
    """Ends the stream of a tool's error without the answer."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        if member(frame, "result", "isError") is not True:
            super().send_on(client, stream, frame)


@keeps("http:stream:answers")
class AnswersAfterSilence(ReferenceEndpoint):
    """Takes its time before an answer on a stream."""

    def new_server(self) -> ReferenceServer:
        return SlowCount(self.profile.revision)


@breaks("http:stream:not-before-answer")
class ClosedBeforeTheAnswer(Polling):
    """Closes streams before their answers."""


@keeps("http:stream:not-before-answer")
class PrimedStreams(ReferenceEndpoint):
    """Begins each stream with an event that a client can come back to."""

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream)}))


@breaks("http:retry")
class HangsUpWithoutRetry(Polling):
    """Hangs up and does not say when to come back."""


@keeps("http:retry")
class HangsUpWithRetry(Polling):
    """Says at the beginning of a stream when to come back, and hangs up later."""

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream), "retry": "1"}))


@breaks("http:priming")
class Unprimed(ReferenceEndpoint):
    """Begins a stream with its first message."""

    def prime(self, stream: EventStream) -> None:
        """Do nothing."""


@keeps("http:priming")
class PrimedWithRetry(ReferenceEndpoint):
    """Begins a stream with an id, no data, and a time for coming back."""

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream), "retry": "10"}))


@breaks("http:stream:unbuffered")
class Buffered(ReferenceEndpoint):
    """Lets proxies hold streams back."""

    def stream_response(
        self, request: EndpointRequest, stream: EventStream, start: int = 0
    ) -> EndpointResponse:
        response = super().stream_response(request, stream, start)
        response.headers.pop("x-accel-buffering", None)
        return response


@keeps("http:stream:unbuffered")
class UnbufferedInCapitals(ReferenceEndpoint):
    """Spells header and value in another way."""

    def stream_response(
        self, request: EndpointRequest, stream: EventStream, start: int = 0
    ) -> EndpointResponse:
        response = super().stream_response(request, stream, start)
        response.headers.pop("x-accel-buffering", None)
        response.headers["X-ACCEL-BUFFERING"] = "No"
        return response


@breaks("http:stream:no-requests")
class AsksOnStreams(ReferenceEndpoint):
    """Asks its client on the stream of a call."""

    def send_on(self, client: ReferenceSession, stream: EventStream, frame: Json) -> None:
        if "method" not in frame:
            asked = {"jsonrpc": "2.0", "id": f"ask-{stream.name}", "method": "com.example/ask"}
            super().send_on(client, stream, asked)
        super().send_on(client, stream, frame)


@keeps("http:stream:no-requests")
class TellsOnStreams(ReferenceEndpoint):
    """Reports progress on the stream of a call, each at a time of its own."""

    def new_server(self) -> ReferenceServer:
        return SlowCount(self.profile.revision)


@breaks("http:stream:closed")
class StreamsLeftOpen(ReferenceEndpoint):
    """Leaves a stream open after the answer."""

    def answered(self, stream: EventStream) -> None:
        """Do nothing."""


@keeps("http:stream:closed")
class StreamsClosedLater(ReferenceEndpoint):
    """Closes a stream a moment after the answer."""

    def answered(self, stream: EventStream) -> None:
        asyncio.get_running_loop().call_later(PAUSE_S, stream.end)


class MixedProgress(SlowCount):
    """Reports the progress of a call on the stream of another one that is waiting as well."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        await asyncio.sleep(PAUSE_S)
        self.waiting = call
        await asyncio.sleep(4 * PAUSE_S)
        del self.waiting
        return await super().run_echo(call, arguments)

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        other: ReferenceCall | None = getattr(self, "waiting", None)
        if other is None or call.progress_token is None:
            super().report_progress(call, params)
        else:
            other.tell("progress", {"progressToken": call.progress_token, **params})


@breaks("http:stream:related")
@breaks("http:stream:related-only")
class ProgressOfOthers(ReferenceEndpoint):
    """Reports progress on the stream of another call."""

    def new_server(self) -> ReferenceServer:
        return MixedProgress(self.profile.revision)


@keeps("http:stream:related")
@keeps("http:stream:related-only")
class ProgressAtOnce(ReferenceEndpoint):
    """Reports the progress of calls at the same time, each on its own stream."""

    def new_server(self) -> ReferenceServer:
        return SlowCount(self.profile.revision)


@breaks("http:disconnect")
class DisconnectCancels(ReferenceEndpoint):
    """Gives up on calls whose client hangs up."""

    def new_server(self) -> ReferenceServer:
        return SlowCount(self.profile.revision)

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream)}))

    def disconnected(self, request: EndpointRequest) -> None:
        super().disconnected(request)
        for one in request.requests if request.session else ():
            request.session.server.cancel(one["id"])  # type: ignore[union-attr]


@keeps("http:disconnect")
class DisconnectIsIgnored(ReferenceEndpoint):
    """Goes on with calls whose client hangs up."""

    def new_server(self) -> ReferenceServer:
        return SlowCount(self.profile.revision)

    def prime(self, stream: EventStream) -> None:
        stream.add(SentEvent(b"", {"id": self.event_id(stream)}))


def is_question(frame: Json) -> bool:
    """Return True for a request of the server."""
    return is_object(frame) and "method" in frame and "id" in frame
