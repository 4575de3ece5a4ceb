"""Internal parts of a server that other rooms of this package reach through `server.runtime`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.server.request_services import Runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.declarations import Declarations
    from mcp_gen.server.dispatch.on_demand import AppsOnDemand, TasksOnDemand
    from mcp_gen.server.serving.runner import ServerRunner
    from mcp_gen.server.session_state import SessionState
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["ServerParts"]


class ServerParts(Runtime):
    """Internal parts of a server. Not part of the public API: it may change at any time.

    Args:
        kernel: Answers requests at every protocol revision.
        declarations: Declared capabilities.
        tasks: Task manager, created on demand.
        apps: MCP Apps, created on demand.
        runner: Open connections, ASGI apps and users of the lifespan.
        request_state_keys: See `Server`.
        request_state_ttl_s: See `Server`.
        max_rounds: See `Server`.
        session_state: See `Server`.

    Raises:
        UsageError: a key that is too short, or a limit that is not above zero.
    """

    def __init__(
        self,
        kernel: Kernel[Context],
        *,
        declarations: Declarations,
        tasks: TasksOnDemand,
        apps: AppsOnDemand,
        runner: ServerRunner,
        request_state_keys: Sequence[str | bytes],
        request_state_ttl_s: float,
        max_rounds: int,
        session_state: SessionState | None,
    ) -> None:
        super().__init__(
            kernel,
            request_state_keys=request_state_keys,
            request_state_ttl_s=request_state_ttl_s,
            max_rounds=max_rounds,
            session_state=session_state,
        )
        self.declarations = declarations
        self.tasks = tasks
        self.apps = apps
        self.runner = runner

    def use_cluster(self, cluster: Cluster) -> None:
        """Share tasks, `requestState` and the values of `once` with other nodes.

        Called before the first request; further calls with the same cluster do nothing.

        Raises:
            UsageError: the server is one of another cluster already, or its task store cannot be
                shared by workers.
        """
        super().use_cluster(cluster)
        self.tasks.use_cluster(cluster)
