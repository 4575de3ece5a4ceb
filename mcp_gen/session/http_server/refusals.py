"""HTTP answers that refuse a message: errors with their status, and 503 with `Retry-After`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.envelope import TooComplex
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    ParseError,
    ProtocolError,
)
from mcp_gen.core.transport.protocols import Answer

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_wire.profile import Profile

__all__ = [
    "ENDING",
    "ENDS",
    "ENDS_S",
    "UnknownSession",
    "busy",
    "refusal",
    "refusal_of",
    "request_id_of",
    "status_of",
]

RETRY_AFTER_S = 60
"""Seconds after which a client may retry when there are too many of something."""
ENDS_S = 1
"""Seconds after which a client may retry when this process ends: another may be there by then."""
ENDS = "the server is about to end"


class UnknownSession(Exception):
    """The session does not exist, is another client's, or this URL has no sessions."""


def refusal(status: int, id: RequestId | None, error: McpError | ProtocolError) -> Answer:
    """Return an HTTP answer with a JSON-RPC error response."""
    if (
        id is None
        and isinstance(error, InvalidRequest | ParseError)
        and not envelope.is_response(error)
    ):
        # The error for a response has no id: it would look like the answer to a request.
        id = error.request_id
    return Answer(status, envelope.failure(id, envelope.error_object(error)))


def refusal_of(
    error: McpError | ProtocolError | UnknownSession, id: RequestId | None = None
) -> Answer:
    """Return the HTTP answer that refuses a message because of this error."""
    if isinstance(error, UnknownSession):
        return refusal(404, id, InvalidRequest(str(error)))
    return refusal(413 if isinstance(error, TooComplex) else 400, id, error)


def busy(why: str, id: RequestId | None = None, retry_after_s: int = RETRY_AFTER_S) -> Answer:
    """Return the answer (503, `Retry-After`) of a server that may accept the request later."""
    error = envelope.ErrorObject(ProtocolError.code, why)
    return Answer(503, envelope.failure(id, error), {"Retry-After": str(retry_after_s)})


def request_id_of(message: bytes) -> RequestId | None:
    """Return the id of a request; None for anything else."""
    try:
        frame = envelope.read(message)
    except ProtocolError:
        return None
    if frame.method is UNSET or not isinstance(frame.id, int | str):
        return None
    return frame.id


ENDING = busy(ENDS, None, ENDS_S)


def status_of(profile: Profile | None, error: McpError | ProtocolError) -> int:
    """Return the HTTP status for a request in a session that is refused with this error."""
    if profile is None:
        return 400
    if isinstance(error, MethodNotFound):
        return profile.unknown_method_status
    return 200 if isinstance(error, InvalidParams) else 400
