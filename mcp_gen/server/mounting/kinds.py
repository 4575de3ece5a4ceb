"""Requests that pass through a mount, and the four kinds of lists, per revision."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, cast

import mcp_wire

if TYPE_CHECKING:
    from mcp_gen.server.listing.listing import Listing
    from mcp_gen.server.prompts.registry import PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_wire.method import Method

__all__ = [
    "KINDS",
    "PROMPTS",
    "RESOURCES",
    "TEMPLATES",
    "TOOLS",
    "FeatureKind",
    "MethodName",
    "Registries",
    "raw_call",
    "row",
]

MethodName: TypeAlias = Literal[
    "call_tool",
    "complete",
    "get_prompt",
    "list_prompts",
    "list_resource_templates",
    "list_resources",
    "list_tools",
    "read_resource",
    "subscribe",
    "unsubscribe",
]
"""Request, as the Python name of its handler."""

_CONSTANTS: dict[MethodName, str] = {
    "call_tool": "TOOLS_CALL",
    "complete": "COMPLETION_COMPLETE",
    "get_prompt": "PROMPTS_GET",
    "list_prompts": "PROMPTS_LIST",
    "list_resource_templates": "RESOURCES_TEMPLATES_LIST",
    "list_resources": "RESOURCES_LIST",
    "list_tools": "TOOLS_LIST",
    "read_resource": "RESOURCES_READ",
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


class Registries(Protocol):
    """Registries of a server's own items."""

    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry


class FeatureKind(NamedTuple):
    """Kind of listed item: tool, prompt, resource or resource template."""

    feature: Literal["prompts", "resources", "tools"]
    """Name of the server attribute with the registry, and of the server capability."""
    listing: str
    """Name of the registry attribute with the listing."""
    key: str
    """Field that identifies an item."""
    lists: MethodName
    prefixed: bool
    """True if the prefix of a mount is put in front of the key."""

    def of(self, server: Registries) -> Listing[Any]:
        """Return the listing of a server's own items of this kind."""
        found: Listing[Any] = getattr(getattr(server, self.feature), self.listing)
        return found


TOOLS = FeatureKind("tools", "listing", "name", "list_tools", True)
PROMPTS = FeatureKind("prompts", "listing", "name", "list_prompts", True)
RESOURCES = FeatureKind("resources", "listing", "uri", "list_resources", False)
TEMPLATES = FeatureKind("resources", "templates", "uri_template", "list_resource_templates", False)
KINDS = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
