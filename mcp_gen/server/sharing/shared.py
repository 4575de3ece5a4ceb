"""A server that is one node of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.server.sharing.posts import SharedPosts
from mcp_gen.session.cluster.exchange import ClusteredExchange
from mcp_gen.session.cluster.node import ClusterNode

if TYPE_CHECKING:
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.server.notifications.shared_changes import SharedChanges
    from mcp_gen.session.http_server.per_request import HeaderParams
    from mcp_gen.session.http_server.sessions import SessionLimits
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["Shareable", "SharedServer"]


class Shareable(Protocol):
    """A server, as a cluster uses it."""

    @property
    def kernel(self) -> Kernel[Any]:
        """Kernel of the server."""
        ...

    def use_cluster(self, cluster: Cluster) -> SharedChanges:
        """Share what the server keeps with the nodes of a cluster; return its changes."""
        ...


class SharedServer:
    """One server as a node of a cluster, from the start of its app to its end.

    Args:
        server: The server.
        cluster: The cluster.
        limits: Limits on the sessions of all nodes.
    """

    def __init__(self, server: Shareable, cluster: Cluster, limits: SessionLimits) -> None:
        self._kernel = server.kernel
        self._changes = server.use_cluster(cluster)
        self.node = ClusterNode(cluster, limits, self._changes)
        self.posts = SharedPosts(cluster)
        """Messages for the HTTP+SSE streams of all nodes."""
        self._starting = asyncio.Lock()

    def exchange(self, header_params: HeaderParams) -> ClusteredExchange[Any]:
        """Return the endpoint of the server.

        Args:
            header_params: Returns the tool arguments that HTTP headers repeat.
        """
        return ClusteredExchange(self._kernel, self.node, header_params=header_params)

    async def start(self) -> None:
        """Become a node of the cluster; do nothing if the server is one.

        Raises:
            UsageError: The cluster cannot be used.
        """
        async with self._starting:
            await self.node.start()
            self._changes.start()
            self.posts.start()

    async def aclose(self) -> None:
        """Cease to be a node."""
        self.posts.stop()
        await self._changes.aclose()
        await self.node.aclose()
