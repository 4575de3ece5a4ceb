"""Cursors: opaque names of the place in a list behind which the next page begins."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcp_gen.core.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.server.listing.registry import Numbered, Registry

__all__ = ["cursor_to", "decode", "encode", "place_of"]

T = TypeVar("T")

_PROCESS = secrets.token_urlsafe(6)
"""Numbers mean something in the process that gave them."""


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Behind which item: by its number, and for other processes by its name."""

    field: str
    process: str
    number: int
    name: str


def encode(place: object) -> str:
    """Return the cursor of a place in a list."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def decode(cursor: str, kind: type[T]) -> T | None:
    """Return the place that a cursor names; None if it is no cursor of such a place."""
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        return msgspec.json.decode(text, type=kind)
    except (ValueError, msgspec.DecodeError):
        return None


def cursor_to(field: str, number: int, name: str) -> str:
    """The cursor of the page that begins behind an item of a list."""
    return encode(_Place(field, _PROCESS, number, name))


def place_of(cursor: str, field: str, items: Registry[Any], more: Iterable[Numbered] = ()) -> int:
    """The number of the item behind which a page begins; it may be gone by now.

    `more` is what the list shows beside the registry's items.

    A cursor that another process made for the same list is good as long as its item is there:
    where requests stand for themselves, the next one may come to any of several servers.

    Raises:
        InvalidParams: nothing that was made for this list.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """
    place = decode(cursor, _Place)
    if place is None or place.field != field:
        raise _unknown(items.kind)
    if place.process == _PROCESS:
        return place.number
    entry: Numbered | None = items.entry(place.name)
    entry = entry or next((one for one in more if one.name == place.name), None)
    if entry is None:
        raise _unknown(items.kind)
    return entry.number


def _unknown(kind: str) -> InvalidParams:
    return InvalidParams(
        f"{kind} list: expected a cursor from this list's last page; begin again without one - "
        "at `$.cursor`"
    )
