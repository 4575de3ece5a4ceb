"""Reads POST bodies: checks media type and encoding, limits size and time."""

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
"""Default timeout, in seconds, for a body to arrive."""

JSON = b"application/json"
LONG_LENGTH = len("10000")
"""Digits of `Content-Length` from which the declared length is checked before reading."""

_PLAIN = b"identity"
_CLOSE: Line = (b"connection", b"close")
_EXPECTED_JSON = "expected the header `Content-Type: application/json`"


async def read_message(call: HttpRequest, limit_bytes: int) -> bytes | None:
    """Read the body of a POST.

    Args:
        call: The request.
        limit_bytes: The largest body that is accepted.

    Returns:
        The body; None if the request was refused (413, 415, 408), or the client disconnected.
    """
    objection = unreadable(call, limit_bytes)
    if objection:
        await call.refuse(*objection)
        return None
    watch = call.watch
    task = asyncio.current_task(watch.loop)
    watch.reading.add(task)
    if watch.ticking is None:
        watch.start_body_timer()
    try:
        return await read_on(call, limit_bytes, await call.receive())
    except asyncio.CancelledError:
        if not watch.timed_out(task):
            raise
        await refuse_late(call)
        return None
    finally:
        watch.reading.discard(task)
        if watch.reading_long:
            watch.body_read(task)


async def read_on(call: HttpRequest, limit_bytes: int, message: Message) -> bytes | None:
    """Read the rest of a body after its first ASGI message.

    Args:
        call: The request.
        limit_bytes: The largest body that is accepted.
        message: The first ASGI message of the body.

    Returns:
        The whole body; None if the request was refused (413), or the client disconnected.
    """
    # One buffer instead of a list of parts: a client may send one byte per part.
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > limit_bytes:
            await call.refuse(413, _too_large(limit_bytes), *_close_connection(call))
            return None
        if not message.get("more_body"):
            return bytes(body)
        message = await call.receive()
    return None


async def refuse_late(call: HttpRequest) -> None:
    """Refuse a request with 408 because its body took too long."""
    await call.refuse(408, "the message took too long to come", *_close_connection(call))


def _close_connection(call: HttpRequest) -> Sequence[Line]:
    """Return the header that closes an HTTP/1 connection with unread body bytes."""
    # HTTP/2 and later have no `Connection` header, and close the stream alone.
    return (_CLOSE,) if call.scope.get("http_version", "").startswith("1.") else ()


def unreadable(call: HttpRequest, limit_bytes: int) -> tuple[Any, ...] | None:
    """Check the headers of a POST before its body is read.

    Returns:
        The arguments of `HttpRequest.refuse` (415 or 413); None if the body may be read.
    """
    raw = call.headers.raw
    kind = raw.get(b"content-type", JSON)
    if kind != JSON and not _is_json(kind):
        return 415, _EXPECTED_JSON
    coding = raw.get(b"content-encoding")
    if coding is not None and coding.strip().lower() != _PLAIN:
        return 415, "expected no `Content-Encoding`", (b"accept-encoding", _PLAIN)
    length = raw.get(b"content-length", b"")
    # Refuse by the declared length: with `Expect: 100-continue` no body is sent at all.
    if len(length) >= LONG_LENGTH and length.isdigit() and int(length[:20]) > limit_bytes:
        return 413, _too_large(limit_bytes), *_close_connection(call)
    return None


def _too_large(limit_bytes: int) -> str:
    return f"a message may have at most {limit_bytes} bytes"


def _is_json(kind: bytes) -> bool:
    return kind.partition(b";")[0].strip().lower() == JSON
