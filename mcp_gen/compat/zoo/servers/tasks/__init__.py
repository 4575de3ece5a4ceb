"""Servers that break the rules of tasks, and their twins."""

from mcp_gen.compat.zoo.servers.tasks import (
    extension_calls,
    extension_states,
    offers,
    outcomes,
    related,
    states,
)

__all__ = ["extension_calls", "extension_states", "offers", "outcomes", "related", "states"]
