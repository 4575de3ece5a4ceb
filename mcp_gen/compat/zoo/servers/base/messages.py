"""Servers that break the rules of messages, and their twins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Failure, Outlet, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_wire.method import Method


@breaks("base:notifications:no-id")
class NotificationsWithIds(ReferenceServer):
    """Gives its notifications ids."""

    def notification_frame(self, name: str, params: Json) -> Json:
        return {"id": 1000, **super().notification_frame(name, params)}


@keeps("base:notifications:no-id")
class NotificationsWithTokens(ReferenceServer):
    """Names the request that a log message belongs to in its data."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        if self.logs(call, "info"):
            call.tell("logging_message", {"level": "info", "data": {"id": call.id}})
        return await super().run_count(call, arguments)


@breaks("base:frames:valid")
class NumbersAsTexts(ReferenceServer):
    """Sends the text of content as a number."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"resultType": "complete", "content": [{"type": "text", "text": 1}]}

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        if result.get("content") == [{"type": "text", "text": 1}]:
            made = super().exact(method, {**result, "content": []})
            return {**made, "content": result["content"]}
        return super().exact(method, result)


@keeps("base:frames:valid")
class NumbersInTexts(ReferenceServer):
    """Sends an empty text, and one that looks like a number."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [{"type": "text", "text": ""}, {"type": "text", "text": "1"}]}


@breaks("base:frames:named")
class UnknownMembers(ReferenceServer):
    """Gives each tool a member that no revision has."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {**result, "tools": [{**one, "favourite": True} for one in result["tools"]]}
        return super().result_frame(call, result)


@keeps("base:frames:named")
class OwnMetadata(ReferenceServer):
    """Says of its own in `_meta`, where everything may stand."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        meta = {**result.get("_meta", {}), "com.example/favourite": True}
        return super().result_frame(call, {**result, "_meta": meta})


@breaks("base:json-rpc")
class FramesWithoutVersion(ReferenceServer):
    """Leaves out the version of JSON-RPC in the answer to a list of tools."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        frame = super().result_frame(call, result)
        if "tools" in result:
            del frame["jsonrpc"]
        return frame


@keeps("base:json-rpc")
class FramesInAnotherOrder(ReferenceServer):
    """Writes the members of a message in another order, the version last."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        frame = super().result_frame(call, result)
        return {name: frame[name] for name in reversed(frame)}


class _OtherBytes(ReferenceServer):
    """Sends the text of a tool as bytes of its own."""

    ECHO = b""

    def receive_one(self, frame: Any, outlet: Outlet) -> None:
        def send(answer: Any) -> None:
            text = msgspec.json.encode(answer)
            outlet(msgspec.Raw(text.replace(b"a text of the tool", self.ECHO)))  # type: ignore[arg-type]

        is_call = self.profile.call_tool and member(frame, "method") == self.profile.call_tool.name
        super().receive_one(frame, send if is_call else outlet)

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [{"type": "text", "text": "a text of the tool"}]}


@breaks("base:utf-8")
class Latin1(_OtherBytes):
    """Sends a text in Latin-1."""

    ECHO = "für".encode("latin-1")


@keeps("base:utf-8")
class Umlauts(_OtherBytes):
    """Sends a text that is not ASCII, once as it is, and once escaped."""

    ECHO = "für \\u00fc 😀".encode()


# --- requests of the server ---


@breaks("base:requests:id-kind")
class FractionsAsIds(ReferenceServer):
    """Asks with an id that is no integer."""

    def next_id(self) -> Any:
        return super().next_id() + 0.5


@keeps("base:requests:id-kind")
class TextsAsIds(ReferenceServer):
    """Asks with ids that are strings."""

    def next_id(self) -> Any:
        return f"question-{super().next_id()}"


@breaks("base:requests:id-once")
class OneIdForAll(ReferenceServer):
    """Asks with the same id each time."""

    def next_id(self) -> Any:
        return "question"


@keeps("base:requests:id-once")
class NearlyOneId(ReferenceServer):
    """Asks with ids that differ in their kind alone, such as 1 and "1"."""

    def next_id(self) -> Any:
        number = super().next_id()
        return number // 2 + 1 if number % 2 else str(number // 2)


@breaks("base:requests:none-by-server")
class Pings(ReferenceServer):
    """Pings its client during a call."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        ping = profile_of(mcp_wire.REVISIONS[0]).ping
        assert ping is not None
        call.outlet({"jsonrpc": "2.0", "id": 1, "method": ping.name})
        return await super().run_echo(call, arguments)


@keeps("base:requests:none-by-server")
class AsksInResults(ReferenceServer):
    """Asks in results alone."""


# --- answers ---


@breaks("base:answers:id")
class TextsToNumbers(ReferenceServer):
    """Answers with a number where the id of the request was a text that looks like one."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        frame = super().result_frame(call, result)
        if isinstance(call.id, str) and call.id.isdecimal():
            frame["id"] = int(call.id)
        return frame


@keeps("base:answers:id")
class AnswersInAnyOrder(ReferenceServer):
    """Takes its time for every other answer, so that they come out of order."""

    async def answer(self, call: ReferenceCall) -> Json:
        if isinstance(call.id, int) and call.id % 2:
            await asyncio.sleep(0.002)
        return await super().answer(call)


@breaks("base:answers:result-or-error")
class ResultsWithErrors(ReferenceServer):
    """Answers the list of tools with a result and with an error that is null."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        frame = super().result_frame(call, result)
        return {**frame, "error": None} if "tools" in result else frame


@keeps("base:answers:result-or-error")
class ErrorsInResults(ReferenceServer):
    """Says in the result of a tool that it has failed."""

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        return {**await super().run_echo(call, arguments), "isError": True}


# --- notifications ---


@breaks("base:notifications:unanswered")
class AnsweredNotifications(ReferenceServer):
    """Answers a notification that it does not know with an error."""

    def receive_one(self, frame: Any, outlet: Outlet) -> None:
        name = member(frame, "method")
        if isinstance(name, str) and name not in self.profile.methods and "id" not in frame:
            outlet(self.error_frame(None, Failure(self.profile.errors.method_not_found, "What?")))
            return
        super().receive_one(frame, outlet)


@keeps("base:notifications:unanswered")
class AnswersRubbish(ReferenceServer):
    """Answers what is no message, and no notification."""


@breaks("transports:directions")
class LostAnswers(ReferenceServer):
    """Loses the answers to requests beyond the tenth at once."""

    async def run(self, call: ReferenceCall) -> None:
        if len(self.calls) <= 10:
            await super().run(call)


@keeps("transports:directions")
class SlowAnswers(ReferenceServer):
    """Answers one request after the other."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._turn = asyncio.Lock()

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method != (self.profile.discover and self.profile.discover.name):
            return await super().answer(call)
        async with self._turn:
            await asyncio.sleep(0)
            return await super().answer(call)
