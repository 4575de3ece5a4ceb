"""Clients that break the rules of HTTP headers that repeat a message, and their twins."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.clients.http import WithHeaders
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply

TASK = "no-such-task"


@breaks("http:client:metadata-headers")
class NamesNoMethod(WithHeaders):
    """Leaves out the method once."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {str(self.profile.method_header): ""}


@keeps("http:client:metadata-headers")
class EncodesEveryName(WithHeaders):
    """Encodes also a name that a header could hold."""

    about = "get_prompt"

    def own_headers(self, message: Json) -> Mapping[str, str]:
        name = str(member(message, "params", "name"))
        return {str(self.profile.name_header): f"=?base64?{b64encode(name.encode()).decode()}?="}


@breaks("http:client:names-encoded")
class SendsForeignNames(WithHeaders):
    """Sends a name as it is."""

    about = "get_prompt"

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {str(self.profile.name_header): str(member(message, "params", "name"))}


@keeps("http:client:names-encoded")
class EncodesForeignNames(ClientScript):
    """Encodes a name that no header can hold."""


class _Routes(WithHeaders):
    """Calls the tool whose arguments are marked."""

    about = "call_tool"

    def own_headers(self, message: Json) -> Mapping[str, str]:
        is_route = member(message, "params", "name") == "route"
        return self.changed(member(message, "params", "arguments")) if is_route else {}

    def changed(self, arguments: Json) -> Mapping[str, str]:
        """Return headers in place of those that repeat arguments."""
        return {}

    def header(self, end: str) -> str:
        """Return the name of the header of an argument."""
        return f"{self.profile.param_header_prefix}{end}"


@breaks("http:client:param-headers")
class LeavesOutAnArgument(_Routes):
    """Does not repeat a number."""

    def changed(self, arguments: Json) -> Mapping[str, str]:
        return {self.header("Size"): ""}


@keeps("http:client:param-headers")
class RepeatsArguments(_Routes):
    """Encodes also an argument that a header could hold."""

    def changed(self, arguments: Json) -> Mapping[str, str]:
        text = b64encode(arguments["region"].encode()).decode()
        return {self.header("Region"): f"=?base64?{text}?="}


@breaks("http:client:param-headers:omitted")
class RepeatsNothing(_Routes):
    """Repeats an argument that is not there."""

    def changed(self, arguments: Json) -> Mapping[str, str]:
        return {self.header("Dry"): "null"}


@keeps("http:client:param-headers:omitted")
class SendsNull(ClientScript):
    """Sends null as an argument, and has no header for it."""

    async def asked(self, name: str, params: Json, *, meta: Json | None = None) -> Json:
        if params.get("name") == "route":
            params = {**params, "arguments": {**params["arguments"], "dry": None}}
        return await super().asked(name, params, meta=meta)


@breaks("http:client:param-headers:encoded")
class SendsForeignArguments(_Routes):
    """Sends an argument as it is."""

    def changed(self, arguments: Json) -> Mapping[str, str]:
        return {self.header("Note"): arguments["note"]}


@keeps("http:client:param-headers:encoded")
class EncodesForeignArguments(ClientScript):
    """Encodes an argument that looks encoded."""

    async def asked(self, name: str, params: Json, *, meta: Json | None = None) -> Json:
        if params.get("name") == "route":
            note = "=?base64?literal?="
            params = {**params, "arguments": {**params["arguments"], "note": note}}
        return await super().asked(name, params, meta=meta)


@breaks("http:client:param-headers:rejected")
class CallsEveryTool(ClientScript):
    """Calls also a tool whose marks are wrong."""

    def well_marked(self, tools: list[Json]) -> list[Json]:
        return tools


@keeps("http:client:param-headers:rejected")
class LeavesOutAWrongTool(ClientScript):
    """Calls the tools in another order, without the one whose marks are wrong."""

    def well_marked(self, tools: list[Json]) -> list[Json]:
        return super().well_marked(tools)[::-1]


@breaks("http:client:param-headers:again")
class CallsOnce(ClientScript):
    """Gives up when a call is refused for its headers."""

    async def call(self, tool: Json, token: Any) -> None:
        with_error = ScriptFailure("the call was refused")
        if not await self._is_taken(tool["name"]):
            raise with_error
        await super().call(tool, token)

    async def _is_taken(self, name: str) -> bool:
        if name != "echo":
            return True
        reply = await self.ask("call_tool", {"name": name, "arguments": {"text": "hello"}})
        return reply.code != self.profile.errors.header_mismatch


@keeps("http:client:param-headers:again")
class CallsAgain(ClientScript):
    """Lists the tools again, and calls again."""


# --- refusals, tasks ---


@breaks("http:client:refusals")
class FallsBack(ClientScript):
    """Takes each refusal for that of an older server."""

    async def connect(self) -> None:
        try:
            await super().connect()
        except ScriptFailure:
            profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
            handshake = next(one.handshake for one in profiles if one.handshake)
            await self.ask_frame(self.request_frame(handshake.name))
            raise


@keeps("http:client:refusals")
class TriesAgain(ClientScript):
    """Asks once more after a refusal."""

    async def open(self) -> ServerReply:
        reply = await super().open()
        return await super().open() if reply.error is not None else reply


class _AsksForATask(WithHeaders):
    """Asks for a task."""

    about = "get_task"

    async def complete(self) -> None:
        await self.ask("get_task", {"taskId": TASK})


@breaks("tasks-extension:client:name-header")
class NamesNoTask(_AsksForATask):
    """Asks for a task, and does not name it in the header."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {str(self.profile.name_header): ""}


@keeps("tasks-extension:client:name-header")
class NamesATask(_AsksForATask):
    """Asks for a task, and names it in the header."""
