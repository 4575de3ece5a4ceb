"""Registry of the mounts of a server: checks names, and publishes list_changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from mcp_gen.core.errors import UsageError
from mcp_gen.server.mounting.kinds import KINDS, TOOLS
from mcp_gen.server.notifications.topics import LISTS
from mcp_gen.server.tools.tool import is_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.server.dispatch.handlers import HandlerParts
    from mcp_gen.server.listing.tags import Visibility
    from mcp_gen.server.mounting.mount import Mount, MountableServer, Mounting
    from mcp_gen.server.tools.tool import ServerTool

__all__ = ["Mounts"]


class Mounts(Sequence["Mount"]):
    """Mounts of a server, in the order they were mounted: `len`, iteration, index.

    Args:
        outer: The server that others are mounted in.
        parts: Parts of the outer server, for handlers that route to mounts too.
    """

    def __init__(
        self,
        outer: Mounting,
        parts: HandlerParts,
    ) -> None:
        self._outer = outer
        self._parts: HandlerParts | None = parts
        self._declarations = parts.declarations
        self._mounts: tuple[Mount, ...] = ()

    def __len__(self) -> int:
        return len(self._mounts)

    # Iterators use a snapshot: a caller may await in the loop, and mounts may change meanwhile.

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts)

    def __reversed__(self) -> Iterator[Mount]:
        return reversed(self._mounts)

    @overload
    def __getitem__(self, index: int) -> Mount: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Mount]: ...

    def __getitem__(self, index: int | slice) -> Mount | Sequence[Mount]:
        return self._mounts[index]

    def mount_server(
        self,
        prefix: str | None,
        server: MountableServer,
        separator: str,
        visibility: Visibility,
        scopes: frozenset[str] = frozenset(),
    ) -> None:
        """Mount a server of this process; see `Server.mount`.

        Args:
            prefix: Prefix of its tools and prompts; None for no prefix.
            server: The server.
            separator: Text between the prefix and a name.
            visibility: Tags whose items are mounted.
            scopes: Scopes that the token of every request to it needs.

        Raises:
            UsageError: An invalid prefix, a name or URI that exists already, or a server that
                would be mounted in itself.
        """
        # Imported here, as below, because most servers have no mounts.
        from mcp_gen.server.mounting.local_mount import LocalMount, is_inside

        outer = self._outer
        if server is outer or is_inside(outer, server):
            raise UsageError(
                f"mount {prefix!r}: {server.name!r} would be mounted in itself; "
                "a server can only be mounted in one that is not inside of it"
            )
        self._add(LocalMount(outer, prefix, separator, server, visibility), scopes)

    def mount_session(
        self,
        prefix: str | None,
        session: Any,
        separator: str,
        visibility: Visibility,
        scopes: frozenset[str] = frozenset(),
    ) -> None:
        """Mount the session of a client; see `Server.mount`.

        Args:
            prefix: Prefix of its tools and prompts; None for no prefix.
            session: The session that `Client.connect` returned.
            separator: Text between the prefix and a name.
            visibility: Tags whose items are mounted: all of them.
            scopes: Scopes that the token of every request to it needs.

        Raises:
            UsageError: An invalid prefix, a name or URI that exists already, an object that is no
                session, or a choice by tags.
        """
        if not hasattr(session, "__mcp_relay__"):
            raise UsageError(
                f"mount {prefix!r}: expected a Server, or the session that `Client.connect` gives, "
                f"got {type(session).__name__}"
            )
        if not visibility.shows_all:
            raise UsageError(
                f"mount {prefix!r}: the tags of a server far away are not known here; choose what "
                "clients see with filter_tools, filter_resources and filter_prompts"
            )
        # Loaded with the first mount: most servers have none.
        from mcp_gen.server.mounting.remote_mount import RemoteMount

        self._add(RemoteMount(self._outer, prefix, separator, session), scopes)

    def _add(self, mount: Mount, scopes: frozenset[str]) -> None:
        mount.scopes = scopes
        try:
            _check(self._outer, mount)
        except UsageError:
            mount.unmounted()
            raise
        self._change(mount, (*self._mounts, mount))

    def unmount(self, mounted: object) -> None:
        """Remove a mount; calls in progress go on. See `Server.unmount`.

        Args:
            mounted: The prefix, or the mounted server or session.

        Raises:
            UsageError: There is no such mount.
        """
        for mount in self._mounts:
            if mount.target is mounted or (isinstance(mounted, str) and mount.prefix == mounted):
                self._declarations.keep(mount.features())
                self._change(mount, tuple(one for one in self._mounts if one is not mount))
                mount.unmounted()
                return
        known = ", ".join(repr(mount.prefix) for mount in self._mounts) or "none"
        raise UsageError(f"unmount: expected what is mounted, or its prefix; there are: {known}")

    def known_tool(self, name: str) -> ServerTool | None:
        """Return the mounted tool with a name, from what is listed already; None if there is none.

        Raises:
            UsageError: A remote server may have it, but has not been asked.
        """
        if not self._mounts:
            return None
        # Loaded with the first mount: most servers have none.
        from mcp_gen.server.mounting.mounted_tool import known_tool

        found = known_tool(self._mounts, name)
        if found is None and any(mount.has_unlisted for mount in self._mounts):
            raise UsageError(
                f"there is no tool {name!r} that is known; if it is one of a server far away, "
                f"that is asked first: `await server.find_tool({name!r})`"
            )
        return found

    async def find_tool(self, name: str) -> ServerTool | None:
        """Return the mounted tool with a name; remote servers are asked for their lists."""
        if not self._mounts:
            return None
        # Loaded with the first mount: most servers have none.
        from mcp_gen.server.mounting.mounted_tool import find_mounted

        return await find_mounted(self._mounts, name)

    def _change(self, mount: Mount, mounts: tuple[Mount, ...]) -> None:
        outer, features = self._outer, mount.features()
        self._mounts = mounts
        if self._parts is not None:
            # Loaded with the first mount: most servers have none.
            from mcp_gen.server.mounting.handlers import MountHandlers

            self._parts.kernel.handlers = MountHandlers(self._parts, outer)
            self._parts = None
        self._declarations.capabilities_changed()
        for kind in KINDS:
            kind.of(outer).invalidate()
        for topic in LISTS:
            if topic.capability in features:
                outer.notify.publish(topic)


def _check(outer: Mounting, mount: Mount) -> None:
    """Check the prefix and the names of a new mount.

    Raises:
        UsageError: A prefix, name or URI exists already, or a tool name would be too long.
    """
    if any(one.prefix == mount.prefix for one in outer.mounts if one.prefix is not None):
        raise UsageError(
            f"mount {mount.prefix!r}: there is a mount of that prefix; take another, "
            "or unmount the first"
        )
    # Loaded with the first mount: most servers have none.
    from mcp_gen.server.mounting.merged_lists import names_of

    for kind in KINDS:
        names = list(mount.names(kind))
        clashes = set(names).intersection(names_of(outer, kind))
        if clashes:
            remedy = "give a prefix" if kind.prefixed else "one of the two needs another URI"
            raise UsageError(
                f"mount {mount.title}: {min(clashes)!r} is there already among the {kind.feature}; "
                + (remedy if mount.prefix is None or not kind.prefixed else "take another prefix")
            )
        for name in names if kind is TOOLS else ():
            if not is_tool_name(name):
                raise UsageError(
                    f"mount {mount.title}: {name!r} is no name for a tool: it has "
                    f"{len(name)} characters, and at most 128 are allowed; take a shorter prefix"
                )
