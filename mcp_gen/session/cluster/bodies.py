"""Messages that nodes send each other about sessions, as JSON arrays."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.loose_json import NOTHING

__all__ = [
    "CHANGED",
    "ENDED",
    "FOLLOW",
    "GONE",
    "LEAVES",
    "LISTENS",
    "MISSED",
    "MORE",
    "NO",
    "NOTICE",
    "RESPONSE",
    "SEEKS",
    "SEND",
    "TAKEN",
    "YES",
    "About",
    "Missed",
    "decode",
    "encode",
    "raw",
]

T = TypeVar("T")

CHANGED = "session.changed"
"""To all: a session has changed in the store."""
ENDED = "session.ended"
"""To all: a session has ended."""
LISTENS = "session.listens"
"""To all: a node has opened a stream for messages of no request."""
LEAVES = "session.leaves"
"""To all: such a stream has ended."""
SEEKS = "session.seeks"
"""To all: a node has a message for a session, and knows no stream of it."""
NOTICE = "session.notice"
"""To all: a notification of the client that the node with its request must know."""
RESPONSE = "session.response"
"""To one: a response of the client to a request of that node, or a notification about it."""
SEND = "session.send"
"""To one: a message for the stream of a session at that node."""
MISSED = "session.missed"
"""To one: changes that no stream of a session has carried."""
FOLLOW = "session.follow"
"""To one: a client continues a stream of that node at the node that asks."""
MORE = "session.more"
"""To one: a stream that the node follows has more messages."""
TAKEN = "session.taken"
"""To one: a client continues a stream that the node follows elsewhere."""

YES = b"yes"
NO = b"no"
GONE = b"gone"


class About(Struct, array_like=True):
    """Statement about a session.

    Args:
        session: The session id.
        stream: Name of a stream, if it is about one.
        number: Number, among those of the node that sends it, of a message or of the response that
            carries a stream.
        message: A message, if there is one.
    """

    session: str
    stream: str = ""
    number: int = 0
    message: Raw = NOTHING


class Missed(Struct, array_like=True):
    """Changes that no stream of a session has carried.

    Args:
        session: The session id.
        topics: Names of the changes.
    """

    session: str
    topics: list[str]


def encode(body: About | Missed) -> bytes:
    """Return a body as JSON."""
    if isinstance(body, About) and not body.message:
        return msgspec.json.encode([body.session, body.stream, body.number])
    return msgspec.json.encode(body)


def decode(body: bytes, kind: type[T]) -> T:
    """Return the body that another node has encoded."""
    return msgspec.json.decode(body, type=kind)


def raw(message: bytes) -> Raw:
    """Return a message as a part of a body."""
    return Raw(message)
