"""The requests that pass through a mount, as each revision has them."""

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
    "Registries",
    "What",
    "raw_call",
    "row",
]

What: TypeAlias = Literal[
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
"""A request, by the Python name of its handler."""

_CONSTANTS: dict[What, str] = {
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
def row(what: What, revision: str) -> Method[Any, Any] | None:
    """The row of a request; None where the revision has none."""
    methods = import_module(f"{mcp_wire.profile(revision).module}.methods")
    return cast("Method[Any, Any] | None", getattr(methods, _CONSTANTS[what], None))


@cache
def raw_call(revision: str) -> Any:
    """The params of a tool's call whose arguments are not read."""
    return mcp_wire.types(revision).RawCallToolRequestParams


class Registries(Protocol):
    """The registries of a server: what it offers by itself."""

    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry


class FeatureKind(NamedTuple):
    """What there are lists of."""

    feature: Literal["prompts", "resources", "tools"]
    """The attribute of a server that has them; also what is declared, and asked to be told of."""
    listing: str
    """The attribute of that which lists them."""
    key: str
    """The field that tells one from another."""
    lists: What
    prefixed: bool
    """Whether the key of what is mounted has the mount's prefix in front."""

    def of(self, server: Registries) -> Listing[Any]:
        """The list that a server has of its own."""
        found: Listing[Any] = getattr(getattr(server, self.feature), self.listing)
        return found


TOOLS = FeatureKind("tools", "listing", "name", "list_tools", True)
PROMPTS = FeatureKind("prompts", "listing", "name", "list_prompts", True)
RESOURCES = FeatureKind("resources", "listing", "uri", "list_resources", False)
TEMPLATES = FeatureKind("resources", "templates", "uri_template", "list_resource_templates", False)
KINDS = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
