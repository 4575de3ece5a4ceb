"""Checks of tasks: those of the protocol, and those of the extension."""

from mcp_gen.compat.checks.servers.tasks import (
    asking,
    offers,
    outcomes,
    related,
    requests,
    states,
)

__all__ = ["asking", "offers", "outcomes", "related", "requests", "states"]
