"""Requests that are forwarded to a remote server, per revision."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import mcp_wire

if TYPE_CHECKING:
    from mcp_wire.method import Method

__all__ = ["MethodName", "raw_call", "row"]

MethodName: TypeAlias = Literal[
    "call_tool",
    "cancel_task",
    "complete",
    "get_prompt",
    "get_task",
    "get_task_payload",
    "list_prompts",
    "list_resource_templates",
    "list_resources",
    "list_tasks",
    "list_tools",
    "read_resource",
    "set_level",
    "subscribe",
    "unsubscribe",
]
"""Request, as the Python name of its handler."""

_CONSTANTS: dict[MethodName, str] = {
    "call_tool": "TOOLS_CALL",
    "cancel_task": "TASKS_CANCEL",
    "complete": "COMPLETION_COMPLETE",
    "get_prompt": "PROMPTS_GET",
    "get_task": "TASKS_GET",
    "get_task_payload": "TASKS_RESULT",
    "list_prompts": "PROMPTS_LIST",
    "list_resource_templates": "RESOURCES_TEMPLATES_LIST",
    "list_resources": "RESOURCES_LIST",
    "list_tasks": "TASKS_LIST",
    "list_tools": "TOOLS_LIST",
    "read_resource": "RESOURCES_READ",
    "set_level": "LOGGING_SET_LEVEL",
    "subscribe": "RESOURCES_SUBSCRIBE",
    "unsubscribe": "RESOURCES_UNSUBSCRIBE",
}


@cache
def row(what: MethodName, revision: str) -> Method[Any, Any] | None:
    """Return the method row of a request at a revision; None if the revision has none."""
    methods = import_module(f"{mcp_wire.profile(revision).module}.methods")
    return cast("Method[Any, Any] | None", getattr(methods, _CONSTANTS[what], None))


@cache
def raw_call(revision: str) -> Any:
    """Return the params type of `tools/call` that leaves the arguments undecoded."""
    return mcp_wire.types(revision).RawCallToolRequestParams
