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
from mcp_gen.compat.known_extensions import known_extensions
from mcp_gen.compat.method_names import method_of, methods_of, python_name
from mcp_gen.compat.reference.call import Failure, NeedsInput, Outlet, ReferenceCall, Unanswered
from mcp_gen.compat.reference.feature_handlers import FeatureHandlers
from mcp_gen.compat.reference.features import CONTENT
from mcp_gen.compat.reference.metadata import text_content as _text
from mcp_gen.compat.reference.rounds import ServerRounds
from mcp_gen.compat.reference.shaping import log_levels, shaped, wire_type
from mcp_gen.compat.reference.tasks import TasksOfServer

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_wire.method import Method

__all__ = ["ReferenceServer"]

TTL_MS = 60_000


class ReferenceServer(FeatureHandlers, ServerRounds, TasksOfServer):
    """Server of exactly one revision, for one client.

    Args:
        revision: The revision.
    """

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.violations: list[ClosedViolation] = []
        """Everything that the client sent and the revision does not have."""
        self.log_level: str | None = None
        self.subscribed: set[str] = set()
        self.listening: list[ReferenceCall] = []
        """Listening requests that are open."""
        self.calls: dict[str, asyncio.Task[None]] = {}
        """Requests that are being answered, by id as JSON."""
        self._checker = FrameChecker(self.profile, known_extensions())
        self._running: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._is_open = self.profile.handshake is None
        self._to_client: Outlet = _nowhere
        self.earlier = 0
        """Number of connections that the client has opened before this one, where it is known."""
        self.note: Callable[[str], None] = _nowhere
        """Writes down what the client did beside the connection."""
        self.note_closing: Callable[[Sender, str], None] = _nowhere
        """Writes down what a side did about the end of the connection."""
        self.leave: Callable[[], None] = _nowhere
        """Ends the connection, and the process that serves it."""

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
                # The one array that leaves here: an Outlet that said so would bind each of them.
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
            # Over HTTP without sessions two clients may use one id.
            self.calls[_key(call.id)] = task
            self._running.add(task)
            task.add_done_callback(lambda done: self._ended(call, done))

    def _ended(self, call: ReferenceCall, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self.calls.get(_key(call.id)) is task:
            del self.calls[_key(call.id)]

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
        running = list(self._running)
        for task in running:
            task.cancel()
        for waiting in self._asked.values():
            waiting.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.end_tasks()

    # --- answers ---

    async def run(self, call: ReferenceCall) -> None:
        """Answer one request."""
        try:
            result = await self.answer(call)
        except Unanswered:
            return
        except NeedsInput as needed:
            call.outlet(self.result_frame(call, self.input_required(call, needed)))
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
        method = methods_of(self.profile).get(call.method)
        name = python_name(call.method)
        handle = getattr(self, name, None) if name else None
        if method is None or not method.from_client or handle is None:
            # A client of an earlier revision can do nothing but show this to its user.
            raise Failure(errors.method_not_found, "Method not found", self.advice(call))
        if not self._is_open and method not in (self.profile.handshake, self.profile.ping):
            raise Failure(errors.invalid_request, "The connection is not initialized")
        self.check_metadata(call)
        try:
            method.decode_params(msgspec.json.encode(call.params) if call.params else b"")
        except msgspec.DecodeError as error:
            raise Failure(errors.invalid_params, f"Invalid params: {error}") from None
        self.check_state(call)
        result: Json = await handle(call)
        return (
            result if result.get("resultType") == "input_required" else self.exact(method, result)
        )

    def check_metadata(self, call: ReferenceCall) -> None:
        """Refuse a request that does not say what each must, where there is no handshake."""
        super().check_metadata(call)
        self.check_level(call)

    def check_level(self, call: ReferenceCall) -> None:
        """Refuse a request that names an unknown level of log messages."""
        key = self.profile.log_level_key
        level = call.meta.get(key) if key else None
        if level is not None and level not in log_levels(self.profile):
            raise Failure(self.profile.errors.invalid_params, "Unknown log level")

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        """Return a result in the form that the revision gives it."""
        kind = self.result_type(method, result)
        if kind is dict:
            return result
        return self.signed(shaped(kind, {"ttlMs": TTL_MS, "cacheScope": "public", **result}))

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
        id = self.next_id()
        asked = {"jsonrpc": "2.0", "id": id, **frame}
        waiting = asyncio.get_running_loop().create_future()
        self._asked[_key(id)] = waiting
        self._checker.check(msgspec.json.encode(asked), "server")
        (outlet or self._to_client)(asked)
        found: Json = await waiting
        return found

    def next_id(self) -> Any:
        """Return an id for a request to the client that was not used before."""
        self._last_id += 1
        return self._last_id

    # --- what it offers ---

    def capabilities(self) -> Json:
        """Return what the server declares, with the capabilities of all revisions."""
        return {**super().capabilities(), **self.task_capabilities()}

    async def subscriptions_listen(self, call: ReferenceCall) -> Json:
        """Tell the client of changes until it cancels the request."""
        self.check_news_of_tasks(call)
        return await super().subscriptions_listen(call)

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

    async def set_level(self, call: ReferenceCall) -> Json:
        """Set the lowest severity of log messages."""
        self.log_level = call.params["level"]
        return {}

    async def call_tool(self, call: ReferenceCall) -> Json:
        """Run a tool: the method `run_` plus its name."""
        tool = next((one for one in self.tools() if one["name"] == call.params["name"]), None)
        if tool is None:
            raise Failure(self.profile.errors.invalid_params, "Unknown tool")
        becomes_task = self.becomes_task(call, tool)
        arguments: Json = call.params.get("arguments") or {}
        wrong = [name for name in tool["inputSchema"].get("required", ()) if name not in arguments]
        if wrong:
            text = f"Missing argument: {wrong[0]}"
            if self.profile.bad_arguments == "protocol_error":
                raise Failure(self.profile.errors.invalid_params, text)
            return {**_text(text), "isError": True}
        if becomes_task:
            return self.create_task(call, arguments)
        return await self.run_tool(call, arguments)

    async def run_tool(self, call: ReferenceCall, arguments: Json) -> Json:
        """Run the tool of a call, plainly or as the work of a task."""
        result: Json = await getattr(self, f"run_{call.params['name']}")(call, arguments)
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
        severities, key = log_levels(self.profile), self.profile.log_level_key
        lowest = call.meta.get(key) if key else self.log_level or "debug"
        return lowest is not None and severities.index(level) >= severities.index(lowest)

    async def run_content(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return one block of each kind of content that the revision has."""
        return {"content": [one for one in CONTENT if self.has_content(one)]}

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


def _key(id: Any) -> str:
    """Return an id as JSON: 1 and "1" identify two requests."""
    return msgspec.json.encode(id).decode()


def _nowhere(*said: object) -> None:
    """Stand in for the way to the client before there is one."""
