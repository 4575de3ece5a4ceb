"""Fails the request that an oversized message of a server answers."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.errors import TransportError

if TYPE_CHECKING:
    from mcp_gen.core.protocol_state import ProtocolState

__all__ = ["fail_oversized"]

# Compiled with the first such message.
_RESPONSE_ID = (
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,18}|"[\w.-]{1,99}")\s*[,}]'
)
"""The id of a message that begins with it."""
_NO_RESPONSE = rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:method|params)"'
"""The beginning of a notification."""


def fail_oversized(
    state: ProtocolState[asyncio.Future[Any]], limit_bytes: int, beginning: bytes
) -> None:
    """Fail the request that a message answers which is too large to be read.

    It is known by its id, if that stands before the result, or if no other request is open.

    Args:
        state: State of the connection.
        limit_bytes: The limit of the transport, in bytes.
        beginning: The first bytes of the message.
    """
    if re.match(_NO_RESPONSE, beginning):
        return
    found = re.match(_RESPONSE_ID, beginning)
    waiter = state.waiter_of(msgspec.json.decode(found[1]) if found else None)
    if waiter is not None and not waiter.done():
        waiter.set_exception(
            TransportError(
                f"the server's answer has more than {limit_bytes} bytes "
                "(`max_message_bytes` of the client), so it was not read"
            )
        )
