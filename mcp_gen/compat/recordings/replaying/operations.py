"""Operations of a recorded conversation: requests with their outcomes, apart from the revision."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.compat.json_values import Json, entries, is_object, member
from mcp_gen.compat.method_names import openings, python_name

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.lines import Recording

__all__ = ["Operation", "Operations"]


class Operation(Struct, kw_only=True):
    """A request of the client, through all its rounds; or a notification.

    Args:
        line: Number of the line with the request.
        revision: The revision that was spoken.
        method: The method.
        params: The params, without those of single rounds.
        is_notification: True for a notification.
        outcome: The last answer; empty if there was none.
        questions: Methods of what the server asked meanwhile.
    """

    line: int
    revision: str
    method: str
    params: Json
    is_notification: bool = False
    outcome: Json = {}
    questions: list[str] = []

    @property
    def asks(self) -> Any:
        """Requests for input in the last answer; None if it is complete."""
        return member(self.outcome, "result", "inputRequests")


class Operations:
    """Requests and notifications of a recorded client, in order.

    Args:
        recording: The recording.
    """

    def __init__(self, recording: Recording) -> None:
        self.found: list[Operation] = []
        self.answers: dict[str, deque[Json]] = defaultdict(deque)
        """The client's answers to questions of the server, by Python names of methods."""
        self.capabilities: Json = {}
        """Capabilities that the client declared."""
        self.info: Json = {}
        """Name and version of the client."""
        self._revision = recording.revision or mcp_wire.LATEST
        self._open: dict[bytes, Operation] = {}
        self._asked: dict[bytes, str] = {}
        profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
        self._capability_keys = {one.client_capabilities_key or "" for one in profiles}
        self._info_keys = {one.client_info_key or "" for one in profiles}
        for number, line in enumerate(recording.lines, 2):
            for frame in entries(line.message):
                if line.sender == "client":
                    self._from_client(number, line.revision or self._revision, frame)
                else:
                    self._from_server(frame)

    def _from_client(self, number: int, revision: str, frame: Json) -> None:
        method = frame.get("method")
        found = frame.get("params")
        params: Json = found if is_object(found) else {}
        self._take_declared(method, params)
        if not isinstance(method, str):
            name = self._asked.pop(_id(frame), None)
            if name is not None:
                self.answers[name].append(frame)
            return
        if method in openings():
            return
        operation = self._continued(method, params)
        if operation is None:
            operation = Operation(
                line=number,
                revision=revision,
                method=method,
                params=params,
                is_notification="id" not in frame,
            )
            self.found.append(operation)
        if "id" in frame:
            self._open[_id(frame)] = operation

    def _from_server(self, frame: Json) -> None:
        method = frame.get("method")
        if isinstance(method, str):
            if "id" in frame:
                self._asked[_id(frame)] = python_name(method) or method
                for open_one in self._open.values():
                    open_one.questions.append(method)
            return
        operation = self._open.pop(_id(frame), None)
        if operation is not None:
            operation.outcome = frame

    def _continued(self, method: str, params: Json) -> Operation | None:
        """Return the operation of which a request is the next round; None if it is a new one."""
        answers = params.get("inputResponses")
        if not is_object(answers):
            return None
        for operation in reversed(self.found):
            if operation.method == method and is_object(operation.asks):
                for key, request in operation.asks.items():
                    asked = str(member(request, "method"))
                    name = python_name(asked) or ""
                    operation.questions.append(asked)
                    if key in answers:
                        self.answers[name].append({"result": answers[key]})
                return operation
        return None

    def _take_declared(self, method: Any, params: Json) -> None:
        meta = params.get("_meta")
        places = [member(meta, one) for one in self._capability_keys]
        names = [member(meta, one) for one in self._info_keys]
        if method in openings():
            places.append(params.get("capabilities"))
            names.append(params.get("clientInfo"))
        self.capabilities = next((one for one in places if is_object(one)), self.capabilities)
        self.info = next((one for one in names if is_object(one)), self.info)


def _id(frame: Json) -> bytes:
    return msgspec.json.encode(frame.get("id"))
