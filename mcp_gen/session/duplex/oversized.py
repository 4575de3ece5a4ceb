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

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*([0-9]{1,18}|"[\w.-]{1,99}")'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b\s*," % (_VERSION, _ID))
"""The id of a message that begins with it."""
_LAST_ID = re.compile(rb",\s*%b\s*(?:,\s*%b\s*)?\}\s*\Z" % (_ID, _VERSION))
"""The id of a message that ends with it."""
_NO_RESPONSE = re.compile(
    rb'\s*\{\s*(?:%b\s*,\s*)?(?:%b\s*,\s*)?"(?:method|params)"' % (_VERSION, _ID)
)
"""The beginning of a request or notification."""


def fail_oversized(
    state: ProtocolState[asyncio.Future[Any]], limit_bytes: int, beginning: bytes, end: bytes
) -> bool:
    """Fail the request that a message answers which is too large to be read.

    It is known by its id, before or after the result, or if no other request is open.

    Args:
        state: State of the connection.
        limit_bytes: The limit of the transport, in bytes.
        beginning: The first bytes of the message; empty if they were looked at before.
        end: The last bytes of the message; empty if they have not arrived.

    Returns:
        False if only the end can tell, and has not arrived.
    """
    if _NO_RESPONSE.match(beginning):
        return True
    found = _FIRST_ID.match(beginning) or _LAST_ID.search(end)
    if found is None and beginning and not end:
        return False
    waiter = state.waiter_of(msgspec.json.decode(found[1]) if found else None)
    if waiter is not None and not waiter.done():
        waiter.set_exception(
            TransportError(
                f"the server's answer has more than {limit_bytes} bytes "
                "(`max_message_bytes` of the client), so it was not read"
            )
        )
    return True
