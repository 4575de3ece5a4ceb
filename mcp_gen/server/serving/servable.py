"""Protocols of a server, for the transports and for its lifespan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.services import ServerRuntime
    from mcp_gen.server.mounting.mounts import Mounts
    from mcp_gen.server.notifications.shared_changes import SharedChanges
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["HasLifespan", "Servable"]


class HasLifespan(Protocol):
    """Server operations that its lifespan uses."""

    name: str

    @property
    def runtime(self) -> ServerRuntime[Context]:
        """Internal parts, which hold the value of the lifespan."""
        ...

    def end_sessions(self) -> bool:
        """End the open sessions; return False if there are none."""
        ...


class Servable(Protocol):
    """Server operations that transports use; `ServerRunner` implements them."""

    kernel: Kernel[Context]
    max_message_bytes: int | None
    has_state_keys: bool
    """True if the states of requests are sealed with keys of the user."""
    mounts: Mounts
    tools: ToolRegistry

    def scoped_items(self) -> Iterable[str]:
        """Return the names of items that need scopes."""
        ...

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...

    def connect(self, transport: Duplex) -> AbstractAsyncContextManager[ServerConnection[Context]]:
        """Serve one client while the context manager is open."""
        ...

    def end_sessions(self) -> bool:
        """End the open sessions; return False if there are none."""
        ...

    def use_cluster(self, cluster: Cluster) -> SharedChanges:
        """Share what the server keeps with the nodes of a cluster; return its changes."""
        ...

    async def end_tasks(self) -> None:
        """Cancel the tasks that run."""
        ...

    async def hold(self) -> None:
        """Acquire the lifespan and the mounts until `release_hold`.

        Raises:
            LifespanError: the lifespan could not be entered.
        """
        ...

    async def release_hold(self) -> None:
        """Release what `hold` acquired."""
        ...

    async def aclose(self) -> None:
        """End every session and task, and leave the lifespan."""
        ...
