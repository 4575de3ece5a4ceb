"""MCP for Python, generated from the specification: exact at every revision.

Names are imported when they are first used, so that a server does not load a client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.client.client import Client
    from mcp_gen.client.manager import ClientManager
    from mcp_gen.client.manager_config import ServerConfig
    from mcp_gen.client.manager_events import ManagerEvent, Reconnect
    from mcp_gen.client.reports import Report
    from mcp_gen.client.results import Media, images_of, links_of, media_of, text_of
    from mcp_gen.client.session import ClientSession
    from mcp_gen.client.task_state import TaskState
    from mcp_gen.client.tool_task import ToolTask
    from mcp_gen.client.watching import Change, Watch
    from mcp_gen.core.errors import (
        CommandEnded,
        HttpError,
        InputRefused,
        InvalidParams,
        InvalidRequest,
        LifespanError,
        McpError,
        McpGenError,
        MethodNotFound,
        MissingCapability,
        ParseError,
        ProjectionError,
        ProtocolError,
        RequestTimeout,
        ResourceNotFound,
        SessionExpired,
        SessionLost,
        TaskCancelled,
        TaskGone,
        ToolError,
        TransportError,
        UrlElicitation,
        UrlElicitationRequired,
        UsageError,
    )
    from mcp_gen.core.project import Loss, Projected, project
    from mcp_gen.server.argument import Argument
    from mcp_gen.server.asking import Accepted, Cancelled, Declined
    from mcp_gen.server.content import Structured
    from mcp_gen.server.contents import Contents
    from mcp_gen.server.context import Context
    from mcp_gen.server.dependencies import Depends
    from mcp_gen.server.files import FileResources
    from mcp_gen.server.hints import CacheHints
    from mcp_gen.server.messages import assistant, user
    from mcp_gen.server.server import Server
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.transformed import transformed

__all__ = [
    "Accepted",
    "Argument",
    "CacheHints",
    "Cancelled",
    "Change",
    "Client",
    "ClientManager",
    "ClientSession",
    "CommandEnded",
    "Contents",
    "Context",
    "Declined",
    "Depends",
    "FileResources",
    "HttpError",
    "InputRefused",
    "InvalidParams",
    "InvalidRequest",
    "LifespanError",
    "Loss",
    "ManagerEvent",
    "McpError",
    "McpGenError",
    "Media",
    "MethodNotFound",
    "MissingCapability",
    "ParseError",
    "Projected",
    "ProjectionError",
    "ProtocolError",
    "Reconnect",
    "Report",
    "RequestTimeout",
    "ResourceNotFound",
    "Server",
    "ServerConfig",
    "SessionExpired",
    "SessionLost",
    "Structured",
    "TaskCancelled",
    "TaskGone",
    "TaskState",
    "Tasks",
    "ToolError",
    "ToolTask",
    "TransportError",
    "UrlElicitation",
    "UrlElicitationRequired",
    "UsageError",
    "Watch",
    "assistant",
    "images_of",
    "links_of",
    "media_of",
    "project",
    "text_of",
    "transformed",
    "user",
]

_HOMES = {
    "Accepted": "mcp_gen.server.asking",
    "Argument": "mcp_gen.server.argument",
    "CacheHints": "mcp_gen.server.hints",
    "Cancelled": "mcp_gen.server.asking",
    "Change": "mcp_gen.client.watching",
    "Client": "mcp_gen.client.client",
    "ClientManager": "mcp_gen.client.manager",
    "ClientSession": "mcp_gen.client.session",
    "Contents": "mcp_gen.server.contents",
    "Context": "mcp_gen.server.context",
    "Declined": "mcp_gen.server.asking",
    "Depends": "mcp_gen.server.dependencies",
    "FileResources": "mcp_gen.server.files",
    "Loss": "mcp_gen.core.project",
    "ManagerEvent": "mcp_gen.client.manager_events",
    "Media": "mcp_gen.client.results",
    "Projected": "mcp_gen.core.project",
    "Reconnect": "mcp_gen.client.manager_events",
    "Report": "mcp_gen.client.reports",
    "Server": "mcp_gen.server.server",
    "ServerConfig": "mcp_gen.client.manager_config",
    "Structured": "mcp_gen.server.content",
    "TaskState": "mcp_gen.client.task_state",
    "Tasks": "mcp_gen.server.tasks.options",
    "ToolTask": "mcp_gen.client.tool_task",
    "Watch": "mcp_gen.client.watching",
    "assistant": "mcp_gen.server.messages",
    "images_of": "mcp_gen.client.results",
    "links_of": "mcp_gen.client.results",
    "media_of": "mcp_gen.client.results",
    "project": "mcp_gen.core.project",
    "text_of": "mcp_gen.client.results",
    "transformed": "mcp_gen.server.transformed",
    "user": "mcp_gen.server.messages",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mcp_gen' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "mcp_gen.core.errors")), name)


def __dir__() -> list[str]:
    return __all__
