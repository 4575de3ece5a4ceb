"""Maps exceptions to JSON-RPC errors."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_gen.core import envelope
from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import (
    InvalidParams,
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
    """Return the JSON-RPC error for an exception in `what`; hidden details are logged."""
    told = primary_error(error)
    if isinstance(told, McpError | ProtocolError):
        return envelope.error_object(told)
    if isinstance(told, RequestTimeout):
        _log.warning("%s was not answered: %s", what, told)
    elif is_disconnect(error):
        _log.debug("%s was not answered: %s", what, told)
    else:
        # Details stay here: they may hold what no peer should see.
        _log.error("%s failed", what, exc_info=error)
    if isinstance(told, McpGenError) and not isinstance(told, UsageError):
        return envelope.ErrorObject(ProtocolError.code, str(told))
    return _INTERNAL


def internal_error(id: RequestId) -> bytes:
    """Return the answer to a request whose handler failed for a reason to keep private."""
    return envelope.failure(id, _INTERNAL)


def is_cancelled() -> bool:
    """Return True if the request itself was cancelled, not something its handler awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def bad_params(method: str, error: Exception) -> ProtocolError:
    """Return the error for params that could not be decoded."""
    if isinstance(error, RecursionError):
        return InvalidParams(f"{method}: nested too deeply")
    return InvalidParams(f"{method}: {error}")
