"""The body of a POST: what it must be, how much there may be of it, and how long it may take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.transports.http_server.asgi import Line, Message
    from mcp_gen.transports.http_server.request import HttpRequest

__all__ = [
    "BODY_TIMEOUT_S",
    "JSON",
    "LONG_LENGTH",
    "read_message",
    "read_on",
    "refuse_late",
    "unreadable",
]

BODY_TIMEOUT_S = 60.0
"""How long a message may take to come, unless the app is told otherwise."""

JSON = b"application/json"
LONG_LENGTH = len("10000")
"""A length of fewer digits is not looked at before the message."""

_PLAIN = b"identity"
_CLOSE: Line = (b"connection", b"close")
_EXPECTED_JSON = "expected the header `Content-Type: application/json`"


async def read_message(call: HttpRequest, limit_bytes: int) -> bytes | None:
    """The body of a POST; None if it was refused, or if the client hung up."""
    objection = unreadable(call, limit_bytes)
    if objection:
        await call.refuse(*objection)
        return None
    watch = call.watch
    task = asyncio.current_task(watch.loop)
    watch.reading.add(task)
    if watch.ticking is None:
        watch.tick()
    try:
        return await read_on(call, limit_bytes, await call.receive())
    except asyncio.CancelledError:
        if not watch.was_late(task):
            raise
        await refuse_late(call)
        return None
    finally:
        watch.reading.discard(task)
        if watch.reading_long:
            watch.has_read(task)


async def read_on(call: HttpRequest, limit_bytes: int, message: Message) -> bytes | None:
    """The body that a message begins; None if it was refused, or if the client hung up."""
    # Not a list of parts: there may be as many as there are bytes.
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > limit_bytes:
            await call.refuse(413, _too_large(limit_bytes), *_hang_up(call))
            return None
        if not message.get("more_body"):
            return bytes(body)
        message = await call.receive()
    return None


async def refuse_late(call: HttpRequest) -> None:
    """Say that the client has had its time."""
    await call.refuse(408, "the message took too long to come", *_hang_up(call))


def _hang_up(call: HttpRequest) -> Sequence[Line]:
    """What ends a connection on which the rest of a message would still come."""
    # From HTTP/2 on there is no such header, and no need for it.
    return (_CLOSE,) if call.scope.get("http_version", "").startswith("1.") else ()


def unreadable(call: HttpRequest, limit_bytes: int) -> tuple[Any, ...] | None:
    """Why a message is not even read: what to refuse it with."""
    raw = call.headers.raw
    kind = raw.get(b"content-type", JSON)
    if kind != JSON and not _is_json(kind):
        return 415, _EXPECTED_JSON
    coding = raw.get(b"content-encoding")
    if coding is not None and coding.strip().lower() != _PLAIN:
        return 415, "expected no `Content-Encoding`", (b"accept-encoding", _PLAIN)
    length = raw.get(b"content-length", b"")
    # A client that asks beforehand need not even begin.
    if len(length) >= LONG_LENGTH and length.isdigit() and int(length[:20]) > limit_bytes:
        return 413, _too_large(limit_bytes), *_hang_up(call)
    return None


def _too_large(limit_bytes: int) -> str:
    return f"a message may have at most {limit_bytes} bytes"


def _is_json(kind: bytes) -> bool:
    return kind.partition(b";")[0].strip().lower() == JSON
