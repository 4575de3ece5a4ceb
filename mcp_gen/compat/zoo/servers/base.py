"""Servers that break the base protocol, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_wire.method import Method


@breaks("base:notifications:no-id")
class NotificationsWithIds(ReferenceServer):
    """Gives its notifications ids."""

    def notification_frame(self, name: str, params: Json) -> Json:
        return {"id": 1000, **super().notification_frame(name, params)}


@keeps("base:notifications:no-id")
class NotificationsWithTokens(ReferenceServer):
    """Names the request that a log message belongs to in its data."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        if self.logs(call, "info"):
            call.tell("logging_message", {"level": "info", "data": {"id": call.id}})
        return await super().run_count(call, arguments)


@breaks("base:frames:valid")
class NumbersAsTexts(ReferenceServer):
    """Sends the text of content as a number."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"resultType": "complete", "content": [{"type": "text", "text": 1}]}

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        if result.get("content") == [{"type": "text", "text": 1}]:
            made = super().exact(method, {**result, "content": []})
            return {**made, "content": result["content"]}
        return super().exact(method, result)


@keeps("base:frames:valid")
class NumbersInTexts(ReferenceServer):
    """Sends an empty text, and one that looks like a number."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [{"type": "text", "text": ""}, {"type": "text", "text": "1"}]}


@breaks("base:frames:named")
class UnknownMembers(ReferenceServer):
    """Gives each tool a member that no revision has."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {**result, "tools": [{**one, "favourite": True} for one in result["tools"]]}
        return super().result_frame(call, result)


@keeps("base:frames:named")
class OwnMetadata(ReferenceServer):
    """Says of its own in `_meta`, where everything may stand."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        meta = {**result.get("_meta", {}), "com.example/favourite": True}
        return super().result_frame(call, {**result, "_meta": meta})
