"""Servers that break the rules of `_meta`, result types and request metadata, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("base:result-type:present")
class ResultsWithoutTypes(ReferenceServer):
    """Leaves out the type of the list of tools."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {name: value for name, value in result.items() if name != "resultType"}
        return super().result_frame(call, result)


@keeps("base:result-type:present")
class ResultsOfBothTypes(ReferenceServer):
    """Sends results of each type that there is."""


@breaks("base:result-type:known")
class ResultsOfOwnTypes(ReferenceServer):
    """Sends a result of a type that nobody has declared."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {**result, "resultType": "partial"}
        return super().result_frame(call, result)


@keeps("base:result-type:known")
class ToolsOfOwnTypes(ReferenceServer):
    """Sends something called a result type in what belongs to a tool."""

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        text = {"type": "text", "text": '{"number": 1, "resultType": "partial"}'}
        return {"content": [text], "structuredContent": {"number": 1, "resultType": "partial"}}


class _Labelled(ReferenceServer):
    """Gives the list of tools a member of `_meta`."""

    KEYS: tuple[str, ...] = ()

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            meta = {**result.get("_meta", {}), **dict.fromkeys(self.KEYS, 1)}
            result = {**result, "_meta": meta}
        return super().result_frame(call, result)


@breaks("base:meta:key-names")
class MalformedKeys(_Labelled):
    """Puts a key into `_meta` whose label begins with a digit."""

    KEYS = ("1st.example/key",)


@keeps("base:meta:key-names")
class OddKeys(_Labelled):
    """Puts keys into `_meta` that are just as they may be."""

    KEYS = ("", "a", "a-b._c", "com.exa-mple2/", "com.example/1", "traceparent")


@breaks("base:metadata:server-info")
class NamelessServer(ReferenceServer):
    """Does not say in the list of tools which server made it."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {name: value for name, value in result.items() if name != "_meta"}
        return super().result_frame(call, result)


@keeps("base:metadata:server-info")
class EmptyName(ReferenceServer):
    """Gives itself a name that is empty."""

    def info(self) -> Json:
        return {"name": "", "version": ""}


@breaks("base:meta:unknown-reserved")
class KnowsAllKeys(ReferenceServer):
    """Refuses a request with a reserved key in `_meta` that it does not know."""

    async def answer(self, call: ReferenceCall) -> Json:
        if any(key.startswith("tools.mcp.com/") for key in call.meta):
            raise Failure(self.profile.errors.invalid_params, "Unknown key in _meta")
        return await super().answer(call)


@keeps("base:meta:unknown-reserved")
class EchoesKeys(ReferenceServer):
    """Sends back what it does not know in `_meta`."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        unknown = {key: value for key, value in call.meta.items() if key.startswith("tools.mcp")}
        if unknown:
            result = {**result, "_meta": {**result.get("_meta", {}), **unknown}}
        return super().result_frame(call, result)


# --- what each request has to say ---


@breaks("base:metadata:missing")
class AssumesTheRevision(ReferenceServer):
    """Takes a request that names no revision as one of its own."""

    def check_metadata(self, call: ReferenceCall) -> None:
        key = self.profile.protocol_version_key
        if key is not None and key not in call.meta:
            return
        super().check_metadata(call)


@keeps("base:metadata:missing")
class NeedsNoName(ReferenceServer):
    """Refuses with a long explanation."""

    def check_metadata(self, call: ReferenceCall) -> None:
        try:
            super().check_metadata(call)
        except Failure as failure:
            text = f"{failure.message}: every request has to name them in its _meta"
            raise Failure(failure.code, text, failure.data or {"metadata": "missing"}) from None


@breaks("base:stateless:no-context")
class Remembers(ReferenceServer):
    """Takes the capabilities that a request leaves out from an earlier one."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._meta: Json = {}

    def check_metadata(self, call: ReferenceCall) -> None:
        call.meta = {**self._meta, **call.meta}
        super().check_metadata(call)
        key = self.profile.client_capabilities_key
        assert key is not None
        self._meta = {key: call.meta[key]}


@keeps("base:stateless:no-context")
class RemembersNames(ReferenceServer):
    """Keeps what each request said, and makes nothing of it."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.said: list[Json] = []

    def check_metadata(self, call: ReferenceCall) -> None:
        self.said.append(call.meta)
        super().check_metadata(call)


@breaks("base:metadata:capability-missing")
class LackingAsResults(ReferenceServer):
    """Says in a result of the tool that the client lacks a capability."""

    def lacking(self, capability: str) -> Json:
        return {"content": [], "isError": True}


@keeps("base:metadata:capability-missing")
class DoesWithout(ReferenceServer):
    """Does without the user where it can, and refuses where it cannot."""

    def lacking(self, capability: str) -> Json:
        if capability == "roots":
            return {"content": []}
        return super().lacking(capability)


@breaks("base:stateless:many-conversations")
class OneConversation(ReferenceServer):
    """Answers on a connection only the client that came first."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._served: Any = None

    def check_metadata(self, call: ReferenceCall) -> None:
        super().check_metadata(call)
        info = call.meta.get(str(self.profile.client_info_key))
        self._served = self._served or info
        if info != self._served:
            raise Failure(self.profile.errors.internal_error, "Another client is served")


@keeps("base:stateless:many-conversations")
class CountsConversations(ReferenceServer):
    """Counts the clients that it has answered."""


@breaks("base:stateless:any-connection")
class CursorsOfConnections(ReferenceServer):
    """Knows a cursor only over the connection that it was given out on."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._cursors: set[str] = set()

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        cursor = call.params.get("cursor")
        if cursor is not None and cursor not in self._cursors:
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        page = super().page(call, member, items)
        if "nextCursor" in page:
            self._cursors.add(page["nextCursor"])
        return page


@keeps("base:stateless:any-connection")
class LastPages(ReferenceServer):
    """Gives out cursors that lead to a page of one item."""


@breaks("base:identity:no-behaviour")
class Favours(ReferenceServer):
    """Lists fewer tools to a client that it does not like."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        page = await super().list_tools(call)
        info = call.meta.get(str(self.profile.client_info_key))
        if member(info, "name") == "another client":
            page["tools"] = page["tools"][:1]
        return page


@keeps("base:identity:no-behaviour")
class Greets(ReferenceServer):
    """Calls the client by its name in `_meta`."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        info = call.meta.get(str(self.profile.client_info_key))
        greeted = {"com.example/hello": str(member(info, "name"))}
        return {**await super().list_tools(call), "_meta": greeted}
