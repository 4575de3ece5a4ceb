"""MCP for Python, generated from the specification: exact at every revision.

Names are imported when they are first used, so that a server does not load a client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.client.client import Client
    from mcp_gen.client.session import ClientSession
    from mcp_gen.core.errors import (
        InvalidParams,
        InvalidRequest,
        McpError,
        McpGenError,
        MethodNotFound,
        ParseError,
        ProjectionError,
        ProtocolError,
        RequestTimeout,
        SessionLost,
        ToolError,
        TransportError,
        UsageError,
    )
    from mcp_gen.core.project import Loss, Projected, project
    from mcp_gen.server.content import Structured
    from mcp_gen.server.context import Context
    from mcp_gen.server.dependencies import Depends
    from mcp_gen.server.server import Server

__all__ = [
    "Client",
    "ClientSession",
    "Context",
    "Depends",
    "InvalidParams",
    "InvalidRequest",
    "Loss",
    "McpError",
    "McpGenError",
    "MethodNotFound",
    "ParseError",
    "Projected",
    "ProjectionError",
    "ProtocolError",
    "RequestTimeout",
    "Server",
    "SessionLost",
    "Structured",
    "ToolError",
    "TransportError",
    "UsageError",
    "project",
]

_HOMES = {
    "Client": "mcp_gen.client.client",
    "ClientSession": "mcp_gen.client.session",
    "Context": "mcp_gen.server.context",
    "Depends": "mcp_gen.server.dependencies",
    "Loss": "mcp_gen.core.project",
    "Projected": "mcp_gen.core.project",
    "Server": "mcp_gen.server.server",
    "Structured": "mcp_gen.server.content",
    "project": "mcp_gen.core.project",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mcp_gen' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "mcp_gen.core.errors")), name)


def __dir__() -> list[str]:
    return __all__
