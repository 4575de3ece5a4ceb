"""Servers that break the rules of tasks, and their twins."""

from mcp_gen.compat.zoo.servers.tasks import (
    asking,
    extension_calls,
    extension_states,
    http,
    offers,
    outcomes,
    related,
    states,
)

__all__ = [
    "asking",
    "extension_calls",
    "extension_states",
    "http",
    "offers",
    "outcomes",
    "related",
    "states",
]
