"""The types of ASGI, and the two parts of it that every app has: plain answers and the lifespan.

Source: https://asgi.readthedocs.io/en/latest/specs/main.html
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Answer

__all__ = ["Message", "Receive", "Scope", "Send", "encoded_headers", "lifespan", "send_answer"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Line: TypeAlias = tuple[bytes, bytes]

_JSON: Line = (b"content-type", b"application/json")


async def send_answer(send: Send, answer: Answer, more: Iterable[Line] = ()) -> None:
    """Send an answer that is whole."""
    body = answer.body
    headers = [(b"content-length", b"%d" % len(body))]
    if body:
        headers.append(_JSON)
    if answer.headers:
        headers += encoded_headers(answer.headers)
    headers += more
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def encoded_headers(headers: Mapping[str, str]) -> list[Line]:
    """Headers as ASGI has them."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def lifespan(
    receive: Receive,
    send: Send,
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
) -> None:
    """Start and stop with the server that runs the app."""
    steps = {"startup": start, "shutdown": stop}
    while True:
        kind = (await receive())["type"].removeprefix("lifespan.")
        try:
            await steps[kind]()
        except Exception as error:
            # The HTTP server logs it, and does not serve: that is what the answer is for.
            await send({"type": f"lifespan.{kind}.failed", "message": str(error)})
            return
        await send({"type": f"lifespan.{kind}.complete"})
        if kind == "shutdown":
            return
