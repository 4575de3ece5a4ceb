"""How long clients may keep a result, and whom they may share it with."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["CacheHints"]


class CacheHints(Struct, frozen=True):
    """`ttl_ms` is for how long a result is fresh; `cache_scope` is who may share it.

    Sent from 2026-07-28 on; the defaults say that a result is stale at once, and nobody else's.
    """

    ttl_ms: int = 0
    cache_scope: Literal["public", "private"] = "private"

    def __post_init__(self) -> None:
        if self.ttl_ms < 0:
            raise UsageError(f"ttl_ms={self.ttl_ms}: a time to live is at least 0")

    def fields(self) -> dict[str, Any]:
        """The hints as fields of a result."""
        return {"ttl_ms": self.ttl_ms, "cache_scope": self.cache_scope}
