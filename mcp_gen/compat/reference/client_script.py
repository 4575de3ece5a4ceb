"""Standard script of a client: connects, lists everything, uses it, and leaves.

A peer of the zoo of clients breaks one rule by overriding one step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.json_values import Json, entries, is_object, member, objects
from mcp_gen.compat.method_names import NoSuchMethod, method_of, methods_of, python_name
from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
from mcp_gen.compat.reference.shaping import shaped
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import WireEvent
    from mcp_gen.compat.wire.wire import Wire

__all__ = ["ARGUMENTS", "ClientScript", "ScriptFailure"]

ARGUMENTS: dict[str, Json] = {
    "echo": {"text": "hello"},
    "count": {"steps": 3},
    "slow_failing": {"how": "tool"},
    "route": {"region": "eu west", "note": "Grüße", "size": 7},
}
"""Arguments of the tools that need some, by name."""
TOOLS = "list_tools"
WAITING = "wait"
"""The tool that does not return."""
GIVE_UP_S = 0.05
"""Seconds after which a call of that tool is given up."""
MAX_ROUNDS = 10
NO_SESSION = 404


class ScriptFailure(Exception):
    """A step of the script went wrong: the exit code of the client is not 0."""


class HeadersRefused(ScriptFailure):
    """A request was refused for its headers."""


class ClientScript(ReferenceClient):
    """Client of exactly one revision that does everything once; see `ReferenceClient`.

    Args:
        opens: Makes a wire to the server for a revision; each reaches a connection of its own.
        revision: The revision.
    """

    def __init__(self, opens: Callable[[str], Wire], revision: str) -> None:
        super().__init__(opens(revision), revision)
        self.opens = opens
        self.schemas: dict[str, Any] = {}
        """Output schemas of the tools, by name."""
        self.tools_timeout_s = self.timeout_s
        """Longest wait for the list of tools, in seconds."""
        self.fault = ""
        """Fault between two steps: the next one fails with it."""

    async def run(self) -> None:
        """Run the script.

        Raises:
            ScriptFailure: something came that is no valid answer, or an error.
        """
        try:
            await self.connect()
            await self.use()
        finally:
            await self.leave()

    # --- steps ---

    async def connect(self) -> None:
        """Open the connection."""
        opening = await self.open()
        begins = self.profile.handshake or self.profile.discover
        assert begins is not None
        self.result_of(python_name(begins.name) or "", opening)
        if self.agreed != self.profile.revision:
            raise ScriptFailure(f"the server offers {self.agreed}")

    async def use(self) -> None:
        """Do everything that the server declares."""
        declared = self.server_capabilities
        completes = method_of(self.profile, "complete").capability or "prompts"
        if "prompts" in declared:
            await self.use_prompts()
        if "resources" in declared:
            await self.use_resources()
        if "prompts" in declared and completes in declared:
            await self.complete()
        if "tools" in declared:
            await self.use_tools()

    async def use_prompts(self) -> None:
        """List the prompts and get each."""
        for prompt in await self.walk("list_prompts", "prompts"):
            wanted = {one["name"]: "Ada" for one in objects(prompt.get("arguments"))}
            params: Json = {"name": prompt["name"], "arguments": wanted}
            await self.asked("get_prompt", params)

    async def use_resources(self) -> None:
        """List the resources and templates, and read each resource."""
        await self.walk("list_resource_templates", "resourceTemplates")
        for resource in await self.walk("list_resources", "resources"):
            await self.asked("read_resource", {"uri": resource["uri"]})

    async def complete(self) -> None:
        """Complete the argument of a prompt."""
        about = {"type": "ref/prompt", "name": "greet"}
        await self.asked("complete", {"ref": about, "argument": {"name": "name", "value": "A"}})

    async def use_tools(self) -> None:
        """List the tools and call each; give up the one that does not return."""
        tools = self.well_marked(await self.walk("list_tools", "tools"))
        self.schemas = {one["name"]: one["outputSchema"] for one in tools if "outputSchema" in one}
        for number, tool in enumerate(tools):
            if member(tool, "execution", "taskSupport") == "required":
                await self.call_task(tool)
            elif tool["name"] == WAITING:
                await self.give_up({"name": WAITING, "arguments": {}})
            else:
                await self.call(tool, self.token(number))

    async def call_task(self, tool: Json) -> None:
        """Pass over a tool that is only ever a task: there are none in this script."""

    async def call(self, tool: Json, token: Any) -> None:
        """Call a tool, with a progress token."""
        name = tool["name"]
        params: Json = {"name": name, "arguments": ARGUMENTS.get(name, {})}
        meta = {self.profile.progress_token_key: token}
        try:
            result = await self.asked("call_tool", params, meta=meta)
        except HeadersRefused:
            await self.walk("list_tools", "tools")
            result = await self.asked("call_tool", params, meta=meta)
        self.check_structured(name, result)

    def well_marked(self, tools: list[Json]) -> list[Json]:
        """Return the tools without those whose marks for headers are wrong, over HTTP."""
        if self.http is None or self.profile.param_header_prefix is None:
            return tools
        return [tool for tool in tools if _is_well_marked(tool)]

    async def give_up(self, params: Json) -> None:
        """Call a tool and cancel the call."""
        frame = self.request_frame(self.wire_name("call_tool"), params)
        reply = await self.ask_frame(frame, within_s=GIVE_UP_S)
        if reply.timed_out:
            await self.cancel(frame["id"])

    async def cancel(self, id: Any) -> None:
        """Tell the server that a request is cancelled."""
        await self.tell("cancelled", {"requestId": id, "reason": "given up"})
        await self.settle()

    async def leave(self) -> None:
        """Close the connection."""
        await self.aclose()

    # --- what comes ---

    def _heard(self, event: WireEvent) -> None:
        super()._heard(event)
        if event.sender == "server" and event.kind == "message":
            for entry in entries(event.message):
                if "method" in entry and "id" not in entry:
                    self.notified(entry)

    def notified(self, frame: Json) -> None:
        """Take a notification: nothing comes of it."""

    def later(self, doing: Coroutine[Any, Any, Any]) -> None:
        """Do something beside the steps; it ends with the connection at the latest."""
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, asked: Json) -> None:
        # Where the server sends no requests, none is answered.
        if self.profile.asks_client == "server_request":
            await super()._answer(asked)

    def answer_frame(self, asked: Json) -> Json:
        """Return the answer to a question of the server; one that is malformed is refused."""
        if self.is_malformed(asked):
            said = {"code": self.profile.errors.invalid_params, "message": "Invalid params"}
            return {"jsonrpc": "2.0", "id": asked["id"], "error": said}
        return super().answer_frame(asked)

    def is_malformed(self, asked: Json) -> bool:
        """Return True for a question with params that it cannot have."""
        method = methods_of(self.profile).get(str(asked["method"]))
        params = asked.get("params")
        try:
            if method is not None:
                method.decode_params(msgspec.json.encode(params) if params else b"")
        except msgspec.DecodeError:
            return True
        return False

    # --- parts of steps ---

    def token(self, number: int) -> Any:
        """Return the progress token of a call."""
        return f"progress-{number}"

    async def walk(self, name: str, member: str) -> list[Json]:
        """Return the items of all pages of a list; none if the revision has no such list."""
        items: list[Json] = []
        cursor: str | None = None
        while True:
            try:
                page = await self.asked(name, {} if cursor is None else {"cursor": cursor})
            except NoSuchMethod:
                return []
            items += objects(page.get(member))
            cursor = page.get("nextCursor")
            if cursor is None:
                return items

    async def asked(self, name: str, params: Json, *, meta: Json | None = None) -> Json:
        """Ask, answer the questions that come instead of a result, and return the result.

        Raises:
            ScriptFailure: no answer, an error, or no valid result.
        """
        for _ in range(MAX_ROUNDS):
            within_s = self.tools_timeout_s if name == TOOLS else self.timeout_s
            reply = await self.ask(name, params, meta=meta, within_s=within_s)
            if self.has_lost_session(reply):
                await self.begin_anew()
                reply = await self.ask(name, params, meta=meta, within_s=within_s)
            if self.has_lost_server(reply):
                await self.restart()
                reply = await self.ask(name, params, meta=meta, within_s=within_s)
            if reply.timed_out:
                await self.stop_waiting(reply)
            requests = member(reply.result, "inputRequests")
            if not is_object(requests) or self.profile.asks_client == "server_request":
                return self.result_of(name, reply)
            params = self.again(params, reply.result or {})
        raise ScriptFailure(f"{name}: asked {MAX_ROUNDS} times")

    def again(self, params: Json, result: Json) -> Json:
        """Return the params of a request that is made again with answers.

        Raises:
            ScriptFailure: a question is refused.
        """
        made = {**params, "inputResponses": self.responses(result["inputRequests"])}
        state = result.get("requestState")
        return made if state is None else {**made, "requestState": state}

    def responses(self, requests: Json) -> Json:
        """Return the answers to questions in a result.

        Raises:
            ScriptFailure: a question is refused.
        """
        answers = {key: self.answer_frame({"id": 0, **one}) for key, one in requests.items()}
        for key, one in answers.items():
            if "result" not in one:
                raise ScriptFailure(f"{key}: {one['error']['message']}")
        return {key: one["result"] for key, one in answers.items()}

    def has_lost_session(self, reply: ServerReply) -> bool:
        """Return True if the server does not know the session of a request any more."""
        head = self.transcript.head(reply.asked.exchange)
        return self.session_id is not None and head is not None and head.status == NO_SESSION

    async def begin_anew(self) -> None:
        """Begin a new session."""
        self.session_id = None
        await self.open()

    def has_lost_server(self, reply: ServerReply) -> bool:
        """Return True if the connection has ended in place of an answer."""
        return self.http is None and reply.closing is not None

    async def restart(self) -> None:
        """Open another connection in place of one that has ended."""
        await self.wire.aclose()
        self.use_wire(self.opens(self.profile.revision))
        await self.open()

    async def stop_waiting(self, reply: ServerReply) -> None:
        """Cancel a request that is not answered in time."""
        await self.tell("cancelled", {"requestId": member(reply.asked.message, "id")})

    def result_of(self, name: str, reply: ServerReply) -> Json:
        """Return the result of a request.

        Raises:
            ScriptFailure: no answer, an error, or no valid result.
        """
        if self.fault:
            raise ScriptFailure(self.fault)
        mismatch = self.profile.errors.header_mismatch
        if mismatch is not None and reply.code == mismatch:
            raise HeadersRefused(f"{name}: {reply.error}")
        if reply.result is None:
            raise ScriptFailure(f"{name}: {reply.error or 'no answer'}")
        result = self.completed(reply.result)
        try:
            shaped(method_of(self.profile, name).results[0], self.dated(result))
        except msgspec.ValidationError as error:
            raise ScriptFailure(f"{name}: {error}") from None
        return result

    def completed(self, result: Json) -> Json:
        """Return a result that says of which type it is, where results do.

        Raises:
            ScriptFailure: it is of a type that is not known.
        """
        if self.profile.asks_client == "server_request":
            return result
        kind = result.get("resultType", "complete")
        if kind != "complete":
            raise ScriptFailure(f"a result of type {kind!r}")
        return {**result, "resultType": kind}

    def dated(self, result: Json) -> Json:
        """Return a result with a time for which it may be kept: none, if it has no valid one."""
        ttl_ms = result.get("ttlMs")
        said = max(0, ttl_ms) if isinstance(ttl_ms, int) else 0
        return {"cacheScope": "private", **result, "ttlMs": said}

    def check_structured(self, name: str, result: Json) -> None:
        """Check structured content.

        Raises:
            ScriptFailure: it does not fit the output schema of the tool.
        """
        schema = self.schemas.get(name)
        if schema is None or result.get("isError"):
            return
        try:
            JsonSchema(schema).check(result.get("structuredContent"))
        except (BadSchema, Misfit, NeedsWorker) as error:
            raise ScriptFailure(f"{name}: {error}") from None


def _is_well_marked(tool: Json) -> bool:
    schema = tool.get("inputSchema")
    try:
        marked_params(schema if is_object(schema) else {})
    except UsageError:
        return False
    return True
