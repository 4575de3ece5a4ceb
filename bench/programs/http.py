"""An HTTP server on a port of its own choosing: `ours`, `bare REVISION` or `static`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import uvicorn

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


def bare(revision: str) -> App:
    """A Starlette route that decodes and answers with msgspec."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from bench.programs.bare import answering

    answer = answering(revision)

    async def call(request: Request) -> Response:
        return Response(answer(await request.body()), media_type="application/json")

    return Starlette(routes=[Route("/mcp", call, methods=["POST"])])


def ours() -> App:
    """Our server as an ASGI app."""
    from bench.programs.ours_http import server

    return server.asgi()


_bodies: dict[bytes, bytes] = {}


async def static(scope: Message, receive: Any, send: Any) -> None:
    """The same bytes for every request: what uvicorn itself and the load generator can do."""
    await receive()
    size = dict(scope["headers"]).get(b"x-size", b"2")
    body = _bodies.get(size)
    if body is None:
        body = _bodies[size] = b"{" + b" " * (int(size) - 2) + b"}"
    headers = [(b"content-type", b"application/json"), (b"content-length", size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(app: App) -> None:
    """Print the port, then serve until told to stop."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", lifespan="off", access_log=False, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    serve(ours() if kind == "ours" else bare(*rest) if kind == "bare" else static)
