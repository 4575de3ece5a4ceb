"""Finds the mount that owns a name or URI, and the inner name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.server.mounting.kinds import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import FeatureKind
    from mcp_gen.server.mounting.mount import Mount, Mounting
    from mcp_wire import Wire

__all__ = ["find", "find_reader", "peek", "unlisted_readers"]


async def find(
    server: Mounting, ctx: Context, kind: FeatureKind, name: str
) -> tuple[Mount, str] | None:
    """Return the mount that owns an item, and the inner name; None if the client may use none.

    Mounts are checked in order. If none is known to have the item, those with a matching prefix
    whose lists are unknown are asked to list. If none lists it, the longest prefix wins.
    """
    candidates: list[tuple[Mount, str]] = []
    for mount in server.mounts:
        inner_name = mount.inner_name(kind, name)
        if inner_name is None:
            continue
        has_item = mount.has_item(ctx, kind, inner_name)
        if has_item:
            return await _if_visible(server, ctx, kind, name, mount, inner_name)
        if has_item is None:
            candidates.append((mount, inner_name))
    if len(candidates) > 1:
        for mount, inner_name in candidates:
            if await mount.item(ctx, kind, name) is not None:
                return await _if_visible(server, ctx, kind, name, mount, inner_name)
    if not candidates:
        return None
    mount, inner_name = max(candidates, key=lambda candidate: len(candidate[0].name_prefix))
    return await _if_visible(server, ctx, kind, name, mount, inner_name)


def peek(mounts: Iterable[Mount], ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
    """Return the cached description of a mounted item, without I/O."""
    for mount in mounts:
        inner_name = mount.inner_name(kind, name)
        found = mount.peek(ctx, kind, inner_name) if inner_name is not None else None
        if found is not None:
            return found
    return None


async def _if_visible(
    server: Mounting, ctx: Context, kind: FeatureKind, name: str, mount: Mount, inner_name: str
) -> tuple[Mount, str] | None:
    filters = kind.of(server).filters
    if filters:
        item = await mount.item(ctx, kind, name)
        if item is None or not all(check(ctx, item.described) for check in filters):
            return None
    return mount, inner_name


async def find_reader(server: Mounting, ctx: Context, uri: str) -> Mount | None:
    """Return the mount that reads a URI; None if the server does itself, or no owner is known.

    Resources are matched before templates, and the server's own items before those of mounts.
    """
    if server.resources.listing.find(ctx, uri) is not None:
        return None
    for mount in server.mounts:
        if mount.has_item(ctx, RESOURCES, uri) and await _readable(server, ctx, mount, uri):
            return mount
    if server.resources.find(ctx, uri) is not None:
        return None
    for mount in server.mounts:
        if await mount.readable(ctx, uri) and await _readable(server, ctx, mount, uri):
            return mount
    return None


def unlisted_readers(server: Mounting) -> Iterator[Mount]:
    """Yield the mounts that may have unlisted resources, if the server has no resource filters."""
    if server.resources.listing.filters:
        return
    for mount in server.mounts:
        if mount.has_unlisted:
            yield mount


async def _readable(server: Mounting, ctx: Context, mount: Mount, uri: str) -> bool:
    """Return True if the outer server's filters allow the resource of a URI, or its template."""
    filters = server.resources.listing.filters
    if not filters:
        return True
    item = await mount.item(ctx, RESOURCES, uri) or await mount.template_of(ctx, uri)
    return item is not None and all(check(ctx, item.described) for check in filters)
