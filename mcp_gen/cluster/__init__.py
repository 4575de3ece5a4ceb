"""Clusters: what several nodes share, so that any of them can answer any request.

Imported by: users, cli.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.cluster.memory.cluster import MemoryCluster
    from mcp_gen.cluster.redis.cluster import Redis

__all__ = ["MemoryCluster", "Redis"]

_HOMES = {"MemoryCluster": "memory.cluster", "Redis": "redis.cluster"}


def __getattr__(name: str) -> Any:
    """Import a name on its first use: Redis needs an extra."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
