"""Maps exceptions to JSON-RPC errors."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_gen.core import envelope
from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    McpGenError,
    ProtocolError,
    RequestTimeout,
    UsageError,
)
from mcp_gen.session.messages.channel import is_disconnect

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId

__all__ = ["bad_params", "error_for_peer", "internal_error", "is_cancelled"]

_log = logging.getLogger("mcp_gen.server")
_INTERNAL = envelope.ErrorObject(ProtocolError.code, "internal error")


def error_for_peer(error: BaseException, what: str) -> envelope.ErrorObject:
    """Return the JSON-RPC error for an exception; details that the peer should not see are logged.

    Args:
        error: Exception of a handler, or a group of exceptions.
        what: Name of the method that failed, for the log.
    """
    primary = primary_error(error)
    if isinstance(primary, McpError | ProtocolError):
        return envelope.error_object(primary)
    if isinstance(primary, RequestTimeout):
        _log.warning("%s was not answered: %s", what, primary)
    elif is_disconnect(error):
        _log.debug("%s was not answered: %s", what, primary)
        # Its own client has ended the session: no fault of this server.
        return envelope.ErrorObject(InvalidRequest.code, str(primary))
    else:
        # Details are logged only: they may hold data that no peer should see.
        _log.error("%s failed", what, exc_info=error)
    if isinstance(primary, McpGenError) and not isinstance(primary, UsageError):
        return envelope.ErrorObject(ProtocolError.code, str(primary))
    return _INTERNAL


def internal_error(id: RequestId) -> bytes:
    """Return the error response to a request whose handler failed for a private reason."""
    return envelope.failure(id, _INTERNAL)


def is_cancelled() -> bool:
    """Return True if the current task was cancelled.

    False if CancelledError comes from something that the handler awaits.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def bad_params(method: str, error: Exception) -> ProtocolError:
    """Return the InvalidParams error for params that could not be decoded."""
    return InvalidParams(f"{method}: {error}")
