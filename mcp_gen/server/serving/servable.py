"""Protocol of what processes, sockets and the ASGI app need of the server that they serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.services import ServerRuntime
    from mcp_gen.server.mounting.mounts import Mounts
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["HasLifespan", "Servable"]


class HasLifespan(Protocol):
    """A server, as its lifespan sees it."""

    name: str

    @property
    def runtime(self) -> ServerRuntime[Context]:
        """The parts that hold the value of the lifespan."""
        ...

    def end_sessions(self) -> bool:
        """End the open sessions; False if there are none."""
        ...


class Servable(Protocol):
    """A server, as what serves it over a transport sees it."""

    kernel: Kernel[Context]
    max_message_bytes: int | None
    mounts: Mounts
    tools: ToolRegistry

    def run(self, transport: Literal["stdio", "http"] = "stdio", **options: Any) -> None:
        """Serve until the client disconnects or the process is told to stop."""
        ...

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...

    def connect(self, transport: Duplex) -> AbstractAsyncContextManager[ServerConnection[Context]]:
        """Serve one client while the context manager lasts."""
        ...

    def end_sessions(self) -> bool:
        """End the open sessions; False if there are none."""
        ...

    async def end_tasks(self) -> None:
        """End the tasks that run."""
        ...

    async def keep(self) -> None:
        """Acquire the lifespan and the mounts until `let_go`.

        Raises:
            LifespanError: the lifespan could not be entered.
        """
        ...

    async def let_go(self) -> None:
        """Release what `keep` acquired."""
        ...

    async def aclose(self) -> None:
        """End every session and task, and leave the lifespan."""
        ...
