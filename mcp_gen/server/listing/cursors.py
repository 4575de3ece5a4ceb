"""Cursors: opaque names of the place in a list behind which the next page begins."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.server.listing.registry import Numbered, Registry

__all__ = ["cursor_to", "place_of"]

_PROCESS = secrets.token_urlsafe(6)
"""Numbers mean something in the process that gave them."""


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Behind which item: by its number, and for other processes by its name."""

    field: str
    process: str
    number: int
    name: str


_decoder = msgspec.json.Decoder(_Place)


def cursor_to(field: str, number: int, name: str) -> str:
    """The cursor of the page that begins behind an item of a list."""
    place = msgspec.json.encode(_Place(field, _PROCESS, number, name))
    return base64.urlsafe_b64encode(place).decode()


def place_of(cursor: str, field: str, items: Registry[Any], more: Iterable[Numbered] = ()) -> int:
    """The number of the item behind which a page begins; it may be gone by now.

    `more` is what the list shows beside the registry's items.

    A cursor that another process made for the same list is good as long as its item is there:
    where requests stand for themselves, the next one may come to any of several servers.

    Raises:
        InvalidParams: nothing that was made for this list.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """
    try:
        place = _decoder.decode(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise _unknown(items.kind) from None
    if place.field != field:
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
