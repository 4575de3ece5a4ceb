"""Reference server: speaks exactly one revision, and checks each frame of its client.

It knows one client. Every message goes through a method of its own, so that a peer of the zoo
breaks one rule by overriding one method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.frame_check import ClosedViolation, FrameChecker
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.method_names import method_of, python_name
from mcp_gen.compat.reference.call import Failure, NeedsInput, Outlet, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import PNG, PROMPTS, RESOURCES, TEMPLATES, TOOLS, WAV
from mcp_gen.compat.reference.shaping import shaped, wire_type
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_wire.method import Method

__all__ = ["ReferenceServer"]

NAME = "mcp-gen reference server"
TTL_MS = 60_000
PAGE_ITEMS = 4
"""Number of items on a page of a list."""


class ReferenceServer:
    """Server of exactly one revision, for one client.

    Args:
        revision: The revision.
    """

    def __init__(self, revision: str) -> None:
        self.profile = profile_of(revision)
        self.violations: list[ClosedViolation] = []
        """Everything that the client sent and the revision does not have."""
        self.client_capabilities: Json = {}
        """What the client declared in the handshake, or in the request that is being answered."""
        self.log_level: str | None = None
        self.subscribed: set[str] = set()
        self.calls: dict[str, asyncio.Task[None]] = {}
        """Requests that are being answered, by id as JSON."""
        self._checker = FrameChecker(self.profile)
        self._last_id = 0
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._is_open = self.profile.handshake is None
        self._to_client: Outlet = _nowhere
        self.note: Callable[[str], None] = _nowhere
        """Writes down what the client did beside the connection."""

    # --- messages in ---

    def connected(self, outlet: Outlet) -> None:
        """Take the way for what belongs to no request."""
        self._to_client = outlet

    def receive(self, message: bytes, outlet: Outlet) -> None:
        """Take one message of the client; what comes of it is sent later.

        Args:
            message: The message.
            outlet: Sends what belongs to the message: answers, and what comes before them.
        """
        self.check(message)
        try:
            value = msgspec.json.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            outlet(self.error_frame(None, Failure(self.profile.errors.parse_error, "Parse error")))
            return
        if is_array(value) and self.profile.allows_batches and value:
            self.receive_batch(value, outlet)
        else:
            self.receive_one(value, outlet)

    def check(self, message: bytes) -> None:
        """Note what the revision does not have in a message of the client."""
        self.violations += self._checker.check(message, "client")

    def receive_batch(self, entries: list[Any], outlet: Outlet) -> None:
        """Take the entries of a batch; their answers go out in one."""
        wanted = sum("id" in one and "method" in one for one in objects(entries))
        answers: list[Any] = []

        def gather(frame: Json) -> None:
            if "method" in frame:
                outlet(frame)
                return
            answers.append(frame)
            if len(answers) == wanted:
                outlet(answers)  # type: ignore[arg-type]

        for entry in entries:
            self.receive_one(entry, gather)

    def receive_one(self, frame: Any, outlet: Outlet) -> None:
        """Take one request, notification or answer."""
        if not is_object(frame) or not (
            isinstance(frame.get("method"), str) or frame.keys() & {"result", "error"}
        ):
            wrong = Failure(self.profile.errors.invalid_request, "Invalid request")
            outlet(self.error_frame(None, wrong))
        elif "method" not in frame:
            self.receive_answer(frame)
        elif "id" not in frame:
            self.receive_notification(frame)
        elif type(frame["id"]) not in (int, str):
            wrong = Failure(self.profile.errors.invalid_request, "Invalid request id")
            outlet(self.error_frame(None, wrong))
        else:
            call = ReferenceCall(self, frame, outlet)
            task = asyncio.get_running_loop().create_task(self.run(call))
            self.calls[_key(call.id)] = task
            task.add_done_callback(lambda done: self.calls.pop(_key(call.id), None))

    def receive_notification(self, frame: Json) -> None:
        """Take a notification of the client; one that is unknown is ignored."""
        method = self.profile.methods.get(frame["method"])
        if method is not None and method is self.profile.cancelled:
            self.cancel(member(frame, "params", "requestId"))
        elif method is not None and method is self.profile.initialized:
            self._is_open = True

    def receive_answer(self, frame: Json) -> None:
        """Take the answer to a question of the server; one to no question is ignored."""
        waiting = self._asked.pop(_key(frame.get("id")), None)
        if waiting is None or waiting.done():
            return
        error = frame.get("error")
        if is_object(error):
            waiting.set_exception(Failure(error.get("code", 0), str(error.get("message"))))
        else:
            waiting.set_result(frame.get("result") or {})

    def cancel(self, id: Any) -> None:
        """Stop answering a request: it gets no answer."""
        task = self.calls.get(_key(id))
        if task is not None:
            task.cancel()

    async def aclose(self) -> None:
        """Stop everything: the client is gone."""
        running = list(self.calls.values())
        for task in running:
            task.cancel()
        for waiting in self._asked.values():
            waiting.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # --- answers ---

    async def run(self, call: ReferenceCall) -> None:
        """Answer one request."""
        try:
            result = await self.answer(call)
        except Unanswered:
            return
        except NeedsInput as needed:
            call.outlet(self.result_frame(call, self.input_required(needed)))
        except Failure as failure:
            call.outlet(self.error_frame(call.id, failure))
        else:
            call.outlet(self.result_frame(call, result))

    async def answer(self, call: ReferenceCall) -> Json:
        """Return the result of a request.

        Raises:
            Failure: it is answered with an error.
            Unanswered: it is not answered.
            NeedsInput: it is answered with questions.
        """
        errors = self.profile.errors
        method = self.profile.methods.get(call.method)
        name = python_name(call.method)
        handle = getattr(self, name, None) if name else None
        if method is None or not method.from_client or handle is None:
            raise Failure(errors.method_not_found, "Method not found")
        if not self._is_open and method not in (self.profile.handshake, self.profile.ping):
            raise Failure(errors.invalid_request, "The connection is not initialized")
        self.check_metadata(call)
        try:
            method.decode_params(msgspec.json.encode(call.params) if call.params else b"")
        except msgspec.DecodeError as error:
            raise Failure(errors.invalid_params, f"Invalid params: {error}") from None
        result: Json = await handle(call)
        return (
            result if result.get("resultType") == "input_required" else self.exact(method, result)
        )

    def check_metadata(self, call: ReferenceCall) -> None:
        """Refuse a request that does not say what each must, where there is no handshake."""
        profile = self.profile
        if profile.protocol_version_key is None or profile.client_capabilities_key is None:
            return
        version = call.meta.get(profile.protocol_version_key)
        capabilities = call.meta.get(profile.client_capabilities_key)
        if version is None or not is_object(capabilities):
            raise Failure(profile.errors.invalid_params, "Missing protocol version or capabilities")
        if version != profile.revision:
            assert profile.errors.unsupported_protocol_version is not None
            raise Failure(
                profile.errors.unsupported_protocol_version,
                "Unsupported protocol version",
                {"supported": [profile.revision], "requested": version},
            )
        self.client_capabilities = capabilities

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        """Return a result in the form that the revision gives it."""
        made: Json = shaped(method.results[0], {"ttlMs": TTL_MS, "cacheScope": "public", **result})
        if self.profile.server_info_key:
            made["_meta"] = {**made.get("_meta", {}), self.profile.server_info_key: self.info()}
        return made

    def input_required(self, needed: NeedsInput) -> Json:
        """Return the result that asks questions."""
        return {"resultType": "input_required", "inputRequests": needed.requests}

    # --- frames ---

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with a result."""
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    def error_frame(self, id: Any, failure: Failure) -> Json:
        """Return the answer with an error; without an id if none is known."""
        error: Json = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        frame: Json = {"jsonrpc": "2.0"}
        if id is not None:
            frame["id"] = id
        return {**frame, "error": error}

    def notification_frame(self, name: str, params: Json) -> Json:
        """Return a notification in the form of the revision.

        Raises:
            NoSuchMethod: the revision does not have it.
        """
        method = method_of(self.profile, name)
        made = shaped(method.params, params)
        frame = {"jsonrpc": "2.0", "method": method.name}
        return {**frame, "params": made} if made else frame

    def question_frame(self, name: str, params: Json) -> Json:
        """Return a request to the client in the form of the revision; its id comes later.

        Raises:
            NoSuchMethod: the revision does not have it.
        """
        method = method_of(self.profile, name)
        return {"jsonrpc": "2.0", "method": method.name, "params": shaped(method.params, params)}

    # --- messages out ---

    def tell(self, name: str, params: Json | None = None) -> None:
        """Send a notification that belongs to no request; see `ReferenceCall.tell`."""
        self._to_client(self.notification_frame(name, params or {}))

    async def ask(self, frame: Json, outlet: Outlet | None = None) -> Json:
        """Send a request to the client, and return its result.

        Raises:
            Failure: the client has answered with an error.
        """
        self._last_id += 1
        asked = {"jsonrpc": "2.0", "id": self._last_id, **frame}
        waiting = asyncio.get_running_loop().create_future()
        self._asked[_key(self._last_id)] = waiting
        self._checker.check(msgspec.json.encode(asked), "server")
        (outlet or self._to_client)(asked)
        found: Json = await waiting
        return found

    # --- what it offers ---

    def capabilities(self) -> Json:
        """Return what the server declares, with the capabilities of all revisions."""
        return {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        }

    def info(self) -> Json:
        """Return name and version of the server."""
        return {"name": NAME, "version": "1.0.0"}

    def tools(self) -> list[Json]:
        """Return the tools, with the members of all revisions."""
        return list(TOOLS)

    def prompts(self) -> list[Json]:
        """Return the prompts, with the members of all revisions."""
        return list(PROMPTS)

    def resources(self) -> list[Json]:
        """Return the resources, with the members of all revisions."""
        return list(RESOURCES)

    def templates(self) -> list[Json]:
        """Return the resource templates, with the members of all revisions."""
        return list(TEMPLATES)

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return one page of a list."""
        cursor = call.params.get("cursor", "0")
        if not cursor.isdecimal() or int(cursor) % PAGE_ITEMS or int(cursor) > len(items):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        start, end = int(cursor), int(cursor) + PAGE_ITEMS
        more = {"nextCursor": str(end)} if end < len(items) else {}
        return {member: items[start:end], **more}

    # --- handlers, by Python name ---

    async def initialize(self, call: ReferenceCall) -> Json:
        """Answer the handshake with the only revision there is."""
        # A handshake that asks for a newer revision may declare what this one lacks.
        has = wire_type(self.profile, "ClientCapabilities")
        self.client_capabilities = shaped(has, call.params["capabilities"])
        return {
            "protocolVersion": self.profile.revision,
            "capabilities": self.capabilities(),
            "serverInfo": self.info(),
        }

    async def discover(self, call: ReferenceCall) -> Json:
        """Answer with the only revision there is."""
        return {"supportedVersions": [self.profile.revision], "capabilities": self.capabilities()}

    async def ping(self, call: ReferenceCall) -> Json:
        """Answer a ping."""
        return {}

    async def list_tools(self, call: ReferenceCall) -> Json:
        """Return a page of the tools."""
        return self.page(call, "tools", self.tools())

    async def list_prompts(self, call: ReferenceCall) -> Json:
        """Return a page of the prompts."""
        return self.page(call, "prompts", self.prompts())

    async def list_resources(self, call: ReferenceCall) -> Json:
        """Return a page of the resources."""
        return self.page(call, "resources", self.resources())

    async def list_resource_templates(self, call: ReferenceCall) -> Json:
        """Return a page of the resource templates."""
        return self.page(call, "resourceTemplates", self.templates())

    async def read_resource(self, call: ReferenceCall) -> Json:
        """Return the contents of a resource."""
        uri = call.params["uri"]
        found = next((one for one in self.resources() if one["uri"] == uri), None)
        if found is None and not uri.startswith("reference://items/"):
            code = self.profile.resource_not_found_code
            raise Failure(code, "Resource not found", {"uri": uri})
        if found and found["mimeType"].startswith("image/"):
            return {"contents": [{"uri": uri, "mimeType": found["mimeType"], "blob": PNG}]}
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"text of {uri}"}]}

    async def subscribe(self, call: ReferenceCall) -> Json:
        """Subscribe the client to a resource."""
        self.subscribed.add(call.params["uri"])
        return {}

    async def unsubscribe(self, call: ReferenceCall) -> Json:
        """End the subscription of the client to a resource."""
        self.subscribed.discard(call.params["uri"])
        return {}

    async def get_prompt(self, call: ReferenceCall) -> Json:
        """Return the messages of a prompt."""
        if call.params["name"] not in {one["name"] for one in self.prompts()}:
            raise Failure(self.profile.errors.invalid_params, "Unknown prompt")
        arguments: Json = call.params.get("arguments") or {}
        if "name" not in arguments:
            raise Failure(self.profile.errors.invalid_params, "Missing argument: name")
        text = {"type": "text", "text": f"Hello, {arguments['name']}."}
        return {"messages": [{"role": "user", "content": text}]}

    async def complete(self, call: ReferenceCall) -> Json:
        """Return names that begin with what was typed."""
        typed = call.params["argument"]["value"]
        values = [name for name in ("Ada", "Alan", "Grace") if name.startswith(typed)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    async def set_level(self, call: ReferenceCall) -> Json:
        """Set the lowest severity of log messages."""
        self.log_level = call.params["level"]
        return {}

    async def call_tool(self, call: ReferenceCall) -> Json:
        """Run a tool: the method `run_` plus its name."""
        tool = next((one for one in self.tools() if one["name"] == call.params["name"]), None)
        if tool is None:
            raise Failure(self.profile.errors.invalid_params, "Unknown tool")
        arguments: Json = call.params.get("arguments") or {}
        wrong = [name for name in tool["inputSchema"].get("required", ()) if name not in arguments]
        if wrong:
            text = f"Missing argument: {wrong[0]}"
            if self.profile.bad_arguments == "protocol_error":
                raise Failure(self.profile.errors.invalid_params, text)
            return {**_text(text), "isError": True}
        result: Json = await getattr(self, f"run_{tool['name']}")(call, arguments)
        return result

    # --- tools ---

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return the text."""
        return _text(arguments["text"])

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        """Report progress, and log a message, if the client wants to hear of it."""
        total = int(arguments["steps"])
        for step in range(1, total + 1):
            self.report_progress(call, {"progress": step, "total": total, "message": f"{step}"})
        if self.logs(call, "info"):
            call.tell("logging_message", {"level": "info", "logger": "count", "data": "counted"})
        return _text(str(total))

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        """Send a progress notification, if the client asked for it."""
        if call.progress_token is not None:
            call.tell("progress", {"progressToken": call.progress_token, **params})

    def logs(self, call: ReferenceCall, level: str) -> bool:
        """Return True if the client wants log messages of a severity."""
        severities: tuple[str, ...] = wire_type(self.profile, "LoggingLevel").__args__
        key = self.profile.log_level_key
        lowest = call.meta.get(key) if key else self.log_level or "debug"
        return lowest is not None and severities.index(level) >= severities.index(lowest)

    async def run_content(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return one block of each kind of content that the revision has."""
        text = {"uri": "reference://text", "mimeType": "text/plain", "text": "text"}
        blocks: list[Json] = [
            {"type": "text", "text": "text"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
            {"type": "resource", "resource": text},
            {"type": "resource_link", **RESOURCES[0]},
        ]
        return {"content": [one for one in blocks if self.has_content(one)]}

    def has_content(self, block: Json) -> bool:
        """Return True if the revision has content of a kind."""
        try:
            shaped(wire_type(self.profile, "CallToolResult"), {"content": [block]})
        except msgspec.ValidationError:
            return False
        return True

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return a number as structured content and as text."""
        return {**_text('{"number": 1}'), "structuredContent": {"number": 1}}

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return an error of the tool."""
        return {**_text("it failed"), "isError": True}

    async def run_wait(self, call: ReferenceCall, arguments: Json) -> Json:
        """Wait until the call is cancelled."""
        await asyncio.get_running_loop().create_future()
        raise Unanswered

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask the user for a name."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = {"mode": "form", "message": "Your name?", "requestedSchema": schema}
        return await self.asked(call, "elicitation", "elicit", form)

    async def run_ask_model(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask the model for a text."""
        text = {"role": "user", "content": {"type": "text", "text": "Say something."}}
        return await self.asked(
            call, "sampling", "create_message", {"messages": [text], "maxTokens": 10}
        )

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask for the roots."""
        return await self.asked(call, "roots", "list_roots", {})

    async def asked(self, call: ReferenceCall, capability: str, name: str, params: Json) -> Json:
        """Ask the client if it has declared that it can be asked; return what it said as text."""
        if capability not in self.client_capabilities:
            return {**_text(f"the client has not declared {capability}"), "isError": True}
        return _text(msgspec.json.encode(await call.ask(name, params)).decode())


def _text(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def _key(id: Any) -> str:
    """Return an id as JSON: 1 and "1" identify two requests."""
    return msgspec.json.encode(id).decode()


def _nowhere(frame: Any) -> None:
    """Stand in for the way to the client before there is one."""
