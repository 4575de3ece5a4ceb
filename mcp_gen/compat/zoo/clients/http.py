"""Clients that break the rules of HTTP messages, streams and sessions, and their twins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.reference.http_client.resuming import RESUME_HEADER, last_event_id, resumed
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import WireEvent
    from mcp_gen.compat.wire.http import HttpWire

__all__ = ["WithHeaders", "wire_of"]

A_MOMENT_S = 0.1


def wire_of(client: ClientScript) -> HttpWire:
    """Return the wire of a client over HTTP."""
    assert client.http is not None
    return client.http


class WithHeaders(ClientScript):
    """Sends headers of its own with some requests; an empty one is left out."""

    about = "complete"
    """Python name of the request."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        """Return the headers."""
        return {}

    def headers(self, message: Json | list[Any] | bytes) -> dict[str, str]:
        named = super().headers(message)
        method = member(message, "method")
        if isinstance(method, str) and isinstance(message, dict) and self.is_about(method):
            return {**named, **self.own_headers(message)}
        return named

    def is_about(self, method: str) -> bool:
        """Return True for the method of the requests."""
        return python_name(method) == self.about

    async def complete(self) -> None:
        # Whether the server takes it is no matter here.
        about = {"type": "ref/prompt", "name": "greet"}
        await self.ask("complete", {"ref": about, "argument": {"name": "name", "value": "A"}})


class _Also(ClientScript):
    """Sends something more."""

    async def complete(self) -> None:
        await self.also()

    async def also(self) -> None:
        """Send it."""

    def harmless(self) -> bytes:
        """Return a request as bytes."""
        return self.encoded(self.harmless_frame())

    async def exchange(
        self,
        method: str,
        body: bytes | None,
        path: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send any request, and wait for the head of its response."""
        wire = wire_of(self)
        value = msgspec.json.decode(body) if body and b"\n" not in body else b""
        named = {**self.headers(value), **(headers or {})}
        number = await wire.exchange(method, body, named, path)
        await wire.response(number, self.timeout_s)


# --- messages ---


@breaks("http:client:sse:posts")
class PostsToTheStream(_Also):
    """Posts a message to the address of the stream."""

    async def also(self) -> None:
        await self.exchange("POST", self.harmless(), wire_of(self).url)


@keeps("http:client:sse:posts")
class PostsWithACharset(WithHeaders):
    """Says in which encoding a message is."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {"Content-Type": "application/json; charset=utf-8"}


@breaks("http:client:posts")
class Puts(_Also):
    """Sends a message by PUT."""

    async def also(self) -> None:
        await self.exchange("PUT", self.harmless())


@keeps("http:client:posts")
class PostsWithAQuery(_Also):
    """Posts a message to the endpoint with a query."""

    async def also(self) -> None:
        await self.exchange("POST", self.harmless(), f"{wire_of(self).url}?from=zoo")


@breaks("http:client:body")
class PostsTwoMessages(_Also):
    """Posts two messages in one body."""

    async def also(self) -> None:
        await self.exchange("POST", self.harmless() + b"\n" + self.harmless())


@keeps("http:client:body")
class PostsPrettily(_Also):
    """Posts a message in many lines."""

    async def also(self) -> None:
        frame = self.harmless_frame()
        await self.send(frame)

    def encoded(self, message: Json | list[Any] | bytes) -> bytes:
        data = super().encoded(message)
        return data if isinstance(message, bytes) else msgspec.json.format(data, indent=2)


@breaks("http:client:accept")
class TakesJson(WithHeaders):
    """Takes JSON alone."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {"Accept": "application/json"}


@keeps("http:client:accept")
class TakesMuch(WithHeaders):
    """Takes both kinds in its own order, and anything else if need be."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {"Accept": "text/event-stream;q=0.5 , Application/JSON,*/*;q=0.1"}


@breaks("http:client:get-accept")
class ListensForJson(ClientScript):
    """Opens a stream, and takes JSON alone."""

    accepts = "application/json"

    async def listen(self) -> None:
        wire = wire_of(self)
        named = {**self.headers(b""), "Accept": self.accepts}
        self.stream = await wire.exchange("GET", headers=named)
        await wire.response(self.stream, self.timeout_s)


@keeps("http:client:get-accept")
class ListensForAnything(ListensForJson):
    """Opens a stream, and takes other things, too."""

    accepts = "*/*;q=0.1, text/event-stream"


# --- answers ---


@breaks("http:client:both-answers")
class ReadsListsInJson(ClientScript):
    """Does not read a list that comes on a stream."""

    def result_of(self, name: str, reply: ServerReply) -> Json:
        head = reply.event and self.transcript.head(reply.event.exchange)
        kind = head.headers.get("content-type", "") if head else ""
        if name == "list_prompts" and kind.startswith("text/event-stream"):
            raise ScriptFailure("the list is no JSON")
        return super().result_of(name, reply)


@keeps("http:client:both-answers")
class PrefersStreams(WithHeaders):
    """Would rather have streams, and reads both."""

    about = "list_prompts"

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {"Accept": "text/event-stream, application/json;q=0.1"}


class _HangsUp(_Also):
    """Calls a tool, and hangs up before the answer."""

    async def hang_up(self) -> Any:
        """Call and hang up; return the id of the request."""
        frame = self.request_frame(self.wire_name("call_tool"), {"name": "wait", "arguments": {}})
        asked = await self.send(frame)
        wire = wire_of(self)
        await wire.response(asked.exchange, self.timeout_s)
        wire.hang_up(asked.exchange)
        await wire.ended(asked.exchange, self.timeout_s)
        return frame["id"]


@breaks("http:client:cancels")
class OnlyHangsUp(_HangsUp):
    """Hangs up, and goes on."""

    async def also(self) -> None:
        await self.hang_up()
        await self.settle()


@keeps("http:client:cancels")
class HangsUpAndSaysSo(_HangsUp):
    """Hangs up, and cancels the request then."""

    async def also(self) -> None:
        await self.cancel(await self.hang_up())


# --- streams that break ---


@breaks("http:client:resumes")
class TakesUpNothing(_Also):
    """Takes up a stream after an event that never came."""

    async def also(self) -> None:
        await self.exchange("GET", None, headers={RESUME_HEADER: "made-up"})


@keeps("http:client:resumes")
class TakesUpAStream(ClientScript):
    """Takes up a stream that broke."""


@breaks("http:client:polls")
class NeverComesBack(ClientScript):
    """Does not come back for an answer."""

    async def resume(self, ended: WireEvent) -> int:
        return 0


@keeps("http:client:polls")
class ComesBackLate(ClientScript):
    """Comes back for an answer after more time than it was told."""

    async def resume(self, ended: WireEvent) -> int:
        await asyncio.sleep(A_MOMENT_S)
        return await resumed(self, ended)


class _ComesBackByItself(ClientScript):
    """Comes back for an answer when it likes."""

    async def resume(self, ended: WireEvent) -> int:
        id = last_event_id(self.transcript, ended.exchange)
        if id is None:
            return 0
        return await wire_of(self).exchange("GET", headers={**self.headers(b""), RESUME_HEADER: id})


@breaks("http:client:retry")
class ComesBackAtOnce(_ComesBackByItself):
    """Comes back for an answer at once."""


@keeps("http:client:retry")
class ComesBackInTime(ClientScript):
    """Comes back for an answer when it was told."""


@breaks("http:client:asked-anew")
class TakesUpALostStream(_ComesBackByItself):
    """Takes up a stream at a revision that does not have that."""


@keeps("http:client:asked-anew")
class AsksAnew(ClientScript):
    """Asks again, as a new request, for what was lost."""

    async def ask_frame(
        self,
        frame: Json,
        *,
        within_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerReply:
        reply = await super().ask_frame(frame, within_s=within_s, headers=headers)
        if reply.closing is None:
            return reply
        token = {self.profile.progress_token_key: f"again-{frame['id']}"}
        params = frame["params"]
        meta = {**params["_meta"], **token}
        again = {**frame, "id": self.next_id(), "params": {**params, "_meta": meta}}
        return await super().ask_frame(again, within_s=within_s, headers=headers)


# --- sessions ---


class _WithoutHeader(WithHeaders):
    """Leaves out a header."""

    left_out: ClassVar[str] = ""
    """Attribute of the profile with its name."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {str(getattr(self.profile, self.left_out)): ""}


class _SpelledInCapitals(ClientScript):
    """Spells the names of its headers in capitals."""

    def headers(self, message: Json | list[Any] | bytes) -> dict[str, str]:
        return {name.upper(): value for name, value in super().headers(message).items()}


@breaks("http:client:session:sent")
class ForgetsItsSession(_WithoutHeader):
    """Leaves out the session once."""

    left_out = "session_header"


@keeps("http:client:session:sent")
class SessionInCapitals(_SpelledInCapitals):
    """Spells the name of the session's header in capitals."""


@breaks("http:client:session:anew")
class MournsItsSession(ClientScript):
    """Gives up when the server does not know its session."""

    def has_lost_session(self, reply: ServerReply) -> bool:
        return False


@keeps("http:client:session:anew")
class BeginsAnew(ClientScript):
    """Begins a new session after a while."""

    async def begin_anew(self) -> None:
        await asyncio.sleep(A_MOMENT_S)
        await super().begin_anew()


@breaks("http:client:session:deleted")
class LeavesItsSession(ClientScript):
    """Leaves without a word."""

    async def end_session(self) -> WireEvent | None:
        return None


@keeps("http:client:session:deleted")
class EndsItsSessionLate(ClientScript):
    """Ends its session after a last question."""

    async def end_session(self) -> WireEvent | None:
        if self.session_id is not None:
            await self.ask_frame(self.harmless_frame())
        return await super().end_session()


# --- versions ---


@breaks("http:client:version")
class NamesNoRevision(_WithoutHeader):
    """Leaves out its revision once."""

    left_out = "version_header"


@keeps("http:client:version")
class RevisionInCapitals(_SpelledInCapitals):
    """Spells the name of the revision's header in capitals."""


class _OtherRevision(WithHeaders):
    """Names another revision in the header."""

    def own_headers(self, message: Json) -> Mapping[str, str]:
        return {str(self.profile.version_header): "another revision"}


@breaks("http:client:version:negotiated")
class NamesAnother(_OtherRevision):
    """Names another revision in the header than the one that was agreed on."""


@keeps("http:client:version:negotiated")
class NamesTheAgreed(_SpelledInCapitals):
    """Names the revision that was agreed on."""


@breaks("http:client:version:matches")
class NamesTwo(_OtherRevision):
    """Names another revision in the header than in the body."""


@keeps("http:client:version:matches")
class NamesOne(_SpelledInCapitals):
    """Names one revision in header and body."""
