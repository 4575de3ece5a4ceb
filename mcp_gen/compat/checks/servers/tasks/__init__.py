"""Checks of tasks: those of the protocol, and those of the extension."""

from mcp_gen.compat.checks.servers.tasks import (
    asking,
    extension_calls,
    extension_news,
    extension_states,
    http,
    offers,
    outcomes,
    related,
    requests,
    states,
)

__all__ = [
    "asking",
    "extension_calls",
    "extension_news",
    "extension_states",
    "http",
    "offers",
    "outcomes",
    "related",
    "requests",
    "states",
]
