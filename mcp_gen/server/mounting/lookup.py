"""Whose a name or a URI is: which of the mounts, and what it is called there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.server.mounting.kinds import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import FeatureKind
    from mcp_gen.server.mounting.mount import Mount, Mounting
    from mcp_wire import Wire

__all__ = ["find", "peek", "reader_of", "readers_of"]


async def find(
    server: Mounting, ctx: Context, kind: FeatureKind, name: str
) -> tuple[Mount, str] | None:
    """The mount that has an item, and the item's name inside; None if the client may use none.

    What was mounted first is asked first. Where it is not known who has it, the mounts whose prefix
    fits are asked what they have; if that tells nothing, it is sent to the one that fits best.
    """
    unknown: list[tuple[Mount, str]] = []
    for mount in server.mounts:
        inside = mount.inner_name(kind, name)
        if inside is None:
            continue
        has = mount.has_item(ctx, kind, inside)
        if has:
            return await _allowed(server, ctx, kind, name, mount, inside)
        if has is None:
            unknown.append((mount, inside))
    if len(unknown) > 1:
        for mount, inside in unknown:
            if await mount.item(ctx, kind, name) is not None:
                return await _allowed(server, ctx, kind, name, mount, inside)
    if not unknown:
        return None
    mount, inside = max(unknown, key=lambda one: len(one[0].name_prefix))
    return await _allowed(server, ctx, kind, name, mount, inside)


def peek(mounts: Iterable[Mount], ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
    """What is known of a mounted item, without asking anybody."""
    for mount in mounts:
        inside = mount.inner_name(kind, name)
        found = mount.peek(ctx, kind, inside) if inside is not None else None
        if found is not None:
            return found
    return None


async def _allowed(
    server: Mounting, ctx: Context, kind: FeatureKind, name: str, mount: Mount, inside: str
) -> tuple[Mount, str] | None:
    filters = kind.of(server).filters
    if filters:
        item = await mount.item(ctx, kind, name)
        if item is None or not all(one(ctx, item.described) for one in filters):
            return None
    return mount, inside


async def reader_of(server: Mounting, ctx: Context, uri: str) -> Mount | None:
    """The mount that reads a URI; None if the server does itself, or if nobody is known to.

    Resources are looked for before templates, and the server's own before what is mounted.
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


def readers_of(server: Mounting) -> Iterator[Mount]:
    """The mounts that may have more to read than they list, where nobody minds."""
    if server.resources.listing.filters:
        return
    for mount in server.mounts:
        if mount.has_unlisted:
            yield mount


async def _readable(server: Mounting, ctx: Context, mount: Mount, uri: str) -> bool:
    """Whether the outer server's filters let a URI through: the resource, or else its template."""
    filters = server.resources.listing.filters
    if not filters:
        return True
    item = await mount.item(ctx, RESOURCES, uri) or await mount.template_of(ctx, uri)
    return item is not None and all(one(ctx, item.described) for one in filters)
