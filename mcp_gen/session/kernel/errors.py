"""Maps exceptions to JSON-RPC errors."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_gen.core import envelope
from mcp_gen.core.checks.finite import find_non_finite
from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    McpGenError,
    ProtocolError,
    RequestTimeout,
    ResourceNotFound,
    ToolError,
    UsageError,
)
from mcp_gen.core.peer_values import shortened
from mcp_gen.session.messages.channel import is_disconnect

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId

__all__ = [
    "STORE_DOWN",
    "ClientMcpError",
    "InternalMcpError",
    "bad_params",
    "cut_off",
    "error_for_peer",
    "internal_error",
    "is_cancelled",
    "is_for_peer",
    "is_store_down",
    "log_background_error",
    "masked",
    "masked_text",
    "store_down",
    "token_expired",
]

_log = logging.getLogger("mcp_gen.server")
_INTERNAL = envelope.ErrorObject(ProtocolError.code, "internal error")
_CUT_OFF = envelope.ErrorObject(
    ProtocolError.code, "the server broke off this request before it was answered"
)
STORE_DOWN = "the sessions cannot be reached now; try again"
STORE_LOST = "a store that the request needs cannot be reached now; it may have taken effect"
_EXPIRED = envelope.ErrorObject(
    InvalidRequest.code,
    "the access token expired before this request was answered: send it again with a new token",
)
_FOR_PEER = (McpError, ProtocolError, ToolError, ResourceNotFound, RequestTimeout)
"""Errors that are raised for the peer to read; all others are failures."""


class ClientMcpError(McpError):
    """Internal error that the client answered a request of the server with."""


class InternalMcpError(McpError):
    """An McpError made of a failure: its text tells how the server works inside."""


def is_for_peer(error: BaseException) -> bool:
    """Return True if an error, or the first to report of a group, was raised for the peer."""
    primary = primary_error(error)
    return isinstance(primary, _FOR_PEER) and not isinstance(primary, InternalMcpError)


def masked_text(error: BaseException, what: str) -> str:
    """Log a failure under a new id, and return a text for the peer that has only the id.

    Args:
        error: The failure, or a group of exceptions.
        what: Name of what failed, for the log.
    """
    # Few servers mask errors, and it brings hashing and `random`.
    import secrets

    id = secrets.token_hex(6)
    if is_disconnect(error):
        _log.debug("%s failed, error %s: %s", what, id, error)
    else:
        _log.error("%s failed, error %s", what, id, exc_info=error)
    return f"internal error {id}; the log of the server says more"


def masked(error: BaseException, what: str) -> envelope.ErrorObject:
    """Log a failure under a new id, and return a JSON-RPC error that has only the id."""
    return envelope.ErrorObject(ProtocolError.code, masked_text(error, what))


def error_for_peer(error: BaseException, what: str, *, mask: bool = False) -> envelope.ErrorObject:
    """Return the JSON-RPC error for an exception; details that the peer should not see are logged.

    Args:
        error: Exception of a handler, or a group of exceptions.
        what: Name of the method that failed, for the log.
        mask: True sends nothing of a failure but the id under which it is logged.
    """
    primary = primary_error(error)
    if mask and not is_for_peer(error):
        return masked(error, what)
    if isinstance(primary, ClientMcpError):
        # As it is it would tell the client that this server is at fault.
        text = f"the client answered a request of the server with {primary.code}: {primary.message}"
        return envelope.ErrorObject(InvalidRequest.code, shortened(text))
    if isinstance(primary, McpError | ProtocolError):
        found = None if isinstance(primary, ProtocolError) else find_non_finite(primary.data)
        if found is None:
            return envelope.error_object(primary)
        where, number = found
        _log.error("%s: JSON has no number %s - at `%s` of the error's data", what, number, where)
        return _INTERNAL
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


def is_store_down(error: BaseException) -> bool:
    """Return True if a shared store could not be reached."""
    if not isinstance(error, McpGenError) or isinstance(error, McpError | ProtocolError):
        return False
    # Loaded with the first such error: only a shared store raises it.
    from mcp_gen.core.stores.failures import StoreDown

    return isinstance(error, StoreDown)


def store_down(error: BaseException) -> envelope.ErrorObject | None:
    """Return the JSON-RPC error for a store that cannot be reached now; None for other errors.

    It does not say where the store is.
    """
    if not is_store_down(error):
        return None
    _log.warning("a request was not answered: %s", error)
    return envelope.ErrorObject(ProtocolError.code, STORE_LOST, {"reason": "store_down"})


def log_background_error(what: str, error: BaseException) -> None:
    """Log the error of work that nobody waits for: one line if a shared store is down.

    Args:
        what: What has failed.
        error: Its error.
    """
    if is_store_down(error):
        _log.warning("%s: %s", what, error)
    else:
        _log.error(what, exc_info=error)


def internal_error(id: RequestId) -> bytes:
    """Return the error response to a request whose handler failed for a private reason."""
    return envelope.failure(id, _INTERNAL)


def cut_off(id: RequestId) -> bytes:
    """Return the error response to a request that the server broke off, as at its own end."""
    return envelope.failure(id, _CUT_OFF)


def token_expired(id: RequestId) -> bytes:
    """Return the error response to a request whose stream ends with its access token."""
    return envelope.failure(id, _EXPIRED)


def is_cancelled() -> bool:
    """Return True if the current task was cancelled.

    False if CancelledError comes from something that the handler awaits.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def bad_params(method: str, error: Exception) -> ProtocolError:
    """Return the InvalidParams error for params that could not be decoded."""
    return InvalidParams(f"{method}: {error}")
