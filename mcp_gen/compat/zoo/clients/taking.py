"""Clients that do not take what they must take, or take what they must not, and their twins."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ServerReply


@breaks("base:client:supported")
class NeedsTools(ClientScript):
    """Waits for ever for tools."""

    async def use(self) -> None:
        if "tools" not in self.server_capabilities:
            await asyncio.get_running_loop().create_future()
        await super().use()


@keeps("base:client:supported")
class WantsTools(ClientScript):
    """Leaves a server without tools, with an error."""

    async def use(self) -> None:
        if "tools" not in self.server_capabilities:
            raise ScriptFailure("the server has no tools")
        await super().use()


@breaks("base:client:result-type:unknown")
class TakesAllTypes(ClientScript):
    """Takes a result of any type for a complete one."""

    def completed(self, result: Json) -> Json:
        return super().completed({**result, "resultType": "complete"})


@keeps("base:client:result-type:unknown")
class TakesKnownTypes(ClientScript):
    """Takes a result whose type is null for none."""

    def completed(self, result: Json) -> Json:
        if "resultType" in result and result["resultType"] is None:
            raise ScriptFailure("a result of no type")
        return super().completed(result)


@breaks("base:client:result-type:absent")
class WantsTypes(ClientScript):
    """Takes no result that does not say its type."""

    def completed(self, result: Json) -> Json:
        if "resultType" not in result:
            raise ScriptFailure("a result without a type")
        return super().completed(result)


@keeps("base:client:result-type:absent")
class AddsTypes(ClientScript):
    """Adds the type of a complete result."""

    def completed(self, result: Json) -> Json:
        return super().completed({"resultType": "complete", **result})


class _Repeating(ClientScript):
    """Calls a tool again after some errors."""

    async def asked(self, name: str, params: Json, *, meta: Json | None = None) -> Json:
        try:
            return await super().asked(name, params, meta=meta)
        except ScriptFailure as failure:
            if name == "call_tool" and self.repeats(failure, params):
                return await super().asked(name, params, meta=meta)
            raise

    def repeats(self, failure: ScriptFailure, params: Json) -> bool:
        """Return True if the call is made again."""
        raise NotImplementedError


@breaks("base:client:errors:no-meaning")
class RepeatsAtACode(_Repeating):
    """Calls again at a code that it takes for `try again`."""

    def repeats(self, failure: ScriptFailure, params: Json) -> bool:
        return "-32010" in str(failure)


@keeps("base:client:errors:no-meaning")
class RepeatsAtAll(_Repeating):
    """Calls again at any error."""

    def repeats(self, failure: ScriptFailure, params: Json) -> bool:
        return True


class _Annotated(_Repeating):
    """Knows what tools say of themselves."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.idempotent: set[str] = set()

    async def walk(self, name: str, member: str) -> list[Json]:
        items = await super().walk(name, member)
        for one in items:
            annotations = one.get("annotations")
            if is_object(annotations) and annotations.get("idempotentHint"):
                self.idempotent.add(one["name"])
        return items


@breaks("tools:client:annotations")
class RepeatsWhatMayBe(_Annotated):
    """Calls again what says that it may be called again."""

    def repeats(self, failure: ScriptFailure, params: Json) -> bool:
        return params["name"] in self.idempotent


@keeps("tools:client:annotations")
class ReadsAnnotations(_Annotated):
    """Reads what tools say, and does not act on it."""

    def repeats(self, failure: ScriptFailure, params: Json) -> bool:
        return False


def _meta_of(result: Json) -> Json:
    meta = result.get("_meta")
    return meta if is_object(meta) else {}


@breaks("base:client:meta:unknown-reserved")
class KnowsTheFuture(ClientScript):
    """Takes a reserved key for one that has a text."""

    def completed(self, result: Json) -> Json:
        for key, value in _meta_of(result).items():
            if key.endswith("/future") and not isinstance(value, str):
                raise ScriptFailure(f"{key} is no text")
        return super().completed(result)


@keeps("base:client:meta:unknown-reserved")
class IgnoresTheFuture(ClientScript):
    """Throws away what it does not know."""

    def completed(self, result: Json) -> Json:
        meta = _meta_of(result)
        known = {key: value for key, value in meta.items() if not key.endswith("/future")}
        return super().completed({**result, **({"_meta": known} if known else {})})


@breaks("base:client:identity:no-behaviour")
class KnowsServers(ClientScript):
    """Completes only with a server that it knows."""

    async def complete(self) -> None:
        key = self.profile.server_info_key or ""
        result = self.opening.result if self.opening else None
        if "reference" in str(member(result, "_meta", key, "name")):
            await super().complete()


@keeps("base:client:identity:no-behaviour")
class ReadsNames(ClientScript):
    """Reads the name of the server."""

    async def complete(self) -> None:
        assert self.opening is not None
        assert "name" in str(self.opening.result)
        await super().complete()


# --- results and schemas ---


class _Trusting(ClientScript):
    """Does not look at the results of one method."""

    trusted: ClassVar[str] = ""

    def result_of(self, name: str, reply: ServerReply) -> Json:
        if name == self.trusted and reply.result is not None:
            return self.completed(reply.result)
        return super().result_of(name, reply)


@breaks("tools:client:results-validated")
class TrustsCalls(_Trusting):
    """Takes any result of a tool."""

    trusted = "call_tool"


@keeps("tools:client:results-validated")
class TrustsReads(_Trusting):
    """Takes any contents of a resource."""

    trusted = "read_resource"


@breaks("prompts:client:validated")
class TrustsPrompts(_Trusting):
    """Takes any prompt."""

    trusted = "get_prompt"


@keeps("prompts:client:validated")
class TrustsCompletions(_Trusting):
    """Takes any completion."""

    trusted = "complete"


@breaks("tools:client:structured")
class TrustsStructure(ClientScript):
    """Does not check structured content."""

    def check_structured(self, name: str, result: Json) -> None:
        pass


@keeps("tools:client:structured")
class ChecksStructureLate(ClientScript):
    """Checks structured content after a moment."""

    async def call(self, tool: Json, token: Any) -> None:
        await asyncio.sleep(0)
        await super().call(tool, token)


class _ChangesSchemas(ClientScript):
    """Checks structured content by other schemas than those of the tools."""

    def changed(self, schema: Json) -> Json:
        """Return the schema that is taken for the one of a tool."""
        raise NotImplementedError

    def check_structured(self, name: str, result: Json) -> None:
        if name in self.schemas:
            self.schemas[name] = self.changed(self.schemas[name])
        super().check_structured(name, result)


DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


@breaks("base:client:schemas:2020-12")
class TakesDraft07(_ChangesSchemas):
    """Takes a schema without a dialect for one of draft-07."""

    def changed(self, schema: Json) -> Json:
        return {"$schema": DRAFT_07, **schema}


@keeps("base:client:schemas:2020-12")
class Takes202012(_ChangesSchemas):
    """Says the dialect of a schema that names none."""

    def changed(self, schema: Json) -> Json:
        return {"$schema": DRAFT_2020_12, **schema}


@breaks("base:client:schemas:dialect")
class IgnoresDraft07(_ChangesSchemas):
    """Takes a schema of draft-07 for one that allows every object."""

    def changed(self, schema: Json) -> Json:
        return {"type": "object"} if schema.get("$schema") == DRAFT_07 else schema


@keeps("base:client:schemas:dialect")
class LacksDraft07(_ChangesSchemas):
    """Has an error for each schema of draft-07."""

    def changed(self, schema: Json) -> Json:
        if schema.get("$schema") == DRAFT_07:
            raise ScriptFailure("a schema of draft-07")
        return schema


@breaks("base:client:schemas:unknown-dialect")
class IgnoresDialects(_ChangesSchemas):
    """Takes a schema of an unknown dialect for one of 2020-12."""

    def changed(self, schema: Json) -> Json:
        is_known = schema.get("$schema") in (None, DRAFT_07, DRAFT_2020_12)
        return schema if is_known else {**schema, "$schema": DRAFT_2020_12}


@keeps("base:client:schemas:unknown-dialect")
class KnowsDialects(_ChangesSchemas):
    """Takes a schema as it is."""

    def changed(self, schema: Json) -> Json:
        return dict(schema)


def _refers(schema: Json) -> str:
    """Return the reference of the property `number`; empty if there is none."""
    found = member(schema, "properties", "number", "$ref")
    return found if isinstance(found, str) else ""


@breaks("base:client:schemas:unresolved")
class IgnoresReferences(_ChangesSchemas):
    """Takes a reference that leads nowhere for one that allows everything."""

    def changed(self, schema: Json) -> Json:
        return {"type": "object"} if _refers(schema).startswith("#") else schema


@keeps("base:client:schemas:unresolved")
class ResolvesReferences(_ChangesSchemas):
    """Has an error for a reference that leads nowhere."""

    def changed(self, schema: Json) -> Json:
        if _refers(schema).startswith("#") and "$defs" not in schema:
            raise ScriptFailure("a reference leads nowhere")
        return schema


@breaks("base:client:schemas:no-network")
class Fetches(ClientScript):
    """Fetches the schemas that others refer to."""

    async def call(self, tool: Json, token: Any) -> None:
        address = urlsplit(_refers(tool.get("outputSchema") or {}))
        if address.hostname and address.port:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(f"GET {address.path} HTTP/1.1\r\nhost: {address.netloc}\r\n\r\n".encode())
            await writer.drain()
            await reader.read()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await super().call(tool, token)


@keeps("base:client:schemas:no-network")
class ReadsAddresses(ClientScript):
    """Takes the address apart, and leaves it at that."""

    async def call(self, tool: Json, token: Any) -> None:
        urlsplit(_refers(tool.get("outputSchema") or {}))
        await super().call(tool, token)
