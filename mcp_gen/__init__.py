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
    from mcp_gen.client.session import ClientSession
    from mcp_gen.core.errors import (
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
        ToolError,
        TransportError,
        UrlElicitation,
        UrlElicitationRequired,
        UsageError,
    )
    from mcp_gen.core.project import Loss, Projected, project
    from mcp_gen.server.asking import Accepted, Cancelled, Declined
    from mcp_gen.server.content import Structured
    from mcp_gen.server.contents import Contents
    from mcp_gen.server.context import Context
    from mcp_gen.server.dependencies import Depends
    from mcp_gen.server.files import FileResources
    from mcp_gen.server.hints import CacheHints
    from mcp_gen.server.messages import assistant, user
    from mcp_gen.server.server import Server

__all__ = [
    "Accepted",
    "CacheHints",
    "Cancelled",
    "Client",
    "ClientManager",
    "ClientSession",
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
    "MethodNotFound",
    "MissingCapability",
    "ParseError",
    "Projected",
    "ProjectionError",
    "ProtocolError",
    "Reconnect",
    "RequestTimeout",
    "ResourceNotFound",
    "Server",
    "ServerConfig",
    "SessionExpired",
    "SessionLost",
    "Structured",
    "ToolError",
    "TransportError",
    "UrlElicitation",
    "UrlElicitationRequired",
    "UsageError",
    "assistant",
    "project",
    "user",
]

_HOMES = {
    "Accepted": "mcp_gen.server.asking",
    "CacheHints": "mcp_gen.server.hints",
    "Cancelled": "mcp_gen.server.asking",
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
    "Projected": "mcp_gen.core.project",
    "Reconnect": "mcp_gen.client.manager_events",
    "Server": "mcp_gen.server.server",
    "ServerConfig": "mcp_gen.client.manager_config",
    "Structured": "mcp_gen.server.content",
    "assistant": "mcp_gen.server.messages",
    "project": "mcp_gen.core.project",
    "user": "mcp_gen.server.messages",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mcp_gen' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "mcp_gen.core.errors")), name)


def __dir__() -> list[str]:
    return __all__
