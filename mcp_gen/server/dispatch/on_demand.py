"""Parts of a server that only some servers have: the task manager and MCP Apps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.core.errors import UsageError
from mcp_gen.server.dispatch.handlers import Handlers

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.extensions import ExtensionRegistry
    from mcp_gen.server.dispatch.handlers import HandlerParts
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire import latest

__all__ = ["AppsOnDemand", "TasksOnDemand"]


class TasksOnDemand:
    """Creates the task manager of a server for its first tool that runs as a task.

    Args:
        parts: Parts of the server that handlers answer from.
        extensions: Registry that declares the tasks extension.
        options: Limits and store of the tasks; None for the defaults.
        served: Holds the lifespan and the mounts of the server while a handler runs.
    """

    def __init__(
        self,
        parts: HandlerParts,
        extensions: ExtensionRegistry,
        options: Tasks | None,
        served: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._parts = parts
        self._extensions = extensions
        self._options = options
        self._served = served
        self._cluster: Cluster | None = None
        self.manager: TaskManager | None = None
        """Task manager; None until `enable` is called."""

    def enable(self) -> None:
        """Create the task manager and declare tasks, unless that is done already."""
        if self.manager is not None:
            return
        # Imported here: most servers have no tasks.
        from mcp_gen.server.tasks.core_protocol import CAPABILITIES
        from mcp_gen.server.tasks.extension_protocol import ExtensionHandlers
        from mcp_gen.server.tasks.options import Tasks
        from mcp_gen.server.tasks.setup import create_task_manager
        from mcp_wire.extensions.tasks import EXTENSION

        parts = self._parts
        kernel, declarations = parts.kernel, parts.declarations
        self.manager = create_task_manager(
            kernel, parts.tools, parts.notify.listeners, self._served, self._options or Tasks()
        )
        # The first mount replaces the handlers of the kernel.
        if isinstance(kernel.handlers, Handlers):
            kernel.handlers.enable_tasks(self.manager)
        declarations.keep(CAPABILITIES)
        declarations.has_tasks = True
        self._extensions.add(EXTENSION, ExtensionHandlers(self.manager))
        declarations.capabilities_changed()
        if self._cluster is not None:
            self._connect(self.manager, self._cluster)

    def use_cluster(self, cluster: Cluster) -> None:
        """Share the tasks with the other nodes of a cluster.

        Raises:
            UsageError: The server is one of another cluster already, or its task store cannot be
                shared by workers.
        """
        if self._cluster is cluster:
            return
        if self._cluster is not None:
            raise UsageError("cluster=: the server is served with another one already: make two")
        self._cluster = cluster
        if self.manager is not None:
            self._connect(self.manager, cluster)

    def _connect(self, manager: TaskManager, cluster: Cluster) -> None:
        # Imported here: few servers have tasks and a cluster.
        from mcp_gen.server.tasks.engine.setup import connect_tasks

        connect_tasks(manager, cluster)

    async def aclose(self) -> None:
        """Cancel the tasks that run."""
        if self.manager is not None:
            await self.manager.aclose()


class AppsOnDemand:
    """Creates the apps of a server for its first UI resource or its first tool that has one.

    Args:
        extensions: Registry that declares the MCP Apps extension.
        resources: Registry of the UI resources.
        filter_tools: Adds a filter that hides tools of apps from clients without apps.
    """

    def __init__(
        self,
        extensions: ExtensionRegistry,
        resources: ResourceRegistry,
        filter_tools: Callable[[Callable[[Context, latest.Tool], bool]], object],
    ) -> None:
        self._extensions = extensions
        self._resources = resources
        self._filter_tools = filter_tools
        self.apps: Apps | None = None
        """Apps of the server; None until `enable` is called."""

    def enable(self) -> Apps:
        """Return the apps; the first call declares the extension."""
        if self.apps is None:
            # Imported here: most servers have no apps.
            from mcp_gen.server.apps.apps import Apps

            known, add = self._extensions.declared, self._extensions.add
            self.apps = Apps(known, add, self._resources, self._filter_tools)
        return self.apps

    def add_tool(self, tool: ServerTool) -> None:
        """Add a tool with UI metadata, before it is registered."""
        self.enable().add_tool(tool)

    def check(self) -> None:
        """Check that every UI resource that a tool names is registered.

        Raises:
            UsageError: one is missing.
        """
        if self.apps is not None:
            self.apps.check()
