"""Servers that break the rules of cancellation, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall, Unanswered
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

STEP_S = 0.01


class Fragile(ReferenceServer):
    """Lists nothing any more once it has lost count."""

    is_lost = False

    async def answer(self, call: ReferenceCall) -> Json:
        if self.is_lost and call.method.endswith("list"):
            raise Failure(self.profile.errors.internal_error, "Internal error")
        return await super().answer(call)


class CancelsQuestions(Fragile):
    """Cancels its last question when a call is cancelled."""

    def cancel(self, id: Any) -> None:
        if self._asked:
            self.tell("cancelled", {"requestId": self._last_id})
        super().cancel(id)


@breaks("cancellation:sent:own")
class CancelsTheCall(ReferenceServer):
    """Cancels the call of the client."""

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        call.tell("cancelled", {"requestId": call.id, "reason": "it failed"})
        return await super().run_fail(call, arguments)


@keeps("cancellation:sent:own")
class CancelsAtOnce(ReferenceServer):
    """Asks for the roots, and cancels its question at once."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        asking = asyncio.get_running_loop().create_task(super().run_ask_roots(call, arguments))
        await asyncio.sleep(0)
        asking.cancel()
        if self._asked:
            call.tell("cancelled", {"requestId": self._last_id})
        return await super().run_echo(call, {"text": "no roots"})


@breaks("cancellation:sent:late-answer")
class LostByLateAnswers(CancelsQuestions):
    """Is lost when an answer comes to a question of a cancelled call."""

    def receive_answer(self, frame: Json) -> None:
        waiting = self._asked.get(str(frame.get("id")))
        self.is_lost = waiting is not None and waiting.done()
        super().receive_answer(frame)


@keeps("cancellation:sent:late-answer")
class CancelsTwice(CancelsQuestions):
    """Cancels a question twice."""

    def cancel(self, id: Any) -> None:
        if self._asked:
            self.tell("cancelled", {"requestId": self._last_id, "reason": "the first time"})
        super().cancel(id)


@breaks("cancellation:sent:listening-only")
class CancelsWhatFailed(ReferenceServer):
    """Cancels a call of the client that failed."""

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        call.tell("cancelled", {"requestId": call.id})
        return await super().run_fail(call, arguments)


@keeps("cancellation:sent:listening-only")
class TellsOfCancellation(ReferenceServer):
    """Says in the log that a call failed, in the words of a cancellation."""

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        if self.logs(call, "notice"):
            call.tell("logging_message", {"level": "notice", "data": {"requestId": call.id}})
        return await super().run_fail(call, arguments)


@breaks("cancellation:received:unanswered")
class AnswersTheCancelled(ReferenceServer):
    """Answers a cancelled request with an error."""

    def cancel(self, id: Any) -> None:
        task = self.calls.get(str(id))
        is_open = task is not None and not task.done()
        super().cancel(id)
        if is_open:
            self._to_client(self.error_frame(id, Failure(0, "Request cancelled")))


@keeps("cancellation:received:unanswered")
class TidiesUpSlowly(ReferenceServer):
    """Takes a moment to end a cancelled request."""

    async def run_wait(self, call: ReferenceCall, arguments: Json) -> Json:
        try:
            return await super().run_wait(call, arguments)
        finally:
            await asyncio.sleep(STEP_S)


class Working(ReferenceServer):
    """Reports progress while it waits."""

    async def run_wait(self, call: ReferenceCall, arguments: Json) -> Json:
        for step in range(100):
            self.report_progress(call, {"progress": step})
            await asyncio.sleep(STEP_S)
        raise Unanswered


class WorkingOn(Working):
    """Works on what is cancelled, and just does not answer."""

    def cancel(self, id: Any) -> None:
        pass


@breaks("cancellation:received:stops")
class GoesOn(WorkingOn):
    """Goes on with a cancelled request, and just does not answer."""


@keeps("cancellation:received:stops")
class StopsAtOnce(Working):
    """Stops in the middle of its work."""


@breaks("cancellation:received:silent")
class KeepsTalking(WorkingOn):
    """Reports progress of a cancelled request."""


@keeps("cancellation:received:silent")
class FallsSilent(Working):
    """Reports progress until the request is cancelled."""


@breaks("cancellation:received:race")
class LostByLateCancellations(Fragile):
    """Is lost when a request is cancelled that it has answered."""

    def cancel(self, id: Any) -> None:
        task = self.calls.get(str(id))
        self.is_lost = isinstance(id, int) and id < 1000 and (task is None or task.done())
        super().cancel(id)


@keeps("cancellation:received:race")
class ForgetsNothing(ReferenceServer):
    """Cancels again what was cancelled before."""

    def cancel(self, id: Any) -> None:
        super().cancel(id)
        super().cancel(id)


@breaks("cancellation:received:invalid")
class LostByUnknownIds(Fragile):
    """Is lost when a request is cancelled of which it does not know the number."""

    def cancel(self, id: Any) -> None:
        self.is_lost = isinstance(id, int) and id > 1000
        super().cancel(id)


@keeps("cancellation:received:invalid")
class TellsOfUnknownIds(ReferenceServer):
    """Says in the log that it knows no such request."""

    def cancel(self, id: Any) -> None:
        if str(id) not in self.calls and self.profile.log_level_key is None:
            self.tell("logging_message", {"level": "debug", "data": "no such request"})
        super().cancel(id)
