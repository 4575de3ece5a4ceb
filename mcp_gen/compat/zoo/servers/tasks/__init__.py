"""Servers that break the rules of tasks, and their twins."""

from mcp_gen.compat.zoo.servers.tasks import offers, outcomes, related, states

__all__ = ["offers", "outcomes", "related", "states"]
