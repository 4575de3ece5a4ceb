"""Messages between the nodes of a cluster about tasks, as JSON."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.stores.tasks import NOTHING

__all__ = [
    "ASKED",
    "CHANGED",
    "Attach",
    "Changed",
    "Detach",
    "NodeReply",
    "Notify",
    "Question",
    "RemoteError",
    "Request",
    "Respond",
    "Responded",
    "Withdraw",
    "decode_changed",
    "decode_question",
    "decode_reply",
]

CHANGED = "task.changed"
"""Topic of broadcasts after each change of a task."""
ASKED = "task.asked"
"""Topic of questions to one node."""


class Changed(Struct, frozen=True):
    """Broadcast: the stored task has changed."""

    id: str


class _Question(Struct, frozen=True, tag_field="kind"):
    pass


class Respond(_Question, frozen=True):
    """To the node that runs a task: responses of the client to its input requests."""

    id: str
    responses: dict[str, Raw]


class Attach(_Question, frozen=True):
    """To the node that runs a task: a request for its result is open at this node."""

    id: str
    attachment: str


class Detach(_Question, frozen=True):
    """To the node that runs a task: that request has ended."""

    id: str
    attachment: str


class Notify(_Question, frozen=True):
    """To the node of an attached request: send a notification."""

    attachment: str
    method: str
    params: Raw


class Request(_Question, frozen=True):
    """To the node of an attached request: send a request to the client, unless that is done."""

    attachment: str
    request: str
    """Name of the request between the two nodes."""
    method: str
    params: Raw


class Withdraw(_Question, frozen=True):
    """To the node of an attached request: cancel a request to the client."""

    attachment: str
    request: str


class Responded(_Question, frozen=True, omit_defaults=True):
    """To the node that runs a task: outcome of a request to the client. Neither: it was lost."""

    request: str
    result: Raw = NOTHING
    error: RemoteError | None = None


class RemoteError(Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


class NodeReply(Struct, frozen=True, omit_defaults=True):
    """Answer to a question."""

    is_known: bool = True
    """False if the node has no such task, attachment or request."""
    error: RemoteError | None = None


Question: TypeAlias = Respond | Attach | Detach | Notify | Request | Withdraw | Responded

decode_changed = msgspec.json.Decoder(Changed).decode
decode_question = msgspec.json.Decoder(Question).decode
decode_reply = msgspec.json.Decoder(NodeReply).decode
