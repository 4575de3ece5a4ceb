"""Connects the task manager of a server to the other nodes of a cluster, and to a job engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.core.stores.failures import require_methods
from mcp_gen.core.stores.tasks import SharedTaskStore
from mcp_gen.server.tasks.engine.submitter import EngineSubmitter
from mcp_gen.server.tasks.nodes.nodes import TaskNodes

if TYPE_CHECKING:
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.server.tasks.manager import TaskManager

__all__ = ["connect_tasks"]


def connect_tasks(manager: TaskManager, cluster: Cluster) -> None:
    """Share the tasks of a server with the other nodes of a cluster.

    A task store of the user is kept, if it is one for several nodes.

    Args:
        manager: Task manager of the server.
        cluster: The cluster.

    Raises:
        UsageError: The task store of the user lacks a method.
    """
    options = manager.options
    if options.store is None:
        use_store(manager, cluster)
        cluster.on_emptied(lambda: use_store(manager, cluster))
    elif options.engine is not None:
        require_methods(options.store, SharedTaskStore, "Tasks(store=..., engine=...)")
    nodes = manager.nodes = TaskNodes(manager, cluster)
    if options.engine is not None:
        manager.submitter = EngineSubmitter(manager, nodes, options.engine)


def use_store(manager: TaskManager, cluster: Cluster) -> None:
    """Keep the tasks in the store of the cluster as it is now."""
    manager.store = cluster.tasks
