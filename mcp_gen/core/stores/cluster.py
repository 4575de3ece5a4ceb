"""Cluster contract: the stores and the bus that several nodes share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_gen.core.stores.bus import Bus
    from mcp_gen.core.stores.events import SharedEventStore
    from mcp_gen.core.stores.once import OnceStore
    from mcp_gen.core.stores.sessions import SharedSessionStore
    from mcp_gen.core.stores.state import StateStore
    from mcp_gen.core.stores.tasks import SharedTaskStore

__all__ = ["Cluster"]


class Cluster(Protocol):
    """Shares sessions, streams, tasks and state between nodes, so that any can answer any request.

    A node is one process with one app. Its stores raise StoreDown where they cannot be reached.
    """

    @property
    def node(self) -> str:
        """Id of this node; another one after its lease has lapsed."""
        ...

    @property
    def lease_s(self) -> float:
        """Seconds of silence after which a node is lost: it must not write any more."""
        ...

    @property
    def is_up(self) -> bool:
        """True while the stores and the bus can be used."""
        ...

    @property
    def bus(self) -> Bus:
        """Messages between the nodes."""
        ...

    @property
    def sessions(self) -> SharedSessionStore:
        """HTTP sessions."""
        ...

    @property
    def events(self) -> SharedEventStore:
        """Messages of SSE streams."""
        ...

    @property
    def tasks(self) -> SharedTaskStore:
        """Tasks."""
        ...

    @property
    def once(self) -> OnceStore:
        """Values of `Context.once`."""
        ...

    @property
    def states(self) -> StateStore:
        """Values of `Context.state`."""
        ...

    def request_state_keys(self) -> Sequence[bytes]:
        """Return the keys that seal `requestState`, the newest first; empty before `start`."""
        ...

    async def start(self) -> None:
        """Connect, and become a node.

        Raises:
            UsageError: The cluster cannot be used, or not be reached.
        """
        ...

    async def aclose(self) -> None:
        """Cease to be a node, and disconnect."""
        ...

    async def is_alive(self, node: str) -> bool:
        """Return True if a node holds its lease; always for this node.

        Raises:
            BusDown: The cluster cannot be reached.
        """
        ...

    def on_lost(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call a function when this node could not renew its lease; return one that ends this.

        Args:
            callback: Gets the old id of this node; `node` is the new one already.
        """
        ...

    def on_emptied(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the stores come back empty; return a function that ends this."""
        ...

    def on_heartbeat(self, hook: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Await a function once a second while the cluster is up; return one that ends this."""
        ...
