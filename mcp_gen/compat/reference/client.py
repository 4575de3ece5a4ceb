"""Reference client: speaks exactly one revision, sends what it is told, keeps all that comes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from mcp_gen.compat.json_values import Json, entries, is_object, member, objects
from mcp_gen.compat.method_names import method_of, openings, python_name
from mcp_gen.compat.reference.call import Failure, Unanswered
from mcp_gen.compat.reference.http_client.headers import request_headers
from mcp_gen.compat.reference.http_client.resuming import answers_elsewhere, resumed
from mcp_gen.compat.reference.rounds import next_round
from mcp_gen.compat.reference.shaping import filled_in, naming_task, plain_capabilities
from mcp_gen.compat.transcript import answer_in
from mcp_gen.compat.wire.http import HttpWire
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.patience import Waits
    from mcp_gen.compat.transcript import WireEvent
    from mcp_gen.compat.wire.wire import Wire
    from mcp_wire.method import Method

__all__ = ["Answers", "ReferenceClient", "ServerReply", "answer_in"]

TIMEOUT_S = 5.0
SETTLE_S = 0.05
"""Seconds in which what should not come would have come, once a later request is answered."""
MAX_PAGES = 50
"""Maximum number of pages of a list that are asked for."""
MAX_ROUNDS = 10
"""Maximum number of rounds of questions that one request is taken through."""


class ServerReply(Struct, frozen=True, kw_only=True):
    """Outcome of a request.

    Args:
        asked: The request.
        event: The message with the answer; None if none came in time.
        frame: The answer itself.
        closing: The end of the connection or of the HTTP response, where that came first.
        waited_s: Seconds that it was waited for.
    """

    asked: WireEvent
    event: WireEvent | None = None
    frame: Json = {}
    closing: WireEvent | None = None
    waited_s: float = 0.0

    @property
    def result(self) -> Json | None:
        """The result; None if there is none."""
        found = self.frame.get("result")
        return found if is_object(found) else None

    @property
    def error(self) -> Json | None:
        """The error; None if there is none."""
        found = self.frame.get("error")
        return found if is_object(found) else None

    @property
    def code(self) -> int | None:
        """The code of the error; None if there is none."""
        return (self.error or {}).get("code")

    @property
    def timed_out(self) -> bool:
        """True if neither an answer came in time, nor the end of the connection."""
        return self.event is None and self.closing is None

    @property
    def events(self) -> tuple[WireEvent, ...]:
        """The request and what came of it, as evidence."""
        return tuple(one for one in (self.asked, self.event, self.closing) if one)


class Answers:
    """Answers to questions of a server, one method per question, by its Python name.

    They are those of a user who says yes. A question without a method here is answered with the
    error for unknown methods. A method raises Failure for an error, and Unanswered for no answer.
    """

    def ping(self, params: Json) -> Json:
        """Return what a ping is answered with."""
        return {}

    def list_roots(self, params: Json) -> Json:
        """Return one root."""
        return {"roots": [{"uri": "file:///tmp", "name": "tmp"}]}

    def create_message(self, params: Json) -> Json:
        """Return a text of the model."""
        text = {"type": "text", "text": "an answer"}
        return {"role": "assistant", "content": text, "model": "reference", "stopReason": "endTurn"}

    def elicit(self, params: Json) -> Json:
        """Return the form, filled in; consent alone for a page to visit."""
        if params.get("mode") == "url":
            return {"action": "accept"}
        return {"action": "accept", "content": filled_in(params)}


class ReferenceClient:
    """Client of exactly one revision, on one connection.

    Everything that comes is in the transcript of the wire. Questions of the server are answered.

    Args:
        wire: The client's end of the connection.
        revision: The revision that it asks for and speaks.
        capabilities: What it declares; None: all that the revision has.
        answers: Answers questions of the server; None: an `Answers`.
        timeout_s: Longest wait for an answer, in seconds.
        waits: Waits for answers that it shares with others; None: all of them are `timeout_s`.
        listens: True to open a stream for what belongs to no request, over HTTP, where the revision
            has it.
    """

    def __init__(
        self,
        wire: Wire,
        revision: str,
        *,
        capabilities: Json | None = None,
        answers: Answers | None = None,
        timeout_s: float = TIMEOUT_S,
        waits: Waits | None = None,
        listens: bool = True,
    ) -> None:
        self.profile = profile_of(revision)
        self.capabilities = self.all_capabilities() if capabilities is None else capabilities
        self.answers = Answers() if answers is None else answers
        self.waits = waits
        self._timeout_s = timeout_s
        self.opening: ServerReply | None = None
        """The answer to the handshake or to discovery."""
        self.may_answer = asyncio.Event()
        """Clear while questions of the server are to be left open."""
        self.may_answer.set()
        self.session_id: str | None = None
        self.tools: dict[str, Json] = {}
        """Every tool that the server has listed, by name."""
        self.stream: int = 0
        """Exchange of the stream for what belongs to no request; 0 for none."""
        self._listens = listens
        self._last_id = 0
        self._answered: list[Json] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.use_wire(wire)

    def use_wire(self, wire: Wire) -> None:
        """Speak on a wire from now on.

        Args:
            wire: The client's end of a connection that is not open yet.
        """
        self.wire = wire
        self.http = wire if isinstance(wire, HttpWire) else None
        """The wire, if it is one over HTTP."""
        self.transcript = wire.transcript
        self.transcript.listen(self._heard)

    # --- opening and closing ---

    async def open(self) -> ServerReply:
        """Open the connection with a handshake, or with discovery where there is none.

        Raises:
            TransportError: the connection cannot be opened.
        """
        await self.wire.open()
        self.opening = await self.ask_frame(self.opening_frame())
        if self.profile.handshake is None:
            return self.opening
        if self.opening.result is not None and self.profile.initialized is not None:
            await self.tell(self.profile.initialized)
            if self._listens:
                await self.listen()
        return self.opening

    @property
    def timeout_s(self) -> float:
        """Longest wait for an answer now, in seconds."""
        return self.waits.timeout_s if self.waits else self._timeout_s

    @timeout_s.setter
    def timeout_s(self, value: float) -> None:
        self._timeout_s = value

    def opening_frame(self) -> Json:
        """Return the request of the handshake, or of discovery where there is none."""
        handshake, discover = self.profile.handshake, self.profile.discover
        if handshake is not None:
            return self.request_frame(handshake.name, self.handshake_params())
        assert discover is not None
        return self.request_frame(discover.name)

    async def listen(self) -> None:
        """Open the stream for what belongs to no request, where the revision has it over HTTP."""
        if self.http is not None and self.profile.get_stream:
            self.stream = await self.http.exchange("GET", headers=self.headers(b""))
            await self.http.response(self.stream, self.timeout_s)

    async def end_session(self) -> WireEvent | None:
        """End the session over HTTP; return the head of the response, or None for none."""
        if self.http is None or self.session_id is None:
            return None
        number = await self.http.exchange("DELETE", headers=self.headers(b""))
        return await self.http.response(number, self.timeout_s)

    async def aclose(self) -> None:
        """End the session, and close the connection."""
        await self.end_session()
        running = list(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.wire.aclose()

    @property
    def server_capabilities(self) -> Json:
        """Capabilities that the server has declared; empty if it has not answered."""
        found = member(self.opening and self.opening.result, "capabilities")
        return found if is_object(found) else {}

    @property
    def agreed(self) -> str | None:
        """Revision that the handshake ended with; without a handshake, that of the client."""
        if self.profile.handshake is None:
            return self.profile.revision
        found = member(self.opening and self.opening.result, "protocolVersion")
        return found if isinstance(found, str) else None

    def all_capabilities(self) -> Json:
        """Return every capability that the revision has for clients without extensions."""
        made = plain_capabilities(self.profile)
        if self.profile.declares_sampling_parts:
            made["sampling"] = {"tools": {}, "context": {}}
        if self.profile.url_elicitation == "mode":
            made["elicitation"] = {"form": {}, "url": {}}
        return made

    def handshake_params(self) -> Json:
        """Return the params of the handshake."""
        return {
            "protocolVersion": self.profile.revision,
            "capabilities": self.capabilities,
            "clientInfo": self.info(),
        }

    def info(self) -> Json:
        """Return name and version of the client."""
        return {"name": "mcp-gen reference client", "version": "1.0.0"}

    # --- sending ---

    async def ask(
        self,
        method: str | Method[Any, Any],
        params: Json | None = None,
        *,
        meta: Json | None = None,
        id: Any = UNSET,
        within_s: float | None = None,
    ) -> ServerReply:
        """Send a request and wait for its answer.

        Args:
            method: The method, or its Python name, such as `list_tools`.
            params: The params, without `_meta`.
            meta: More members of `_meta`.
            id: The id; the next number without one.
            within_s: Longest wait, in seconds; None: the `timeout_s` of the client.

        Raises:
            NoSuchMethod: the revision does not have the method.
        """
        frame = self.request_frame(self.wire_name(method), params, meta=meta, id=id)
        return await self.ask_frame(frame, within_s=within_s)

    async def ask_frame(
        self,
        frame: Json,
        *,
        within_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerReply:
        """Send a request as it is, and wait for its answer; see `ask`.

        Args:
            frame: The request.
            within_s: Longest wait, in seconds; None: the `timeout_s` of the client.
            headers: HTTP headers; None: those that belong to the request.
        """
        asked = await self.send(frame, headers=headers)
        return await self.reply_to(asked, within_s=within_s)

    async def call_through(
        self,
        method: str | Method[Any, Any],
        params: Json | None = None,
        *,
        meta: Json | None = None,
    ) -> ServerReply:
        """Send a request, and answer the questions of its results until there are no more.

        Where the server sends its questions as requests, this is `ask`.

        Args:
            method: The method, or its Python name, such as `call_tool`.
            params: The params, without `_meta`.
            meta: More members of `_meta`, in each round.

        Returns:
            The reply of the last round.
        """
        reply = await self.ask(method, params, meta=meta)
        for _ in range(MAX_ROUNDS):
            again = self.next_round(params or {}, reply)
            if again is None:
                break
            reply = await self.ask(method, again, meta=meta)
        return reply

    def next_round(self, params: Json, reply: ServerReply) -> Json | None:
        """Return the params of the next round; None if the result of a reply asks for none.

        Args:
            params: The params of the first round.
            reply: The reply of the last one.
        """
        return next_round(params, reply.result, self.answers)

    async def reply_to(
        self, asked: WireEvent, *, id: Any = UNSET, within_s: float | None = None
    ) -> ServerReply:
        """Wait for the answer to a request that was sent.

        Args:
            asked: The message with the request.
            id: The id of the request; without one, that of the message.
            within_s: Longest wait, in seconds; None: the `timeout_s` of the client.
        """
        id = member(asked.message, "id") if id is UNSET else id
        exchanges = {asked.exchange}

        def ends(event: WireEvent) -> bool:
            if event.sender != "server" or event.kind not in ("message", "ended", "closed"):
                return False
            if event.kind == "ended":
                return event.exchange in exchanges and not answers_elsewhere(self, event)
            return event.kind == "closed" or answer_in(event, id) is not None

        wait_s = self.timeout_s if within_s is None else within_s
        patience = self.waits.patience if self.waits else None
        is_first = not any(one.sender == "server" for one in self.transcript.events)
        is_start = is_first and self.transcript.transport == "stdio"
        if is_first and patience is not None and within_s is None:
            wait_s = patience.open_s
        event = await self.transcript.first(ends, wait_s, start=asked.number)
        if event is None and is_start and patience is not None and within_s is None:
            # Meanwhile other processes may have shown how long a start takes.
            rest_s = max(0.0, patience.start_s - wait_s)
            wait_s += rest_s
            event = await self.transcript.first(ends, rest_s, start=asked.number)
        while event is not None and event.kind == "ended":
            number = await self.resume(event)
            if number == 0:
                break
            exchanges = {number}
            event = await self.transcript.first(ends, wait_s, start=event.number + 1)
        if event is None:
            if self.waits is not None and within_s is None:
                self.waits.in_vain(wait_s)
                if is_first and member(asked.message, "method") in openings():
                    self.waits.patience.open_in_vain()
            return ServerReply(asked=asked, waited_s=wait_s)
        waited_s = event.at_s - asked.at_s
        if patience is not None:
            patience.heard(waited_s, is_first=is_start)
        if event.kind != "message":
            return ServerReply(asked=asked, closing=event, waited_s=waited_s)
        frame = answer_in(event, id)
        return ServerReply(asked=asked, event=event, frame=frame or {}, waited_s=waited_s)

    async def resume(self, ended: WireEvent) -> int:
        """Ask for the rest of a stream; see `resumed`."""
        return await resumed(self, ended)

    async def tell(
        self,
        method: str | Method[Any, Any],
        params: Json | None = None,
        *,
        meta: Json | None = None,
    ) -> WireEvent:
        """Send a notification.

        Args:
            method: The method, or its Python name, such as `progress`.
            params: The params, without `_meta`.
            meta: The members of `_meta`.

        Raises:
            NoSuchMethod: the revision does not have the notification.
        """
        told = await self.send(self.notification_frame(self.wire_name(method), params, meta=meta))
        if self.http is not None:
            # What is sent next must not overtake it on another connection.
            await self.http.response(told.exchange, self.timeout_s)
        return told

    async def send(
        self, message: Json | list[Any] | bytes, *, headers: Mapping[str, str] | None = None
    ) -> WireEvent:
        """Send anything in the place of a message; return what the transcript has of it.

        Args:
            message: A JSON value, or bytes.
            headers: HTTP headers; None: those that belong to the message.
        """
        data = self.encoded(message)
        start = len(self.transcript.events)
        await self.wire.send(data, self.headers(message) if headers is None else headers)
        for event in self.transcript.events[start:]:
            if event.sender == "client" and event.kind == "message" and event.data == data:
                return event
        raise AssertionError("a wire writes down what it sends")

    def encoded(self, message: Json | list[Any] | bytes) -> bytes:
        """Return the bytes of a message."""
        return message if isinstance(message, bytes) else msgspec.json.encode(message)

    async def list_all(self, name: str) -> list[Json]:
        """Return the items of all pages of a list; none if it cannot be listed.

        Args:
            name: The Python name of the method, such as `list_tools`.
        """
        items: list[Json] = []
        params: Json = {}
        for _ in range(MAX_PAGES):
            result = (await self.ask(name, params)).result or {}
            for found in result.values():
                items += objects(found)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                break
            params = {"cursor": cursor}
        return items

    async def settle(self) -> ServerReply:
        """Wait until what the server had to send because of earlier messages has come.

        A later request is asked and answered, and a moment passes.

        Returns:
            The reply to the later request.
        """
        reply = await self.ask_frame(self.harmless_frame())
        await self.transcript.first(lambda event: False, SETTLE_S)
        return reply

    # --- frames ---

    def harmless_frame(self) -> Json:
        """Return a request that every server answers, and that changes nothing."""
        harmless = self.profile.ping or self.profile.discover
        assert harmless is not None
        return self.request_frame(harmless.name)

    def wire_name(self, method: str | Method[Any, Any]) -> str:
        """Return the name of a method on the wire.

        Raises:
            NoSuchMethod: the revision does not have it.
        """
        return (method_of(self.profile, method) if isinstance(method, str) else method).name

    def next_id(self) -> int:
        """Return an id that was not used before."""
        self._last_id += 1
        return self._last_id

    def request_frame(
        self, method: str, params: Json | None = None, *, meta: Json | None = None, id: Any = UNSET
    ) -> Json:
        """Return a request; see `ask`."""
        frame: Json = {"jsonrpc": "2.0", "id": self.next_id() if id is UNSET else id}
        frame["method"] = method
        made = self.params(params, {**self.request_meta(), **(meta or {})})
        return {**frame, "params": made} if made else frame

    def notification_frame(
        self, method: str, params: Json | None = None, *, meta: Json | None = None
    ) -> Json:
        """Return a notification."""
        frame: Json = {"jsonrpc": "2.0", "method": method}
        made = self.params(params, meta or {})
        return {**frame, "params": made} if made else frame

    def params(self, params: Json | None, meta: Json) -> Json:
        """Return params with `_meta`, if there is any."""
        return {**(params or {}), **({"_meta": meta} if meta else {})}

    def request_meta(self) -> Json:
        """Return the members of `_meta` that every request has."""
        profile = self.profile
        said = {
            profile.protocol_version_key: profile.revision,
            profile.client_capabilities_key: self.capabilities,
            profile.client_info_key: self.info(),
        }
        return {key: value for key, value in said.items() if key is not None}

    def headers(self, message: Json | list[Any] | bytes) -> dict[str, str]:
        """Return the HTTP headers that belong to a message, beside those of HTTP itself."""
        return request_headers(self.profile, message, session_id=self.session_id, tools=self.tools)

    # --- hearing ---

    def _heard(self, event: WireEvent) -> None:
        if event.sender != "server":
            return
        if event.kind == "response" and self.profile.session_header and self.session_id is None:
            self.session_id = event.headers.get(self.profile.session_header.lower())
        if event.kind != "message":
            return
        for entry in entries(event.message):
            for tool in objects(member(entry, "result", "tools")):
                self.tools[str(tool.get("name"))] = tool
            if "method" in entry and "id" in entry and entry not in self._answered:
                # A stream that is resumed may bring a question again.
                self._answered.append(entry)
                task = asyncio.get_running_loop().create_task(self._answer(entry))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _answer(self, asked: Json) -> None:
        await self.may_answer.wait()
        try:
            frame = self.answer_frame(asked)
        except Unanswered:
            return
        await self.send(frame)

    def answer_frame(self, asked: Json) -> Json:
        """Return the answer to a question of the server.

        Raises:
            Unanswered: there is none.
        """
        make = getattr(self.answers, python_name(str(asked["method"])) or "", None)
        params = found if is_object(found := asked.get("params")) else {}
        frame: Json = {"jsonrpc": "2.0", "id": asked["id"]}
        if make is None:
            said = {"code": self.profile.errors.method_not_found, "message": "Method not found"}
            return {**frame, "error": said}
        try:
            return {**frame, "result": naming_task(self.profile, params, make(params))}
        except Failure as failure:
            return {**frame, "error": {"code": failure.code, "message": failure.message}}
