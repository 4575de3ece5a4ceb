"""Cache hints of results: `ttlMs` and `cacheScope`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["CacheHints", "Hints"]


class CacheHints(Struct, frozen=True):
    """Cache hints for the results of a server.

    Hints are sent from revision 2026-07-28 on. With the defaults a result is stale at once and is
    not shared.

    Args:
        ttl_ms: Time in milliseconds for which a result is fresh; at least 0.
        cache_scope: `private`: the result must not be served to others. `public`: it holds no data
            of one user, and any client or proxy may serve it to any other.

    Raises:
        UsageError: `ttl_ms` is negative, or `cache_scope` is neither of the two.

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
        """Return the hints as fields of a result."""
        return {"ttl_ms": self.ttl_ms, "cache_scope": self.cache_scope}


class Hints(Struct):
    """Cache hints of a server: per method, with a default for methods without their own."""

    default: CacheHints
    discover: CacheHints | None = None
    list_prompts: CacheHints | None = None
    list_resource_templates: CacheHints | None = None
    list_resources: CacheHints | None = None
    list_tools: CacheHints | None = None
    read_resource: CacheHints | None = None

    def for_method(self, method: str) -> CacheHints:
        """Return the hints of a method, given its Python name."""
        found: CacheHints | None = getattr(self, method)
        return found or self.default
