"""Restated conversations: what a recorded client did, at another revision."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import NoSuchMethod, method_of, methods_of, python_name
from mcp_gen.compat.recordings.replaying.differences import (
    NOTHING,
    Difference,
    differences,
    shown_value,
)
from mcp_gen.compat.recordings.replaying.operations import Operation, Operations
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.client import Answers, ReferenceClient, ServerReply
from mcp_gen.core.errors import McpError, ProjectionError
from mcp_gen.core.projection.project import project_error, restate
from mcp_wire.base import encode

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.lines import Recording
    from mcp_gen.compat.recordings.pointers import Pointer
    from mcp_gen.compat.recordings.redactor import Redactor
    from mcp_gen.compat.recordings.replaying.live_values import LiveValues
    from mcp_gen.compat.wire.wire import Wire

__all__ = ["Restated"]

OF_ROUNDS = ("inputResponses", "requestState")
"""Params that belong to one round."""


class Restated:
    """The operations of a recording, played one after the other at another revision.

    Results are compared at the revision of the recording, in what both revisions have.
    Notifications of the server are not compared: when they come differs by revision.

    Args:
        recording: The recording.
        revision: The revision to speak.
        bindings: Live values by the recorded ones.
        redactor: Replaces secrets of live messages where they are shown.
        ignored: Pointers to what may differ.
    """

    def __init__(
        self,
        recording: Recording,
        revision: str,
        bindings: LiveValues,
        redactor: Redactor,
        ignored: Sequence[Pointer],
    ) -> None:
        self.found: list[Difference] = []
        self.losses: list[str] = []
        self.left_out: list[str] = []
        self.compared = 0
        self._operations = Operations(recording)
        self._recorded = recording.revision or mcp_wire.LATEST
        self._profile = mcp_wire.profile(revision)
        self._at = self._profile.revision
        self._bindings = bindings
        self._redactor = redactor
        self._ignored = ignored

    async def play(self, wire: Wire, timeout_s: float) -> None:
        """Play the operations on a wire, and close it.

        Args:
            wire: The client's end of a connection, not open yet.
            timeout_s: Longest wait for an answer, in seconds.

        Raises:
            TransportError: the connection cannot be opened.
        """
        answers = _RecordedAnswers(self._operations.answers, self)
        client = _RecordedClient(
            wire,
            self._profile.revision,
            capabilities=self._capabilities(),
            answers=answers,
            timeout_s=timeout_s,
            listens=False,
        )
        client.recorded_info = self._operations.info
        try:
            opening = await client.open()
            if opening.result is None or client.agreed != self._profile.revision:
                came = self._shown(opening.frame) if opening.frame else NOTHING
                self._differ(0, "opening", "$", f"revision {self._profile.revision}", came)
                return
            for operation in self._operations.found:
                await self._play(client, operation)
        finally:
            await client.aclose()

    def restated(self, kind: Any, value: Any, line: int) -> Any:
        """Return a JSON value of a wire type at the revision that is spoken.

        Args:
            kind: The wire type that it has at its own revision.
            value: The JSON value.
            line: Number of its line, for the losses.

        Raises:
            ProjectionError: it cannot be restated.
        """
        typed = mcp_wire.decode(kind, msgspec.json.encode(value))
        made = restate(typed, self._profile.revision)
        for loss in made.losses:
            where = f"line {line}" if line else "capabilities and answers of the client"
            self.losses.append(f"{where}: {loss.path} {loss.reason}")
        return msgspec.json.decode(encode(made.value))

    # --- one operation ---

    async def _play(self, client: ReferenceClient, operation: Operation) -> None:
        line, method = operation.line, operation.method
        name = python_name(method)
        row = methods_of(mcp_wire.profile(operation.revision)).get(method)
        if row is None or name is None:
            self.left_out.append(f"line {line}: {method} is no method of {operation.revision}")
            return
        for needed in (method, *operation.questions):
            if not self._has(needed):
                asked = "" if needed == method else f"{method} asks for input by {needed}: "
                self.losses.append(f"line {line}: {asked}{self._at} has no {needed}")
                return
        if operation.is_notification:
            if row in (mcp_wire.profile(operation.revision).roots_changed,):
                await client.tell(name)
            elif row is not mcp_wire.profile(operation.revision).initialized:
                self.left_out.append(f"line {line}: {method}, which is about another request")
            return
        task = operation.params.get("taskId")
        if task is not None and not self._bindings.has_opaque(task):
            self.losses.append(f"line {line}: {method}: there is no such task at {self._at}")
            return
        if not operation.outcome:
            self.left_out.append(f"line {line}: {method}, which was not answered")
            return
        try:
            params, meta = self._params(row, operation)
        except (ProjectionError, msgspec.DecodeError) as error:
            self.losses.append(f"line {line}: {method}: {error}")
            return
        reply = await client.call_through(name, params, meta=meta)
        self._compare(operation, row, name, reply)

    def _has(self, method: str) -> bool:
        try:
            method_of(self._profile, python_name(method) or "")
        except (NoSuchMethod, KeyError):
            return False
        return True

    def _params(self, row: Any, operation: Operation) -> tuple[Json, Json]:
        recorded = {k: v for k, v in operation.params.items() if k not in OF_ROUNDS}
        made: Json = recorded
        if row.params is not None and recorded:
            made = self.restated(row.params, recorded, operation.line)
        made = self._bindings.live(made)
        meta = made.pop("_meta", {})
        profile = mcp_wire.profile(operation.revision)
        own = {
            profile.protocol_version_key,
            profile.client_capabilities_key,
            profile.client_info_key,
        }
        return made, {key: one for key, one in meta.items() if key not in own}

    def _compare(self, operation: Operation, row: Any, name: str, reply: ServerReply) -> None:
        line, about = operation.line, f"answer to {operation.method}"
        expected, came = operation.outcome, reply.frame
        if not came:
            wait = "nothing in time" if reply.timed_out else "the end of the connection"
            self._differ(line, about, "$", self._shown(expected), wait)
            return
        if is_task(expected):
            self.losses.append(f"line {line}: {about} is a task, which is not restated")
            return
        self.compared += 1
        if "result" in expected and "result" in came:
            try:
                kept = self.restated(row.results[0], expected["result"], line)
                target = method_of(self._profile, name).results[0]
                pair = [self._back(target, one, operation) for one in (kept, came["result"])]
            except (ProjectionError, msgspec.DecodeError) as error:
                self.losses.append(f"line {line}: {about}: {error}")
                return
            expected, came = {"result": pair[0]}, {"result": pair[1]}
        elif "error" in expected and "error" in came:
            expected = {"error": self._error(expected["error"], operation)}
            code = came["error"].get("code")
            if code not in self._codes(operation.revision) and code in self._codes(None):
                self.losses.append(f"line {line}: {operation.revision} has no error code {code}")
                del expected["error"]["code"]
            came = {"error": {k: v for k, v in came["error"].items() if k in expected["error"]}}
        elif self._is_bad_call(expected, came, operation):
            self.losses.append(f"line {line}: arguments are refused in another way")
            return
        else:
            self._differ(line, about, "$", self._shown(expected), self._shown(came))
            return
        self.found += differences(
            expected,
            came,
            self._bindings,
            self._redactor,
            line=line,
            about=about,
            ignored=self._ignored,
        )

    def _back(self, kind: Any, value: Any, operation: Operation) -> Any:
        """Return a result of the spoken revision at that of the recording."""
        typed = mcp_wire.decode(kind, msgspec.json.encode(value))
        made = msgspec.json.decode(encode(restate(typed, operation.revision).value))
        keys = {
            mcp_wire.profile(one).server_info_key
            for one in (self._profile.revision, operation.revision)
        }
        meta = {key: one for key, one in made.pop("_meta", {}).items() if key not in keys}
        return {**made, "_meta": meta} if meta else made

    def _codes(self, revision: str | None) -> set[Any]:
        profile = self._profile if revision is None else mcp_wire.profile(revision)
        return set(msgspec.structs.asdict(profile.errors).values())

    def _error(self, error: Json, operation: Operation) -> Json:
        given = McpError(error.get("code", 0), str(error.get("message")), error.get("data"))
        made = project_error(given, of=operation.revision, to=self._profile.revision)
        return {"code": made.code, "message": error.get("message")}

    def _is_bad_call(self, expected: Json, came: Json, operation: Operation) -> bool:
        """Return True for arguments that one revision refuses by an error, one by a result."""
        codes = {mcp_wire.profile(operation.revision).errors.invalid_params}
        codes.add(self._profile.errors.invalid_params)
        refused = [
            member(one, "error", "code") in codes or member(one, "result", "isError") is True
            for one in (expected, came)
        ]
        differs = mcp_wire.profile(operation.revision).bad_arguments != self._profile.bad_arguments
        return all(refused) and differs

    # --- the client ---

    def _capabilities(self) -> Json:
        types = mcp_wire.profile(self._recorded).module
        declared = self._operations.capabilities
        if not declared:
            return {}
        kind = __import__(f"{types}.types", fromlist=["types"]).ClientCapabilities
        made: Json = self.restated(kind, declared, 0)
        return made

    def _differ(self, line: int, about: str, path: str, expected: str, came: str) -> None:
        self.found.append(
            Difference(line=line, about=about, path=path, expected=expected, came=came)
        )

    def asked_beside(self, name: str) -> None:
        """Note a question that the recorded server did not ask."""
        self._differ(0, name, "$", NOTHING, "a question without a recorded answer")

    def answer(self, name: str, frame: Json) -> Json:
        """Return a recorded answer at the revision that is spoken."""
        row = method_of(mcp_wire.profile(self._recorded), name)
        result = frame.get("result")
        return self.restated(row.results[0], result, 0) if is_object(result) else {}

    def _shown(self, frame: Any) -> str:
        return shown_value(self._redactor.message(frame))


def is_task(answer: Json) -> bool:
    """Return True if an answer is a task, in the place of a result that comes later."""
    result = answer.get("result")
    is_made = is_object(member(result, "task")) or member(result, "resultType") == "task"
    return is_object(result) and is_made


class _RecordedAnswers(Answers):
    """Answers with what the recorded client had answered, question by question."""

    def __init__(self, answers: Mapping[str, deque[Json]], restated: Restated) -> None:
        self._answers = answers
        self._restated = restated

    def list_roots(self, params: Json) -> Json:
        return self._next("list_roots")

    def create_message(self, params: Json) -> Json:
        return self._next("create_message")

    def elicit(self, params: Json) -> Json:
        return self._next("elicit")

    def _next(self, name: str) -> Json:
        waiting = self._answers.get(name)
        if not waiting:
            self._restated.asked_beside(name)
            raise Failure(mcp_wire.profile(mcp_wire.LATEST).errors.internal_error, "no answer")
        frame = waiting.popleft()
        error = frame.get("error")
        if is_object(error):
            raise Failure(error.get("code", 0), str(error.get("message")), error.get("data"))
        return self._restated.answer(name, frame)


class _RecordedClient(ReferenceClient):
    """Client with the name and version of the recorded one."""

    recorded_info: Json | None = None

    def info(self) -> Json:
        """Return name and version of the client."""
        own = super().info()
        return {name: (self.recorded_info or {}).get(name, value) for name, value in own.items()}
