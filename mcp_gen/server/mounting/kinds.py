"""The four kinds of lists of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mcp_gen.server.listing.listing import Listing
    from mcp_gen.server.prompts.registry import PromptRegistry
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tools.registry import ToolRegistry

__all__ = [
    "KINDS",
    "PROMPTS",
    "RESOURCES",
    "TEMPLATES",
    "TOOLS",
    "FeatureKind",
    "Registries",
]


class Registries(Protocol):
    """Registries of a server's own items."""

    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry


class FeatureKind(Struct, frozen=True):
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
