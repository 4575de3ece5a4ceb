"""Servers that do not answer as every server does, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, Outlet, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("base:supported")
class UnknownMethodsAsInvalid(ReferenceServer):
    """Refuses a request of an unknown method as one with invalid params."""

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method.startswith("com.example/"):
            raise Failure(self.profile.errors.invalid_params, "Invalid params")
        return await super().answer(call)


@keeps("base:supported")
class QuietAboutRubbish(ReferenceServer):
    """Ignores what is no message."""

    def receive(self, message: bytes, outlet: Outlet) -> None:
        def send(frame: Json) -> None:
            if frame.get("id") is not None or "method" in frame:
                outlet(frame)

        super().receive(message, outlet if message.startswith(b"[") else send)


@breaks("base:batches:received")
class FirstsOfBatches(ReferenceServer):
    """Answers the first request of a batch, and forgets the others."""

    def receive_batch(self, entries: list[Any], outlet: Outlet) -> None:
        self.receive_one(entries[0], outlet)


@keeps("base:batches:received")
class OneByOne(ReferenceServer):
    """Answers each request of a batch in a message of its own."""

    def receive_batch(self, entries: list[Any], outlet: Outlet) -> None:
        for entry in entries:
            self.receive_one(entry, outlet)


@breaks("ping:answered")
class ChattyPings(ReferenceServer):
    """Answers a ping with more than nothing."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if self.profile.ping is not None and call.method == self.profile.ping.name:
            result = {**result, "pong": True}
        return super().result_frame(call, result)


@keeps("ping:answered")
class PingsWithMetadata(ReferenceServer):
    """Says something of its own in the `_meta` of the answer to a ping."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if self.profile.ping is not None and call.method == self.profile.ping.name:
            result = {**result, "_meta": {"com.example/pong": True}}
        return super().result_frame(call, result)
