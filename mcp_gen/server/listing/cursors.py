"""Pagination cursors: opaque positions in a list."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcp_gen.core.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.server.listing.registry import Numbered, Registry

__all__ = ["cursor_after", "decode", "encode", "position_of"]

T = TypeVar("T")

MAX_CURSOR = 64 * 1024
"""Characters of a cursor; those of this module have the name of an item and little more."""
_PROCESS = base64.urlsafe_b64encode(os.urandom(6)).decode()
"""Identifier of this process: item numbers are valid only in the process that assigned them."""


class _Position(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Position after an item, by its number, and by its name for other processes."""

    field: str
    process: str
    number: int
    name: str


def encode(position: object) -> str:
    """Return the cursor of a position in a list."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def decode(cursor: str, kind: type[T]) -> T | None:
    """Return the position of a cursor, or None if it does not decode to that type."""
    if len(cursor) > MAX_CURSOR:
        return None
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        return msgspec.json.decode(text, type=kind)
    except (ValueError, msgspec.DecodeError):
        return None


def cursor_after(field: str, number: int, name: str) -> str:
    """Return the cursor of the page that begins after an item.

    Args:
        field: Name of the list's field in the result.
        number: Number of the item.
        name: Name of the item.
    """
    return encode(_Position(field, _PROCESS, number, name))


def position_of(
    cursor: str, field: str, items: Registry[Any], more: Iterable[Numbered] = ()
) -> int:
    """Return the number of the item after which a page begins. The item may be removed by now.

    A cursor of another process is valid as long as its item exists: without sessions, each request
    may reach another server process.

    Args:
        cursor: Pagination cursor from the client.
        field: Name of the list's field in the result.
        items: Registry of the listed items.
        more: Items of the list that are not in the registry.

    Raises:
        InvalidParams: The cursor was not made for this list.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """
    position = decode(cursor, _Position)
    if position is None or position.field != field:
        raise _invalid_cursor(items.kind)
    if position.process == _PROCESS:
        return position.number
    entry: Numbered | None = items.entry(position.name)
    entry = entry or next((one for one in more if one.name == position.name), None)
    if entry is None:
        raise _invalid_cursor(items.kind)
    return entry.number


def _invalid_cursor(kind: str) -> InvalidParams:
    return InvalidParams(
        f"{kind} list: expected a cursor from this list's last page; begin again without one - "
        "at `$.cursor`"
    )
