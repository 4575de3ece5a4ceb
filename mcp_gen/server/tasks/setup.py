"""Assembles the task manager of a server with the task protocols of every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.server.tasks.core_protocol import CoreTaskHandler, add_task_support
from mcp_gen.server.tasks.extension_protocol import ExtensionTaskHandler
from mcp_gen.server.tasks.manager import TaskManager
from mcp_gen.server.tasks.plain_protocol import PlainCalls
from mcp_gen.server.tasks.status_updates import TaskStatusListeners
from mcp_wire.extensions.tasks import EXTENSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.listeners import Listeners
    from mcp_gen.server.tasks.manager import MakeProtocol
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["create_task_manager"]

_PROTOCOLS: Mapping[str, MakeProtocol] = {
    "none": PlainCalls,
    "core": CoreTaskHandler,
    "extension": ExtensionTaskHandler,
}


def create_task_manager(
    kernel: Kernel[Context],
    tools: ToolRegistry,
    listeners: Listeners,
    acquire_server: Callable[[], AbstractAsyncContextManager[None]],
    options: Tasks,
) -> TaskManager:
    """Create a task manager and connect it to the server's tools and listeners.

    Args:
        kernel: The kernel of the server.
        tools: The server's own tools; their descriptions get the task support.
        listeners: Listeners of the server, which can then subscribe to the status of tasks.
        acquire_server: Holds the lifespan and the mounts of the server while a handler runs.
        options: Times and limits.
    """
    manager = TaskManager(kernel, tools, acquire_server, _PROTOCOLS, options)
    status_listeners = TaskStatusListeners(manager, listeners)
    listeners.extension_topics[EXTENSION] = status_listeners.granted
    manager.changed = status_listeners.publish
    manager.is_watched = status_listeners.is_watched
    tools.listing.finish = add_task_support
    return manager
