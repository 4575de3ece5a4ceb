"""Dialogue of a transcript: requests with their answers, and questions to the client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.transcript import Transcript, WireEvent, WireFrame

__all__ = ["AskedRequest", "ClientQuestion", "Dialogue", "path_of"]


class AskedRequest(Struct):
    """One request, and what came of it.

    Args:
        asked: The request.
        answer: Its answer; None for none.
        cancelled: The cancellation by the side that sent it; None for none.
    """

    asked: WireFrame
    answer: WireFrame | None = None
    cancelled: WireFrame | None = None

    @property
    def id(self) -> Any:
        """Id of the request."""
        return self.asked.members["id"]

    @property
    def meta(self) -> Json:
        """Metadata of the request."""
        found = member(self.asked.members, "params", "_meta")
        return found if is_object(found) else {}

    @property
    def result(self) -> Json:
        """Result in the answer; empty if there is none."""
        found = member(self.answer and self.answer.members, "result")
        return found if is_object(found) else {}

    @property
    def starts_task(self) -> bool:
        """True if the answer starts a task, which goes on after it."""
        return "task" in self.result or self.result.get("resultType") == "task"

    def is_open_at(self, event: WireEvent) -> bool:
        """Return True if the request was sent before an event, and not answered before it."""
        return self.asked.event.number < event.number and (
            self.answer is None or self.answer.event.number > event.number
        )


class ClientQuestion(NamedTuple):
    """One question to the client: a request, or an entry of a result that asks.

    Args:
        event: The message that it is in.
        where: JSON path of the question in the message.
        asked: The question itself: method and params.
        capabilities: What the client has declared.
    """

    event: WireEvent
    where: str
    asked: Json
    capabilities: Json

    @property
    def params(self) -> Json:
        """Its params; empty if it has none."""
        found = self.asked.get("params")
        return found if is_object(found) else {}


class Dialogue:
    """Requests of both sides of a transcript, with their answers.

    Args:
        transcript: The transcript.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.profile = profile_of(transcript.revision)
        self.by_client: list[AskedRequest] = []
        """Requests of the client, in order."""
        self.by_server: list[AskedRequest] = []
        """Requests of the server, in order."""
        self._open: dict[tuple[Sender, str, Any], AskedRequest] = {}
        for frame in transcript.frames():
            self._read(frame)

    def _read(self, frame: WireFrame) -> None:
        sender, members = frame.event.sender, frame.members
        other: Sender = "server" if sender == "client" else "client"
        id = members.get("id")
        if "method" not in members:
            if (asked := self._open.pop((other, *_key(id)), None)) is not None:
                asked.answer = frame
        elif "id" in members:
            exchange = AskedRequest(frame)
            (self.by_client if sender == "client" else self.by_server).append(exchange)
            self._open[(sender, *_key(id))] = exchange
        elif self.profile.cancelled and members["method"] == self.profile.cancelled.name:
            about = _key(member(members, "params", "requestId"))
            if (asked := self._open.get((sender, *about))) is not None and not asked.cancelled:
                asked.cancelled = frame

    def opened(self) -> AskedRequest | None:
        """Return the handshake or the discovery of the connection; None if there is none."""
        method = self.profile.handshake or self.profile.discover
        for one in self.by_client:
            if method is not None and one.asked.members["method"] == method.name and one.answer:
                return one
        return None

    def server_capabilities(self) -> Json | None:
        """Return what the server has declared; None if nobody has asked it."""
        opened = self.opened()
        found = member(opened and opened.result, "capabilities")
        return found if is_object(found) else None

    def questions(self) -> Iterator[ClientQuestion]:
        """Yield the questions to the client, those of requests and those in results."""
        opened = self.opened()
        for one in self.by_server:
            frame = one.asked
            declared = self.declared(opened)
            yield ClientQuestion(frame.event, path_of(frame), frame.members, declared)
        for one in self.by_client:
            asked = one.result.get("inputRequests")
            if one.answer is None or not is_object(asked):
                continue
            declared = self.declared(one)
            for key, question in asked.items():
                where = f"{path_of(one.answer)}.result.inputRequests.{key}"
                if is_object(question):
                    yield ClientQuestion(one.answer.event, where, question, declared)

    def declared(self, asked: AskedRequest | None) -> Json:
        """Return what the client has declared: in a request, or in the handshake before it."""
        key = self.profile.client_capabilities_key
        said = asked if key else self.opened()
        params = member(said and said.asked.members, "params")
        found = member(params, "_meta", key) if key else member(params, "capabilities")
        return found if is_object(found) else {}


def path_of(frame: WireFrame) -> str:
    """Return the JSON path of a frame in its message: `$`, or that of an entry of a batch."""
    message = frame.event.message
    if is_array(message):
        for number, entry in enumerate(message):
            if entry is frame.members:
                return f"$[{number}]"
    return "$"


def _key(id: Any) -> tuple[str, Any]:
    """Return what identifies a request: 1 and "1" are two; anything else identifies none."""
    return (type(id).__name__, id if isinstance(id, (int, str)) else None)
