"""An HTTP server on a free port: `ours`, `plain`, `official`, `bare REVISION` and others."""

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, TypeAlias

import uvicorn

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


def bare(revision: str) -> App:
    """Return an app with a Starlette route that decodes and answers with msgspec."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from bench.programs.bare import answering

    answer = answering(revision)

    async def call(request: Request) -> Response:
        return Response(answer(await request.body()), media_type="application/json")

    return Starlette(routes=[Route("/mcp", call, methods=["POST"])])


def bare_streams() -> App:
    """Return a Starlette app whose event streams all get the same bytes on a tool call."""
    import asyncio
    from collections.abc import AsyncIterator

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    event = (
        b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":'
        b'{"io.modelcontextprotocol/subscriptionId":1}}}\n\n'
    )
    waiting: list[asyncio.Future[None]] = []

    async def events() -> AsyncIterator[bytes]:
        yield b":\n\n"
        while True:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append(waiter)
            await waiter
            yield event

    async def call(request: Request) -> Response:
        if request.headers["mcp-method"] == "tools/call":
            told = list(waiting)
            waiting.clear()
            for waiter in told:
                waiter.set_result(None)
            return Response(b"{}", media_type="application/json")
        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/mcp", call, methods=["POST"])])


def ours() -> App:
    """Return our server as an ASGI app."""
    from bench.programs.ours_http import server

    return server.asgi()


def frozen() -> App:
    """Return our server, which keeps the objects of its start out of garbage collections."""
    from bench.programs.ours_http import server

    return server.asgi(freeze_gc=True)


def plain() -> App:
    """Return our server without the encoders of the extra `fast`."""
    modules: dict[str, Any] = sys.modules
    modules.update(orjson=None, pybase64=None)
    return ours()


def official() -> App:
    """Return a server of the official SDK."""
    from mcp.server.transport_security import TransportSecuritySettings

    from bench.programs.official_http import server

    # The load generator names no port.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: App = server.streamable_http_app(json_response=True, transport_security=unchecked)
    return app


def clustered(url: str) -> App:
    """Return our server as the app of a node that shares a store."""
    from bench.programs.ours_http import server
    from mcp_gen.cluster import Redis

    return server.asgi(cluster=Redis(url))


_bodies: dict[bytes, bytes] = {}


async def static(scope: Message, receive: Any, send: Any) -> None:
    """Serve the same bytes for every request: the limit of uvicorn and the load generator."""
    await receive()
    size = dict(scope["headers"]).get(b"x-size", b"2")
    body = _bodies.get(size)
    if body is None:
        body = _bodies[size] = b"{" + b" " * (int(size) - 2) + b"}"
    headers = [(b"content-type", b"application/json"), (b"content-length", size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(app: App, *, lifespan: Literal["on", "off"]) -> None:
    """Print the port, then serve until stopped."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        lifespan=lifespan,
        access_log=False,
        log_level="warning",
        # Connections are kept while other rows are measured.
        timeout_keep_alive=600,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    apps: dict[str, Callable[..., App]] = {
        "ours": ours,
        "frozen": frozen,
        "plain": plain,
        "official": official,
        "clustered": clustered,
        "bare": bare,
        "bare_streams": bare_streams,
        "static": lambda: static,
    }
    serve(apps[kind](*rest), lifespan="on" if kind in ("official", "frozen") else "off")
