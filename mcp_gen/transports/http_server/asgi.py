"""ASGI types, plain responses and the lifespan protocol.

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
    """Send a complete response: status, headers and body.

    Args:
        send: The ASGI send callable.
        answer: The response; a body is sent as `application/json`.
        more: Further header lines.
    """
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
    """Return headers as ASGI header lines: lower-case names, bytes."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


async def lifespan(
    receive: Receive,
    send: Send,
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
) -> None:
    """Run the ASGI lifespan protocol: `start` at startup, `stop` at shutdown.

    An error of either is reported as `lifespan.startup.failed` or `lifespan.shutdown.failed`, and
    ends the lifespan.
    """
    steps = {"startup": start, "shutdown": stop}
    while True:
        kind = (await receive())["type"].removeprefix("lifespan.")
        try:
            await steps[kind]()
        except Exception as error:
            # Report instead of raising: the HTTP server logs the failure and does not serve.
            await send({"type": f"lifespan.{kind}.failed", "message": str(error)})
            return
        await send({"type": f"lifespan.{kind}.complete"})
        if kind == "shutdown":
            return
