"""Lists of a server in which others are mounted: its own items and theirs, in one order."""

from __future__ import annotations

from asyncio import gather
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp_gen.server.listing.cursors import place_of
from mcp_gen.server.listing.listing import as_encoded
from mcp_gen.server.listing.registry import next_number
from mcp_gen.server.mounting.kinds import RESOURCES, FeatureKind
from mcp_gen.server.mounting.mount import Mounted

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.listing import Listing
    from mcp_gen.server.listing.registry import Entry
    from mcp_gen.server.mounting.mount import Mounting

__all__ = ["ItemNumbers", "is_cacheable", "items_of", "names_of", "page_of"]

MAX_NUMBERS = 100_000


class ItemNumbers:
    """The places of items that no registry has, by name, in the order in which they were seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, name: str) -> int:
        """The number of an item: the same whenever it is asked for."""
        if len(self._numbers) > MAX_NUMBERS:
            self._numbers.clear()
        return self._numbers.get(name) or self._numbers.setdefault(name, next_number())


_sourced: WeakKeyDictionary[Mounting, ItemNumbers] = WeakKeyDictionary()
"""The places of what comes and goes by itself, by server."""


async def page_of(
    server: Mounting, ctx: Context, kind: FeatureKind, cursor: str | None, *, as_bytes: bool
) -> Any:
    """A page of a list; see `Listing.page`.

    Raises:
        InvalidParams: a cursor that was not made here.
    """
    listing = kind.of(server)
    pages = listing.pages
    same = is_cacheable(server, ctx, kind)
    whole = (ctx.revision, -1)
    as_bytes = as_bytes and same and cursor is None and listing.page_size is None
    if as_bytes and whole in pages:
        return pages[whole]
    items = await items_of(server, ctx, kind)
    if cursor is not None:
        behind = place_of(cursor, listing.field, listing.items, items)
        items = items[bisect_right(items, behind, key=_number) :]
    page = listing.result(ctx, items, _at, private=not same)
    # What changed while it was made has given the list other pages to be kept in.
    if as_bytes and is_cacheable(server, ctx, kind):
        page = pages[whole] = as_encoded(ctx, page)
    return page


async def items_of(server: Mounting, ctx: Context, kind: FeatureKind) -> list[Mounted]:
    """Everything that the client of this request may use, mounted or not, in order.

    Of several under one name there is the server's own, or that of what was mounted first.
    """
    own = await _own(server, ctx, kind)
    mounts = tuple(server.mounts)
    others = await gather(*(mount.items(ctx, kind) for mount in mounts))
    found = {item.name: item for item in own}
    for mount, items in zip(mounts, others, strict=True):
        for item in items:
            if found.setdefault(item.name, item) is not item:
                mount.warn(item.name, "is there already: the one that came first is used")
            elif not _passes(server, ctx, kind, item):
                del found[item.name]
    return sorted(found.values(), key=_number)


def names_of(server: Mounting, kind: FeatureKind) -> Iterator[str]:
    """The names or URIs of everything that is known to be there, for anybody."""
    yield from kind.of(server).items.entries
    for mount in server.mounts:
        yield from mount.names(kind)


def is_cacheable(server: Mounting, ctx: Context, kind: FeatureKind) -> bool:
    """Whether a list is the same for everybody until something is said to have changed."""
    if kind.of(server).differs(ctx) or (kind is RESOURCES and server.resources.has_sources):
        return False
    return all(mount.is_static(ctx, kind) for mount in server.mounts)


async def _own(server: Mounting, ctx: Context, kind: FeatureKind) -> list[Mounted]:
    listing = kind.of(server)
    if kind is RESOURCES and server.resources.has_sources:
        return await _from_sources(server, ctx)
    return [
        Mounted(
            entry.number,
            entry.name,
            listing.describe(entry.item),
            partial(_own_at, listing, entry),
        )
        for entry in listing.shown(ctx)
    ]


async def _from_sources(server: Mounting, ctx: Context) -> list[Mounted]:
    """Resources, those among them that come and go by themselves."""
    found: list[Mounted] = []
    cursor: str | None = None
    entries = server.resources.listing.items.entries
    numbers = _sourced.setdefault(server, ItemNumbers())
    while True:
        page = await server.resources.page(ctx, cursor, as_bytes=False)
        for one in page.resources:
            entry = entries.get(one.uri)
            number = entry.number if entry else numbers.of(one.uri)
            found.append(Mounted(number, one.uri, one))
        cursor = page.next_cursor
        if cursor is None:
            return found


def _passes(server: Mounting, ctx: Context, kind: FeatureKind, item: Mounted) -> bool:
    filters = kind.of(server).filters
    return all(one(ctx, item.described) for one in filters)


def _own_at(listing: Listing[Any], entry: Entry[Any], revision: str) -> Any:
    return listing.at(revision, entry)


def _at(revision: str, item: Mounted) -> Any:
    return item.at(revision)


def _number(item: Mounted) -> int:
    return item.number
