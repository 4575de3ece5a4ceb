"""Merged, paginated lists: the items of a server and of its mounts, in one order."""

from __future__ import annotations

from asyncio import gather
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp_gen.server.listing.cursors import position_of
from mcp_gen.server.listing.listing import encode_page
from mcp_gen.server.listing.registry import next_number
from mcp_gen.server.listing.scopes import hides_unauthorized, missing_scopes
from mcp_gen.server.mounting.kinds import RESOURCES, TOOLS, FeatureKind
from mcp_gen.server.mounting.mount import ListItem

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.listing import Listing
    from mcp_gen.server.listing.registry import Entry
    from mcp_gen.server.mounting.mount import Mount, Mounting

__all__ = ["ItemNumbers", "is_cacheable", "items_of", "names_of", "page_of"]

MAX_NUMBERS = 100_000


class ItemNumbers:
    """Positions of items that are in no registry, by name, in the order they were first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, name: str) -> int:
        """Return the number of an item: the same each time, up to 100,000 names."""
        if len(self._numbers) > MAX_NUMBERS:
            self._numbers.clear()
        return self._numbers.get(name) or self._numbers.setdefault(name, next_number())


_source_numbers: WeakKeyDictionary[Mounting, ItemNumbers] = WeakKeyDictionary()
"""Positions of resources from resource sources, by server."""


async def page_of(
    server: Mounting, ctx: Context, kind: FeatureKind, cursor: str | None, *, as_bytes: bool
) -> Any:
    """Return a page of a list; see `Listing.page`.

    Args:
        server: The outer server.
        ctx: The request.
        kind: The kind of list.
        cursor: Pagination cursor of the page before; None for the first page.
        as_bytes: True if the page may be returned encoded, from the cache of the list.

    Raises:
        InvalidParams: The cursor is not from this list.
    """
    listing = kind.of(server)
    pages = listing.pages
    is_shared = is_cacheable(server, ctx, kind)
    first_page_key = (ctx.revision, -1)
    # Pages that begin elsewhere are made anew: most lists have one page.
    as_bytes = as_bytes and is_shared and cursor is None
    if as_bytes and first_page_key in pages:
        return pages[first_page_key]
    items = await items_of(server, ctx, kind)
    if cursor is not None:
        last_number = position_of(cursor, listing.field, listing.items, items)
        items = items[bisect_right(items, last_number, key=_number) :]
    page = listing.result(ctx, items, _item_at, private=not is_shared)
    # A change in the meantime has replaced the cache: this page goes to the old one.
    if as_bytes and is_cacheable(server, ctx, kind):
        page = pages[first_page_key] = encode_page(ctx, page)
    return page


async def items_of(server: Mounting, ctx: Context, kind: FeatureKind) -> list[ListItem]:
    """Return all items that the client of this request may use, own and mounted, in order.

    Of several items with one name, the server's own wins, or else that of the first mount.
    """
    own = await _own_items(server, ctx, kind)
    mounts = tuple(one for one in server.mounts if not _is_hidden(ctx, one))
    mounted_items = await gather(*(mount.items(ctx, kind) for mount in mounts))
    found = {item.name: item for item in own}
    for mount, items in zip(mounts, mounted_items, strict=True):
        for item in items:
            if found.setdefault(item.name, item) is not item:
                if not _is_hidden_on_purpose(server, kind, item.name):
                    mount.warn(item.name, "is there already: the one that came first is used")
            elif not _passes_filters(server, ctx, kind, item):
                del found[item.name]
    return sorted(found.values(), key=_number)


def _is_hidden(ctx: Context, mount: Mount) -> bool:
    """Return True for a mount whose items are not listed for lack of scopes."""
    return (
        bool(mount.scopes) and hides_unauthorized(ctx) and bool(missing_scopes(ctx, mount.scopes))
    )


def _is_hidden_on_purpose(server: Mounting, kind: FeatureKind, name: str) -> bool:
    """Return True for a mounted tool that `transform_tool` replaced."""
    own = server.tools.get(name) if kind is TOOLS else None
    return own is not None and own.hides_mounted


def names_of(server: Mounting, kind: FeatureKind) -> Iterator[str]:
    """Yield the names or URIs of all known items, regardless of the client."""
    yield from kind.of(server).items.entries
    for mount in server.mounts:
        yield from mount.names(kind)


def is_cacheable(server: Mounting, ctx: Context, kind: FeatureKind) -> bool:
    """Return True if a list is the same for all clients until a change is published."""
    if kind.of(server).differs(ctx) or (kind is RESOURCES and server.resources.has_sources):
        return False
    if any(mount.scopes for mount in server.mounts) and hides_unauthorized(ctx):
        return False
    return all(mount.is_static(ctx, kind) for mount in server.mounts)


async def _own_items(server: Mounting, ctx: Context, kind: FeatureKind) -> list[ListItem]:
    listing = kind.of(server)
    if kind is RESOURCES and server.resources.has_sources:
        return await _from_sources(server, ctx)
    return [
        ListItem(
            entry.number,
            entry.name,
            listing.describe(entry.item),
            partial(_own_item_at, listing, entry),
        )
        for entry in listing.shown(ctx)
    ]


async def _from_sources(server: Mounting, ctx: Context) -> list[ListItem]:
    """Return the server's own resources, including those of resource sources."""
    found: list[ListItem] = []
    cursor: str | None = None
    entries = server.resources.listing.items.entries
    numbers = _source_numbers.setdefault(server, ItemNumbers())
    while True:
        page = await server.resources.page(ctx, cursor, as_bytes=False)
        for one in page.resources:
            entry = entries.get(one.uri)
            number = entry.number if entry else numbers.of(one.uri)
            found.append(ListItem(number, one.uri, one))
        cursor = page.next_cursor
        if cursor is None:
            return found


def _passes_filters(server: Mounting, ctx: Context, kind: FeatureKind, item: ListItem) -> bool:
    filters = kind.of(server).filters
    return all(one(ctx, item.described) for one in filters)


def _own_item_at(listing: Listing[Any], entry: Entry[Any], revision: str) -> Any:
    return listing.at(revision, entry)


def _item_at(revision: str, item: ListItem) -> Any:
    return item.at(revision)


def _number(item: ListItem) -> int:
    return item.number
