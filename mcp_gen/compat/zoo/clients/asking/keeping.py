"""Clients that keep results, and break the rules of that; and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.zoo import breaks, keeps

KEPT = (
    "list_tools",
    "list_prompts",
    "list_resources",
    "list_resource_templates",
    "read_resource",
)
FOR_EVER_MS = 1_000_000


class _Keeping(ClientScript):
    """Wants each list and each resource twice, and keeps what it may."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.kept: dict[str, tuple[Json, float]] = {}
        """Results, and when they are old."""
        self.was_asked = False

    async def use_resources(self) -> None:
        """Read each resource twice."""
        await super().use_resources()
        await super().use_resources()

    async def walk(self, name: str, member: str) -> list[Json]:
        """Walk a list twice."""
        await self.walk_once(name, member)
        return await self.walk_once(name, member)

    async def walk_once(self, name: str, member: str) -> list[Json]:
        """Walk a list, and again from its beginning if a cursor is refused."""
        try:
            return await super().walk(name, member)
        except ScriptFailure:
            return await self.start_over(name, member)

    async def start_over(self, name: str, member: str) -> list[Json]:
        """Walk a list without what was kept of it."""
        self.kept.clear()
        return await super().walk(name, member)

    async def asked(self, name: str, params: Json, *, meta: Json | None = None) -> Json:
        """Return what was kept, or ask."""
        if name not in KEPT:
            return await super().asked(name, params, meta=meta)
        key = self.key(name, params)
        found = self.kept.get(key)
        if found is not None and self.is_fresh(found[1]):
            return found[0]
        self.was_asked = False
        result = await super().asked(name, params, meta=meta)
        ttl_ms = self.ttl_ms(result.get("ttlMs"))
        if ttl_ms > 0 and self.may_keep():
            self.kept[key] = result, asyncio.get_running_loop().time() + ttl_ms / 1000
        return result

    def again(self, params: Json, result: Json) -> Json:
        """Take note that there are rounds."""
        self.was_asked = True
        return super().again(params, result)

    def key(self, name: str, params: Json) -> str:
        """Return what says whether two requests are the same."""
        return f"{name} {msgspec.json.encode(params, order='deterministic').decode()}"

    def is_fresh(self, until_s: float) -> bool:
        """Return True if a time is not over."""
        return asyncio.get_running_loop().time() < until_s

    def ttl_ms(self, said: int | None) -> int:
        """Return for how many milliseconds a result is kept."""
        return said or 0

    def may_keep(self) -> bool:
        """Return True if the last result may be kept."""
        return not self.was_asked


@breaks("caching:client:key")
class KnowsOneResource(_Keeping):
    """Takes what it has read for any resource."""

    def key(self, name: str, params: Json) -> str:
        return super().key(name, {key: one for key, one in params.items() if key != "uri"})


@keeps("caching:client:key")
class KnowsEachResource(_Keeping):
    """Knows resources by their URIs alone."""

    def key(self, name: str, params: Json) -> str:
        return str(params["uri"]) if "uri" in params else super().key(name, params)


@breaks("caching:client:rounds")
class KeepsRounds(_Keeping):
    """Keeps also what came of answers."""

    def may_keep(self) -> bool:
        return True


@keeps("caching:client:rounds")
class KeepsNoRounds(_Keeping):
    """Keeps nothing any more once it was asked."""

    is_wary = False

    def may_keep(self) -> bool:
        self.is_wary = self.is_wary or self.was_asked
        return not self.is_wary


@breaks("caching:client:zero")
class TakesZeroForEver(_Keeping):
    """Keeps for ever what has a time of zero."""

    def ttl_ms(self, said: int | None) -> int:
        return FOR_EVER_MS if said == 0 else super().ttl_ms(said)


@keeps("caching:client:zero")
class KeepsTheRest(_Keeping):
    """Keeps what has a time above zero."""

    def ttl_ms(self, said: int | None) -> int:
        return said if said is not None and said > 0 else 0


@breaks("caching:client:absent")
class TakesNothingForEver(_Keeping):
    """Keeps for ever what has no time."""

    def ttl_ms(self, said: int | None) -> int:
        return FOR_EVER_MS if said is None else said


@keeps("caching:client:absent")
class TakesNothingForZero(_Keeping):
    """Takes no time for a time of zero."""

    def ttl_ms(self, said: int | None) -> int:
        return 0 if said is None else said


@breaks("caching:client:negative")
class ForgetsTheSign(_Keeping):
    """Passes over the sign of a time."""

    def ttl_ms(self, said: int | None) -> int:
        return abs(said or 0)


@keeps("caching:client:negative")
class TakesLessForZero(_Keeping):
    """Takes a time below zero for zero."""

    def ttl_ms(self, said: int | None) -> int:
        return max(0, said or 0)


@breaks("caching:client:expired")
class NeverForgets(_Keeping):
    """Keeps for ever what may be kept at all."""

    def is_fresh(self, until_s: float) -> bool:
        return True


@keeps("caching:client:expired")
class ForgetsEarly(_Keeping):
    """Keeps things for half of their time."""

    def ttl_ms(self, said: int | None) -> int:
        return (said or 0) // 2


@breaks("caching:client:no-polling")
class Polls(_Keeping):
    """Asks for its tools again and again."""

    def ttl_ms(self, said: int | None) -> int:
        if 0 < (said or 0) < 1000 and not self.kept:
            self.later(self.poll((said or 0) / 1000))
        return super().ttl_ms(said)

    async def poll(self, every_s: float) -> None:
        """Ask again some times, each time after a while."""
        for _ in range(5):
            await asyncio.sleep(every_s)
            await self.ask("list_tools", {})


@keeps("caching:client:no-polling")
class CleansUp(_Keeping):
    """Throws away what is old as soon as it is, and asks for nothing."""

    def ttl_ms(self, said: int | None) -> int:
        if 0 < (said or 0) < 1000:
            self.later(self.clean_up((said or 0) / 1000))
        return super().ttl_ms(said)

    async def clean_up(self, after_s: float) -> None:
        """Throw away everything after a while."""
        await asyncio.sleep(after_s)
        self.kept.clear()


@breaks("caching:client:pages")
class KeepsWholeLists(_Keeping):
    """Keeps a list as long as its first page may be kept."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.lists: dict[str, list[Json]] = {}
        self.times_ms: list[int] = []

    async def walk_once(self, name: str, member: str) -> list[Json]:
        if name in self.lists:
            return self.lists[name]
        self.times_ms.clear()
        items = await super().walk_once(name, member)
        if self.times_ms and self.times_ms[0] > 1000:
            self.lists[name] = items
        return items

    def ttl_ms(self, said: int | None) -> int:
        self.times_ms.append(said or 0)
        return super().ttl_ms(said)


@keeps("caching:client:pages")
class KeepsPages(_Keeping):
    """Keeps each page by its own time, and the shortest of them at most for a second."""

    def ttl_ms(self, said: int | None) -> int:
        return min(1000, super().ttl_ms(said))


@breaks("caching:client:cursor")
class GivesUpLists(_Keeping):
    """Takes a list for empty if a cursor is refused, and keeps its first page all the same."""

    async def walk(self, name: str, member: str) -> list[Json]:
        await self.walk_once(name, member)
        return await super().walk(name, member)

    async def start_over(self, name: str, member: str) -> list[Json]:
        return []


@keeps("caching:client:cursor")
class StartsOver(_Keeping):
    """Walks a list from its beginning if a cursor is refused, with what it knows of other lists."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.started_over: set[str] = set()

    async def start_over(self, name: str, member: str) -> list[Json]:
        if name in self.started_over:
            return []
        self.started_over.add(name)
        self.kept = {key: one for key, one in self.kept.items() if not key.startswith(name)}
        return await self.walk_once(name, member)
