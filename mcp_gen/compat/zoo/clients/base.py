"""Clients that break the base protocol, and their twins: frames, ids, answers, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.transcript import WireEvent


@breaks("base:client:frames:valid")
class NumbersAsNames(ClientScript):
    """Completes the name of a prompt that is a number."""

    async def complete(self) -> None:
        about = {"type": "ref/prompt", "name": 1}
        await self.ask("complete", {"ref": about, "argument": {"name": "name", "value": "A"}})


@keeps("base:client:frames:valid")
class NumbersInNames(ClientScript):
    """Completes an empty text of a prompt that is there."""

    async def complete(self) -> None:
        about = {"type": "ref/prompt", "name": "greet"}
        await self.ask("complete", {"ref": about, "argument": {"name": "name", "value": ""}})


@breaks("base:client:frames:named")
class UnknownParams(ClientScript):
    """Gives each call of a tool a member that no revision has."""

    def params(self, params: Json | None, meta: Json) -> Json:
        made = super().params(params, meta)
        return {**made, "urgent": True} if "arguments" in made else made


@keeps("base:client:frames:named")
class OwnParamsMetadata(ClientScript):
    """Says of its own in `_meta`, where everything may stand."""

    def request_meta(self) -> Json:
        return {**super().request_meta(), "com.example/urgent": True}


@breaks("base:client:json-rpc")
class OlderJsonRpc(ClientScript):
    """Pings with the version of JSON-RPC as a number."""

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("complete"), _completion())
        await self.ask_frame({**frame, "jsonrpc": 2.0})


@keeps("base:client:json-rpc")
class OtherOrder(ClientScript):
    """Has the members of a request in another order."""

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("complete"), _completion())
        await self.ask_frame(dict(reversed(frame.items())))


def _completion(value: str = "A") -> Json:
    about = {"type": "ref/prompt", "name": "greet"}
    return {"ref": about, "argument": {"name": "name", "value": value}}


class _Accented(ClientScript):
    """Completes a text that is not ASCII."""

    encoding = "utf-8"

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("complete"), _completion("\u00c5sa"))
        text = msgspec.json.encode(frame).decode()
        await self.reply_to(await self.send(text.encode(self.encoding)), within_s=0.1)


@breaks("base:client:utf-8")
class Latin(_Accented):
    """Sends a text in another encoding."""

    encoding = "latin-1"


@keeps("base:client:utf-8")
class Unicode(_Accented):
    """Sends a text that is not ASCII."""


# --- requests and notifications ---


class _OtherIds(ClientScript):
    """Completes a text with another id."""

    other_id: Any = None

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("complete"), _completion(), id=self.other_id)
        await self.ask_frame(frame, within_s=0.1)


@breaks("base:client:requests:id-kind")
class NullIds(_OtherIds):
    """Has null as an id."""


@keeps("base:client:requests:id-kind")
class OddIds(_OtherIds):
    """Has an empty text as an id."""

    other_id = ""


@breaks("base:client:requests:id-once")
class IdsAgain(_OtherIds):
    """Uses the id of its first request again."""

    other_id = 1


@keeps("base:client:requests:id-once")
class IdsOfOtherKinds(_OtherIds):
    """Uses the id of its first request as a text."""

    other_id = "1"


class _TwoAtOnce(ClientScript):
    """Completes a text twice, without waiting in between."""

    second_id: Any = "same"

    async def complete(self) -> None:
        method = self.wire_name("complete")
        frames = [
            self.request_frame(method, _completion(), id=id) for id in ("same", self.second_id)
        ]
        asked = [await self.send(frame) for frame in frames]
        for one in asked:
            await self.reply_to(one)


@breaks("base:client:requests:id-open")
class OneIdAtOnce(_TwoAtOnce):
    """Has two open requests with one id."""


@keeps("base:client:requests:id-open")
class OneIdInTurn(_OtherIds):
    """Uses an id again once it was answered."""

    other_id = 1


@breaks("base:client:notifications:no-id")
class NoticesWithIds(ClientScript):
    """Gives a cancellation an id."""

    async def cancel(self, id: Any) -> None:
        frame = self.notification_frame(self.wire_name("cancelled"), {"requestId": id})
        await self.send({**frame, "id": "an id"})
        await self.settle()


@keeps("base:client:notifications:no-id")
class NoticesWithReasons(ClientScript):
    """Gives a cancellation an id in its metadata."""

    async def cancel(self, id: Any) -> None:
        await self.tell("cancelled", {"requestId": id}, meta={"com.example/id": 7})
        await self.settle()


# --- answers ---


@breaks("base:client:answers:id")
class AnswersWithTexts(ClientScript):
    """Answers with its id as a text."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        return {**frame, "id": f"{frame['id']}"} if asked.get("method") in _UNKNOWN else frame


@keeps("base:client:answers:id")
class AnswersWithIdsLast(ClientScript):
    """Answers with the id at the end."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        return {**{key: value for key, value in frame.items() if key != "id"}, "id": frame["id"]}


_UNKNOWN = ("com.example/unknown",)


@breaks("base:client:answers:shape")
class AnswersWithoutMessages(ClientScript):
    """Leaves out the message of its errors."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        if "error" in frame:
            return {**frame, "error": {"code": frame["error"]["code"]}}
        return frame


@keeps("base:client:answers:shape")
class AnswersWithData(ClientScript):
    """Gives errors an empty message, and data."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        if "error" in frame:
            return {**frame, "error": {**frame["error"], "message": "", "data": None}}
        return frame


@breaks("base:client:notifications:unanswered")
class AnswersNotices(ClientScript):
    """Answers notifications with an error."""

    def notified(self, frame: Json) -> None:
        error = {"code": self.profile.errors.method_not_found, "message": "Method not found"}
        self.later(self.send({"jsonrpc": "2.0", "error": error}))


@keeps("base:client:notifications:unanswered")
class AsksAfterNotices(ClientScript):
    """Asks for the tools when a notification comes."""

    def notified(self, frame: Json) -> None:
        self.later(self.ask("list_tools"))


@breaks("transports:client:no-answers")
class AnswersAll(ClientScript):
    """Answers questions also where there are none."""

    async def _answer(self, asked: Json) -> None:
        await self.send(self.answer_frame(asked))


@keeps("transports:client:no-answers")
class AsksAfterQuestions(ClientScript):
    """Asks the server itself when it is asked."""

    async def _answer(self, asked: Json) -> None:
        assert self.profile.discover is not None
        await self.ask(self.profile.discover)


# --- metadata ---


@breaks("base:client:meta:key-names")
class OddMetadataKeys(ClientScript):
    """Has a key whose prefix begins with a digit."""

    def request_meta(self) -> Json:
        return {**super().request_meta(), "9com.example/key": 1}


@keeps("base:client:meta:key-names")
class RareKeys(ClientScript):
    """Has keys of rare but right forms."""

    def request_meta(self) -> Json:
        return {**super().request_meta(), "com.e-1.x/": 1, "a.b_c-9": 2, "x/0": 3}


@breaks("base:client:metadata:required")
class NoRevision(ClientScript):
    """Completes a text without a word of the revision."""

    async def complete(self) -> None:
        frame = self.request_frame(self.wire_name("complete"), _completion())
        key = self.profile.protocol_version_key
        meta = {one: value for one, value in frame["params"]["_meta"].items() if one != key}
        await self.ask_frame({**frame, "params": {**frame["params"], "_meta": meta}})


@keeps("base:client:metadata:required")
class NoExperiments(ClientScript):
    """Declares an empty map of experiments, too."""

    def request_meta(self) -> Json:
        key = self.profile.client_capabilities_key
        declared: Json = {**self.capabilities, "experimental": {}}
        return {**super().request_meta(), **({key: declared} if key else {})}


@breaks("base:client:metadata:client-info")
class NamelessClient(ClientScript):
    """Does not say what it is."""

    def request_meta(self) -> Json:
        key = self.profile.client_info_key
        return {one: value for one, value in super().request_meta().items() if one != key}


@keeps("base:client:metadata:client-info")
class HardlyNamed(ClientScript):
    """Has an empty name."""

    def info(self) -> Json:
        return {"name": "", "version": ""}


# --- batches ---


@breaks("base:client:batches")
class IgnoresBatches(ClientScript):
    """Takes no arrays."""

    def _heard(self, event: WireEvent) -> None:
        if not isinstance(event.message, list):
            super()._heard(event)


@keeps("base:client:batches")
class AnswersInBatches(ClientScript):
    """Answers in a batch."""

    async def send(
        self, message: Json | list[Any] | bytes, *, headers: Mapping[str, str] | None = None
    ) -> WireEvent:
        if is_object(message) and "result" in message and member(message, "method") is None:
            return await super().send([message], headers=headers)
        return await super().send(message, headers=headers)
