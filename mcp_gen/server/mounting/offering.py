"""The part of a server that takes other servers in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.mounting.mount import Mount
    from mcp_gen.server.notifications.notifier import News
    from mcp_gen.server.prompts.registry import PromptBox
    from mcp_gen.server.resources.registry import ResourceBox
    from mcp_gen.server.server import Server
    from mcp_gen.server.tools.registry import ToolBox
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["OffersMounts"]


class OffersMounts:
    """The part of a server that others are mounted in."""

    name: str
    tools: ToolBox
    resources: ResourceBox
    prompts: PromptBox
    notify: News
    hints: Hints
    kernel: Kernel[Context]
    mounts: tuple[Mount, ...]
    """What is mounted, in order."""

    def mount(
        self, prefix: str | None, other: Server | RemoteSession, *, separator: str = "_"
    ) -> None:
        """Offer what another server has: one of this process, or a client's session.

            server.mount("weather", weather)                     # weather_forecast, ...
            server.mount("remote", await client.connect(URL))

        Its tools and prompts get the prefix and the separator in front of their names; without a
        prefix they keep them. URIs of resources and templates stay as they are. Of two under one
        name or URI the server's own is used, or else the one that was mounted first.

        A server of this process stays as it is: what is added to it or removed is seen here, its
        hooks, middleware, filters and lifespan are its own, and `ctx.server` is it. Session hooks
        and `revisions` are of the outer one, whose clients these are. What a session's server asks
        goes to whoever made the call, if its client was made with `Client(..., relays=True)`; what
        it has is listed when a client first asks for a list.

        Raises:
            UsageError: a prefix that no name may begin with, a name or URI that is there already,
                a server that would be mounted in itself, or something that cannot be mounted.
        """
        from mcp_gen.server.mounting.mounts import mounted

        mounted(self, prefix, other, separator)

    def unmount(self, mounted: str | Server | RemoteSession) -> None:
        """Offer it no longer: by its prefix, or what was mounted. Calls under way go on.

        Raises:
            UsageError: nothing of that kind is mounted.
        """
        from mcp_gen.server.mounting.mounts import unmounted

        unmounted(self, mounted)
