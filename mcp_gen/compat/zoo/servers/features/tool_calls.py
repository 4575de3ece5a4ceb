"""Servers that break the rules of tool calls, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


def _text(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


# --- structured results ---


@breaks("tools:output-schema")
class NumbersThatAreTexts(ReferenceServer):
    """Returns a text where the output schema has a number."""

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        return {**_text('{"number": "1"}'), "structuredContent": {"number": "1"}}


@keeps("tools:output-schema")
class MoreThanTheSchema(ReferenceServer):
    """Returns more than the output schema names, which it does not forbid."""

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        return {
            **_text('{"number": 1.0, "more": null}'),
            "structuredContent": {"number": 1.0, "more": None},
        }


@breaks("tools:structured-as-text")
class StructuredAlone(ReferenceServer):
    """Returns a structured result with a text that is another one."""

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        return {**_text("one"), "structuredContent": {"number": 1}}


@keeps("tools:structured-as-text")
class StructuredAmongTexts(ReferenceServer):
    """Returns the value of a structured result, which wraps it, as the second of two texts."""

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        content = [*_text("one")["content"], *_text("1")["content"]]
        return {"content": content, "structuredContent": {"number": 1}}


# --- errors ---


@breaks("tools:errors:in-result")
class FailuresAsProtocolErrors(ReferenceServer):
    """Answers with an internal error when a tool fails."""

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        raise Failure(self.profile.errors.internal_error, "it failed")


@keeps("tools:errors:in-result")
class FailuresWithoutWords(ReferenceServer):
    """Returns an error of a tool that says nothing."""

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [], "isError": True}


class UnknownTools(ReferenceServer):
    """Answers a call of a tool that there is none of in its own way."""

    def unknown(self, name: str) -> Json:
        """Answer a call of an unknown tool."""
        raise NotImplementedError

    async def call_tool(self, call: ReferenceCall) -> Json:
        name = call.params["name"]
        if name not in {one["name"] for one in self.tools()}:
            return self.unknown(name)
        return await super().call_tool(call)


@breaks("tools:errors:unknown")
class UnknownToolsInResults(UnknownTools):
    """Says in a result that there is no such tool."""

    def unknown(self, name: str) -> Json:
        return {**_text("no such tool"), "isError": True}


@keeps("tools:errors:unknown")
class UnknownToolsWithNames(UnknownTools):
    """Says in an error with data that there is no such tool."""

    def unknown(self, name: str) -> Json:
        raise Failure(self.profile.errors.invalid_params, "No such tool", {"name": name})


@breaks("tools:inputs-validated")
class AnyArguments(ReferenceServer):
    """Runs a tool without the arguments that it needs."""

    async def call_tool(self, call: ReferenceCall) -> Json:
        arguments: Json = call.params.get("arguments") or {}
        if call.params["name"] == "echo" and "text" not in arguments:
            call.params["arguments"] = {"text": "nothing"}
        return await super().call_tool(call)


@keeps("tools:inputs-validated")
class WordyRefusals(ReferenceServer):
    """Refuses arguments that do not fit with a result that says so, or with an error and data."""

    async def call_tool(self, call: ReferenceCall) -> Json:
        arguments: Json = call.params.get("arguments") or {}
        if call.params["name"] == "echo" and "text" not in arguments:
            if self.profile.bad_arguments == "tool_error":
                return {**_text("what text?"), "isError": True}
            raise Failure(self.profile.errors.invalid_params, "What text?", {"missing": "text"})
        return await super().call_tool(call)
