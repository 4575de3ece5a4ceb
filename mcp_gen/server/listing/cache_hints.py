"""How long clients may keep a result, and whom they may share it with."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["CacheHints", "Hints"]


class CacheHints(Struct, frozen=True):
    """`ttl_ms` is for how long a result is fresh; `cache_scope` is who may share it.

    `public`: the result holds nothing of one user, and any client or proxy may serve it to any
    other. Sent from 2026-07-28 on; the defaults say that a result is stale at once, and nobody
    else's.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
    """

    ttl_ms: int = 0
    cache_scope: Literal["public", "private"] = "private"

    def __post_init__(self) -> None:
        if self.ttl_ms < 0:
            raise UsageError(f"ttl_ms={self.ttl_ms}: a time to live is at least 0")
        if self.cache_scope not in ("public", "private"):
            raise UsageError(f"cache_scope={self.cache_scope!r}: expected 'public' or 'private'")

    def fields(self) -> dict[str, Any]:
        """The hints as fields of a result."""
        return {"ttl_ms": self.ttl_ms, "cache_scope": self.cache_scope}


class Hints(Struct):
    """The hints of a server: those of a method, or the ones for all that have none of their own."""

    default: CacheHints
    discover: CacheHints | None = None
    list_prompts: CacheHints | None = None
    list_resource_templates: CacheHints | None = None
    list_resources: CacheHints | None = None
    list_tools: CacheHints | None = None
    read_resource: CacheHints | None = None

    def of(self, method: str) -> CacheHints:
        """The hints of a method, by its name in Python."""
        found: CacheHints | None = getattr(self, method)
        return found or self.default
