"""Servers that break the rules of caching hints, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_wire.method import Method


class OwnHints(ReferenceServer):
    """Has caching hints of its own."""

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        made = super().exact(method, result)
        if "cacheScope" in made:
            self.hint(made)
        return made

    def hint(self, result: Json) -> None:
        """Change a result that has hints."""
        raise NotImplementedError


@breaks("caching:hints")
class ReadsWithoutHints(OwnHints):
    """Leaves out the hints of what is read."""

    def hint(self, result: Json) -> None:
        if "contents" in result:
            del result["ttlMs"], result["cacheScope"]


@keeps("caching:hints")
@keeps("caching:ttl:not-negative")
class NothingIsKept(OwnHints):
    """Says that nothing may be kept."""

    def hint(self, result: Json) -> None:
        result.update(ttlMs=0, cacheScope="private")


@breaks("caching:ttl:not-negative")
class TimesBelowZero(OwnHints):
    """Says that a list may be kept for less than no time."""

    def hint(self, result: Json) -> None:
        if "tools" in result:
            result["ttlMs"] = -1


@breaks("caching:scope:all-pages")
class FirstPageForAll(OwnHints):
    """Says that all pages but the first are private."""

    def hint(self, result: Json) -> None:
        if "tools" in result and "nextCursor" not in result:
            result["cacheScope"] = "private"


@keeps("caching:scope:all-pages")
class TimesByPage(OwnHints):
    """Gives the pages of a list different times, and lists different scopes."""

    def hint(self, result: Json) -> None:
        if "tools" in result:
            result["cacheScope"] = "private"
            if "nextCursor" not in result:
                result["ttlMs"] = 1
