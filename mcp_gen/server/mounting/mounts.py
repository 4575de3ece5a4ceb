"""Mounting and unmounting: what is checked, and who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp_gen.core.errors import UsageError
from mcp_gen.server.mounting.handlers import MountHandlers
from mcp_gen.server.mounting.kinds import KINDS, TOOLS
from mcp_gen.server.mounting.local_mount import LocalMount
from mcp_gen.server.mounting.merged_lists import names_of
from mcp_gen.server.notifications.topics import LISTS
from mcp_gen.server.tools.tool import is_tool_name

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.mounting.mount import Mount
    from mcp_gen.server.mounting.offering import OffersMounts
    from mcp_gen.server.server import Server

__all__ = ["mounted", "unmounted"]


def mounted(server: OffersMounts, prefix: str | None, other: Any, separator: str) -> None:
    """See `OffersMounts.mount`."""
    from mcp_gen.server.server import Server

    outer = cast(Server, server)
    if isinstance(other, Server):
        if other is outer or _is_in(outer, other):
            raise UsageError(
                f"mount {prefix!r}: {other.name!r} would be mounted in itself; "
                "a server can only be mounted in one that is not inside of it"
            )
        mount: Mount = LocalMount(outer, prefix, separator, other)
    elif hasattr(other, "__mcp_relay__"):
        from mcp_gen.server.mounting.remote_mount import RemoteMount

        session: RemoteSession = other
        mount = RemoteMount(outer, prefix, separator, session)
    else:
        raise UsageError(
            f"mount {prefix!r}: expected a Server, or the session that `Client.connect` gives, "
            f"got {type(other).__name__}"
        )
    try:
        _check(outer, mount)
    except UsageError:
        mount.unmounted()
        raise
    _change(outer, mount, (*outer.mounts, mount))


def unmounted(server: OffersMounts, what: Any) -> None:
    """See `OffersMounts.unmount`."""
    outer = cast("Server", server)
    for mount in outer.mounts:
        if mount.target is what or (isinstance(what, str) and mount.prefix == what):
            outer.goes_on_to_declare(mount.features())
            _change(outer, mount, tuple(one for one in outer.mounts if one is not mount))
            mount.unmounted()
            return
    known = ", ".join(repr(mount.prefix) for mount in outer.mounts) or "none"
    raise UsageError(f"unmount: expected what is mounted, or its prefix; there are: {known}")


def _is_in(inner: Server, server: Server) -> bool:
    """Whether a server is somewhere inside of another one."""
    inside = (one.server for one in server.mounts if isinstance(one, LocalMount))
    return any(one is inner or _is_in(inner, one) for one in inside)


def _check(outer: Server, mount: Mount) -> None:
    """Refuse what clashes, and tools that no client could call.

    Raises:
        UsageError: with the names.
    """
    if any(one.prefix == mount.prefix for one in outer.mounts if one.prefix is not None):
        raise UsageError(
            f"mount {mount.prefix!r}: there is a mount of that prefix; take another, "
            "or unmount the first"
        )
    for kind in KINDS:
        names = list(mount.names(kind))
        taken = set(names).intersection(names_of(outer, kind))
        if taken:
            way = "give a prefix" if kind.prefixed else "one of the two needs another URI"
            raise UsageError(
                f"mount {mount.title}: {min(taken)!r} is there already among the {kind.feature}; "
                + (way if mount.prefix is None or not kind.prefixed else "take another prefix")
            )
        for name in names if kind is TOOLS else ():
            if not is_tool_name(name):
                raise UsageError(
                    f"mount {mount.title}: {name!r} is no name for a tool: it has "
                    f"{len(name)} characters, and at most 128 are allowed; take a shorter prefix"
                )


def _change(outer: Server, mount: Mount, mounts: tuple[Mount, ...]) -> None:
    features = mount.features()
    outer.mounts = mounts
    if not isinstance(outer.kernel.handlers, MountHandlers):
        outer.kernel.handlers = MountHandlers(outer)
    outer.declares_more()
    for kind in KINDS:
        kind.of(outer).forget()
    for topic in LISTS:
        if topic.capability in features:
            outer.notify.tell(topic)
