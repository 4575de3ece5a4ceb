"""Servers that break the rules of log messages, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

MESSAGE: Json = {"level": "error", "data": "late"}


@breaks("logging:declared")
class UndeclaredLog(ReferenceServer):
    """Sends log messages, and does not declare it."""

    def capabilities(self) -> Json:
        return {name: one for name, one in super().capabilities().items() if name != "logging"}


@keeps("logging:declared")
class ManyLogMessages(ReferenceServer):
    """Logs data of each kind."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        kinds: tuple[Any, ...] = (None, 1, "text", [], {"logging": False})
        for data in kinds:
            if self.logs(call, "emergency"):
                call.tell("logging_message", {"level": "emergency", "data": data})
        return await super().run_count(call, arguments)


@breaks("logging:level:invalid")
class AnyLevel(ReferenceServer):
    """Takes any level."""

    async def answer(self, call: ReferenceCall) -> Json:
        try:
            return await super().answer(call)
        except Failure:
            if "level" in call.params:
                return {}
            raise


@keeps("logging:level:invalid")
class ExplainedRefusals(ReferenceServer):
    """Says more about what it refuses."""

    def error_frame(self, id: object, failure: Failure) -> Json:
        more = Failure(failure.code, failure.message, failure.data or {"levels": ["debug"]})
        return super().error_frame(id, more)


@breaks("logging:level:opted-in")
class LogForAll(ReferenceServer):
    """Logs for each call, with a level or without."""

    def logs(self, call: ReferenceCall, level: str) -> bool:
        return True


@keeps("logging:level:opted-in")
class LogOfLists(ReferenceServer):
    """Logs for each request that names a level, also for lists, down to the lowest level."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        if self.logs(call, "debug"):
            call.tell("logging_message", {"level": "debug", "data": "listed"})
        return await super().list_tools(call)


@breaks("logging:level:own-request")
class LogAfterTheEnd(ReferenceServer):
    """Logs once more after the answer."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "content" in result and self.logs(call, "error"):
            asyncio.get_running_loop().call_soon(call.tell, "logging_message", MESSAGE)
        return super().result_frame(call, result)


@keeps("logging:level:own-request")
class LogAtTheEnd(ReferenceServer):
    """Logs once more just before the answer."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "content" in result and self.logs(call, "error"):
            call.tell("logging_message", MESSAGE)
        return super().result_frame(call, result)


@breaks("logging:level:unknown")
class UnknownLevels(ReferenceServer):
    """Takes a request whose level there is none of for one without."""

    def check_level(self, call: ReferenceCall) -> None:
        """Check nothing."""

    def logs(self, call: ReferenceCall, level: str) -> bool:
        return call.meta.get(str(self.profile.log_level_key)) == "debug"


@keeps("logging:level:unknown")
class StrictLevels(ReferenceServer):
    """Refuses a level with an error that shows it."""

    def error_frame(self, id: object, failure: Failure) -> Json:
        if "level" not in failure.message:
            return super().error_frame(id, failure)
        shown = msgspec.json.encode(failure.message).decode()
        return super().error_frame(id, Failure(failure.code, shown, {"reason": "level"}))
