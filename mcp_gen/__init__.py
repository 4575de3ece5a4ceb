"""MCP SDK for Python, generated from the specification: servers and clients at every revision.

Names are imported on first use, so that a server does not load the client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.violations import Violation
    from mcp_gen.client.client import Client
    from mcp_gen.client.requests.retrying import Retry
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.client.subscriptions.watch import Change, ChangeWatch
    from mcp_gen.client.tasks.state import TaskState
    from mcp_gen.client.tasks.tool_task import ToolTask
    from mcp_gen.client.tools.result_content import Media, images_of, links_of, media_of, text_of
    from mcp_gen.core.errors import (
        AuthError,
        CommandEnded,
        HttpError,
        InputRefused,
        InsufficientScope,
        InvalidParams,
        InvalidRequest,
        InvalidResult,
        LifespanError,
        McpError,
        McpGenError,
        MessageTooLarge,
        MethodNotFound,
        MissingCapability,
        ParseError,
        ProjectionError,
        ProtocolError,
        RequestTimeout,
        ResourceNotFound,
        SchemaNotChecked,
        SessionExpired,
        SessionLost,
        TaskCancelled,
        TaskGone,
        ToolError,
        ToolNotApproved,
        TransportError,
        UncheckedResult,
        UrlElicitation,
        UrlElicitationRequired,
        UsageError,
    )
    from mcp_gen.core.peer_limits import PeerLimits
    from mcp_gen.core.projection.project import Loss, Projected, project
    from mcp_gen.manager.config import ServerConfig
    from mcp_gen.manager.events import ManagerEvent, Reconnect
    from mcp_gen.manager.manager import ClientManager
    from mcp_gen.manager.model_results import tool_result_for
    from mcp_gen.server.content.blocks import Structured
    from mcp_gen.server.context.answers import Accepted, Cancelled, Declined
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.current import current_context
    from mcp_gen.server.functions.dependencies import Depends
    from mcp_gen.server.listing.cache_hints import CacheHints
    from mcp_gen.server.prompts.messages import assistant, user
    from mcp_gen.server.resources.contents import Contents
    from mcp_gen.server.resources.files import FileResources
    from mcp_gen.server.server import Server
    from mcp_gen.server.session_state import SessionState
    from mcp_gen.server.tasks.engine.taskiq_engine import TaskiqEngine
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.transforms.argument import Argument
    from mcp_gen.server.transforms.transformed_tool import transformed
    from mcp_gen.session.messages.middleware import CallNext
    from mcp_gen.session.peer.log_level import LogLevel
    from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

__all__ = [
    "Accepted",
    "Argument",
    "AuthError",
    "CacheHints",
    "CallNext",
    "Cancelled",
    "Change",
    "ChangeWatch",
    "Client",
    "ClientManager",
    "ClientSession",
    "CommandEnded",
    "ConnectionLimits",
    "Contents",
    "Context",
    "Declined",
    "Depends",
    "FileResources",
    "HttpError",
    "InputRefused",
    "InsufficientScope",
    "InvalidParams",
    "InvalidRequest",
    "InvalidResult",
    "LifespanError",
    "LogLevel",
    "Loss",
    "ManagerEvent",
    "McpError",
    "McpGenError",
    "Media",
    "MessageTooLarge",
    "MethodNotFound",
    "MissingCapability",
    "ParseError",
    "PeerLimits",
    "Projected",
    "ProjectionError",
    "ProtocolError",
    "Reconnect",
    "RequestTimeout",
    "ResourceNotFound",
    "Retry",
    "SchemaNotChecked",
    "Server",
    "ServerConfig",
    "SessionExpired",
    "SessionLost",
    "SessionState",
    "Structured",
    "TaskCancelled",
    "TaskGone",
    "TaskState",
    "TaskiqEngine",
    "Tasks",
    "ToolError",
    "ToolNotApproved",
    "ToolTask",
    "TransportError",
    "UncheckedResult",
    "UrlElicitation",
    "UrlElicitationRequired",
    "UsageError",
    "Violation",
    "assistant",
    "current_context",
    "images_of",
    "links_of",
    "media_of",
    "project",
    "text_of",
    "tool_result_for",
    "transformed",
    "user",
]

_HOMES = {
    "Accepted": "mcp_gen.server.context.answers",
    "Argument": "mcp_gen.server.transforms.argument",
    "CacheHints": "mcp_gen.server.listing.cache_hints",
    "CallNext": "mcp_gen.session.messages.middleware",
    "Cancelled": "mcp_gen.server.context.answers",
    "Change": "mcp_gen.client.subscriptions.watch",
    "Client": "mcp_gen.client.client",
    "ClientManager": "mcp_gen.manager.manager",
    "ClientSession": "mcp_gen.client.session.session",
    "ConnectionLimits": "mcp_gen.transports.http_server.connection_limits",
    "Contents": "mcp_gen.server.resources.contents",
    "Context": "mcp_gen.server.context.context",
    "Declined": "mcp_gen.server.context.answers",
    "Depends": "mcp_gen.server.functions.dependencies",
    "FileResources": "mcp_gen.server.resources.files",
    "LogLevel": "mcp_gen.session.peer.log_level",
    "Loss": "mcp_gen.core.projection.project",
    "ManagerEvent": "mcp_gen.manager.events",
    "Media": "mcp_gen.client.tools.result_content",
    "PeerLimits": "mcp_gen.core.peer_limits",
    "Projected": "mcp_gen.core.projection.project",
    "Reconnect": "mcp_gen.manager.events",
    "Retry": "mcp_gen.client.requests.retrying",
    "Violation": "mcp_gen.client.callbacks.violations",
    "Server": "mcp_gen.server.server",
    "SessionState": "mcp_gen.server.session_state",
    "ServerConfig": "mcp_gen.manager.config",
    "Structured": "mcp_gen.server.content.blocks",
    "TaskState": "mcp_gen.client.tasks.state",
    "TaskiqEngine": "mcp_gen.server.tasks.engine.taskiq_engine",
    "Tasks": "mcp_gen.server.tasks.options",
    "ToolTask": "mcp_gen.client.tasks.tool_task",
    "ChangeWatch": "mcp_gen.client.subscriptions.watch",
    "assistant": "mcp_gen.server.prompts.messages",
    "current_context": "mcp_gen.server.context.current",
    "images_of": "mcp_gen.client.tools.result_content",
    "links_of": "mcp_gen.client.tools.result_content",
    "media_of": "mcp_gen.client.tools.result_content",
    "project": "mcp_gen.core.projection.project",
    "text_of": "mcp_gen.client.tools.result_content",
    "tool_result_for": "mcp_gen.manager.model_results",
    "transformed": "mcp_gen.server.transforms.transformed_tool",
    "user": "mcp_gen.server.prompts.messages",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        # Loaded with the first mistake.
        from mcp_gen.core.mistakes.words import WORDS

        meant = WORDS["mcp_gen"].get(name)
        if meant is not None:
            # Python would put another message in place of that of an AttributeError.
            raise ImportError(f"mcp_gen has no {name}: {meant}", name=__name__)
        # `from mcp_gen import types` asks here first, and imports the module after this error.
        advice = f": write `import mcp_gen.{name}`" if name in {"content", "types"} else ""
        raise AttributeError(f"module 'mcp_gen' has no attribute {name!r}{advice}")
    return getattr(import_module(_HOMES.get(name, "mcp_gen.core.errors")), name)


def __dir__() -> list[str]:
    return __all__
