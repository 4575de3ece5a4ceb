"""Server-sent events as bytes.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

__all__ = ["COMMENT", "event", "named", "primer", "retry"]

COMMENT = b":\n\n"
"""What a reader skips: it keeps the connection alive."""


def event(data: bytes, id: str = "") -> bytes:
    """One message, JSON in UTF-8; with `id` a client can ask for what comes behind it."""
    if b"\n" in data or b"\r" in data:
        # In JSON a line ends between tokens only, where a space means the same.
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    if id:
        return b"id: %b\ndata: %b\n\n" % (id.encode(), data)
    return b"data: %b\n\n" % data


def named(name: str, data: bytes) -> bytes:
    """An event of a type of its own."""
    return b"event: %b\n%b" % (name.encode(), event(data))


def primer(id: str) -> bytes:
    """An event without data: from now on a client knows where to go on."""
    return f"id: {id}\ndata:\n\n".encode()


def retry(after_ms: int) -> bytes:
    """How long a client is to wait before it connects again."""
    return f"retry: {after_ms}\n\n".encode()
