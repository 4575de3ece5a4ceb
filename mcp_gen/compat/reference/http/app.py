"""ASGI app of an HTTP endpoint: requests in, responses out, and a transcript per client."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import entries
from mcp_gen.compat.method_names import openings
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse, read_request
from mcp_gen.compat.reference.http.listening import HOST, listening

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.reference.http.sessions import ReferenceSession
    from mcp_gen.compat.reference.http.streams import EventStream
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.transports.http_server.asgi import Receive, Scope, Send

__all__ = ["EndpointApp"]


class EndpointApp(ABC):
    """App that hands each request to `respond`, and writes down all that comes and goes.

    Args:
        path: Path of the endpoint.
        unknown: Takes requests of clients that are not known.
    """

    host = HOST
    """The address that it listens on."""

    def __init__(self, path: str, unknown: Transcript) -> None:
        self.path = path
        self.unknown = unknown
        self.clients: list[ReferenceSession] = []
        """Every client that there was, with its transcript; one for all without sessions."""
        self._exchanges = 0
        self._running: set[asyncio.Task[Any]] = set()

    @abstractmethod
    def client_of(self, request: EndpointRequest) -> ReferenceSession | None:
        """Return the client that a request comes from; None if it is not known."""

    def transcript_of(self, request: EndpointRequest) -> Transcript:
        """Return the transcript that a request belongs in.

        What does not say which client it comes from comes from the last one, if there is one:
        unless it opens a connection.
        """
        if request.session is not None:
            return request.session.transcript
        opens = any(one.get("method") in openings() for one in entries(request.message))
        return self.unknown if opens or not self.clients else self.clients[-1].transcript

    @abstractmethod
    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request."""

    @abstractmethod
    def disconnected(self, request: EndpointRequest) -> None:
        """Take note that a client has disconnected before the end of a response."""

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncGenerator[str, None]:
        """Serve on the loopback interface, and yield the URL of the endpoint.

        Args:
            port: The port; 0 for a free one.
        """
        async with listening(self, self.host, port) as origin:
            try:
                yield f"{origin}{self.path}"
            finally:
                await self.aclose()

    async def aclose(self) -> None:
        """End every client."""
        for client in self.clients:
            await client.end()
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in the background, until the end of the endpoint at most."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        self._exchanges += 1
        request = await read_request(scope, receive, self._exchanges)
        request.session = self.client_of(request)
        transcript = self.transcript_of(request)
        self._write_down(request, transcript)
        watching = self.run(self._watch(request, receive))
        try:
            response = await self.respond(request)
            await self._send(response, request, transcript, send)
        finally:
            watching.cancel()

    def _write_down(self, request: EndpointRequest, transcript: Transcript) -> None:
        about = f"{request.method} {request.path}"
        exchange = request.exchange
        transcript.add("client", "request", exchange=exchange, headers=request.headers, about=about)
        if request.body:
            transcript.add("client", "message", request.body, exchange=exchange)

    async def _watch(self, request: EndpointRequest, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        request.gone = True
        request.on_gone()
        self.disconnected(request)

    async def _send(
        self,
        response: EndpointResponse,
        request: EndpointRequest,
        transcript: Transcript,
        send: Send,
    ) -> None:
        exchange, stream = request.exchange, response.stream
        transcript.add(
            "server",
            "response",
            exchange=exchange,
            status=response.status,
            headers={name.lower(): value for name, value in response.headers.items()},
        )
        headers = [(name.lower().encode(), one.encode()) for name, one in response.headers.items()]
        if stream is None:
            headers.append((b"content-length", b"%d" % len(response.body)))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if stream is None:
            if response.body:
                transcript.add("server", "message", response.body, exchange=exchange)
            await send({"type": "http.response.body", "body": response.body})
            transcript.add("server", "ended", exchange=exchange)
            return
        pumping = asyncio.create_task(
            self._pump(stream, response.start, exchange, transcript, send)
        )
        request.on_gone = pumping.cancel
        if request.gone:
            pumping.cancel()
        try:
            await asyncio.wait({pumping})
        finally:
            pumping.cancel()
        # After its end a response counts as one whose client is gone, too.
        by: Sender = "client" if pumping.cancelled() else "server"
        transcript.add(by, "ended", exchange=exchange)

    async def _pump(
        self, stream: EventStream, start: int, exchange: int, transcript: Transcript, send: Send
    ) -> None:
        stream.connections += 1
        try:
            async with aclosing(stream.read(start)) as events:
                async for event in events:
                    transcript.add(
                        "server",
                        "message" if event.is_message else "sse",
                        event.data or b"",
                        exchange=exchange,
                        about=event.about,
                    )
                    body = event.encoded()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body"})
        finally:
            stream.connections -= 1
