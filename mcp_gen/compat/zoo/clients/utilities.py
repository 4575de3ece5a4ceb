"""Clients that break the rules of ping, progress, cancellation and lists, and their twins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, member, objects
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.reference.client_script import ARGUMENTS, ClientScript
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply

# --- ping ---


class _Talkative(Answers):
    def ping(self, params: Json) -> Json:
        return {"status": "well"}


class _Marked(Answers):
    def ping(self, params: Json) -> Json:
        return {"_meta": {"com.example/status": "well"}}


@breaks("ping:client:answered")
class SaysHowItIs(ClientScript):
    """Answers a ping with more than nothing."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.answers = _Talkative()


@keeps("ping:client:answered")
class MarksPings(ClientScript):
    """Answers a ping with nothing but metadata."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.answers = _Marked()


# --- progress ---


@breaks("progress:client:token:kind")
class OddTokens(ClientScript):
    """Has true as a token."""

    def token(self, number: int) -> Any:
        return True


@keeps("progress:client:token:kind")
class ZeroTokens(ClientScript):
    """Has zero as a token."""

    def token(self, number: int) -> Any:
        return 0


class _CallsAtOnce(ClientScript):
    """Calls a tool twice at one time."""

    async def use_tools(self) -> None:
        """Call, and do what else there is."""
        key = self.profile.progress_token_key
        params: Json = {"name": "count", "arguments": ARGUMENTS["count"]}
        metas = [{key: self.twin_token(number)} for number in (1, 2)]
        await asyncio.gather(*(self.asked("call_tool", params, meta=meta) for meta in metas))
        await super().use_tools()

    def twin_token(self, number: int) -> Any:
        """Return the token of one of the two calls."""
        raise NotImplementedError


@breaks("progress:client:token:unique")
class OneToken(_CallsAtOnce):
    """Has one token for two open calls."""

    def twin_token(self, number: int) -> Any:
        return "token"


@keeps("progress:client:token:unique")
class TokensOfTwoKinds(_CallsAtOnce):
    """Has a number and the same as a text as tokens."""

    def twin_token(self, number: int) -> Any:
        return 1 if number == 1 else "1"


# --- cancellation ---


@breaks("cancellation:client:own")
class CancelsTheUnasked(ClientScript):
    """Cancels a request that it has not made."""

    async def cancel(self, id: Any) -> None:
        await self.tell("cancelled", {"requestId": f"not {id}"})
        await super().cancel(id)


@keeps("cancellation:client:own")
class RepeatsCancellations(ClientScript):
    """Cancels a request, and again."""

    async def cancel(self, id: Any) -> None:
        await self.tell("cancelled", {"requestId": id})
        await super().cancel(id)


@breaks("cancellation:client:notification")
class CancelsWithoutIds(ClientScript):
    """Cancels without a word of what."""

    async def cancel(self, id: Any) -> None:
        await self.tell("cancelled", {"reason": f"no more need of {id}"})


@keeps("cancellation:client:notification")
class CancelsWithoutReasons(ClientScript):
    """Cancels without a reason."""

    async def cancel(self, id: Any) -> None:
        await self.tell("cancelled", {"requestId": id})


@breaks("cancellation:client:sent")
class GivesUpSilently(ClientScript):
    """Gives up a call without a word."""

    async def cancel(self, id: Any) -> None:
        pass


@keeps("cancellation:client:sent")
class CancelsAtTheEnd(ClientScript):
    """Cancels a call that it has given up when it leaves."""

    given_up: Any = None

    async def cancel(self, id: Any) -> None:
        self.given_up = id

    async def leave(self) -> None:
        if self.given_up is not None:
            await self.tell("cancelled", {"requestId": self.given_up})
        await super().leave()


@breaks("cancellation:client:late-answer")
class KnowsItsAnswers(ClientScript):
    """Fails at an answer to what it has cancelled."""

    async def cancel(self, id: Any) -> None:
        await super().cancel(id)
        for _, frame in self.transcript.frames("server"):
            if frame.get("id") == id and "method" not in frame:
                self.fault = "an answer to nothing"


@keeps("cancellation:client:late-answer")
class CountsItsAnswers(ClientScript):
    """Counts answers, also those to what it has cancelled."""

    async def cancel(self, id: Any) -> None:
        await super().cancel(id)
        assert sum("method" not in frame for _, frame in self.transcript.frames("server"))


class _Cancelled(ClientScript):
    """Fails at some cancellations of the server."""

    def notified(self, frame: Json) -> None:
        """Fail, if it is one of them."""
        cancelled = self.profile.cancelled
        if cancelled is not None and frame.get("method") == cancelled.name:
            id = member(frame, "params", "requestId")
            if self.is_fault(id):
                self.fault = f"the server cancels {id}"

    def is_fault(self, id: Any) -> bool:
        """Return True if the cancellation of a request is taken for a fault."""
        raise NotImplementedError

    def was_asked(self, id: Any) -> bool:
        """Return True if the server has made the request."""
        asked = [one for _, one in self.transcript.frames("server") if "method" in one]
        return id is not None and any(one.get("id") == id for one in asked)


@breaks("cancellation:client:received:race")
class CannotForget(_Cancelled):
    """Fails at a cancellation of what it has answered."""

    def is_fault(self, id: Any) -> bool:
        return self.was_asked(id)


@keeps("cancellation:client:received:race")
class ForgetsAnswers(_Cancelled):
    """Looks for what is cancelled, and finds that it was answered."""

    def is_fault(self, id: Any) -> bool:
        assert id is None or isinstance(id, int | str)
        return False


@breaks("cancellation:client:received:invalid")
class KnowsItsQuestions(_Cancelled):
    """Fails at a cancellation of what it was not asked."""

    def is_fault(self, id: Any) -> bool:
        return not self.was_asked(id)


@keeps("cancellation:client:received:invalid")
class ForgetsQuestions(_Cancelled):
    """Looks for what is cancelled, and finds nothing."""

    def is_fault(self, id: Any) -> bool:
        return self.was_asked(id) and id == "unknown"


# --- lists ---


class _Walking(ClientScript):
    """Walks the lists of some members in its own way."""

    member = "tools"

    async def walk(self, name: str, member: str) -> list[Json]:
        """Return the items."""
        if member != self.member:
            return await super().walk(name, member)
        items: list[Json] = []
        cursor: Any = None
        while True:
            page = await self.asked(name, {} if cursor is None else {"cursor": cursor})
            items += objects(page.get(member))
            cursor = page.get("nextCursor")
            if self.is_last(page, member):
                return items
            cursor = self.sent(cursor)

    def is_last(self, page: Json, member: str) -> bool:
        """Return True if no page is asked for after one."""
        return page.get("nextCursor") is None

    def sent(self, cursor: Any) -> Any:
        """Return the cursor that is sent for one that came."""
        return cursor


@breaks("pagination:client:page-size")
class KnowsThePageSize(_Walking):
    """Takes a page of fewer items than four for the last."""

    def is_last(self, page: Json, member: str) -> bool:
        return len(page[member]) < 4 or super().is_last(page, member)


@keeps("pagination:client:page-size")
class CountsItems(_Walking):
    """Takes a page without items for the last, if it has no cursor."""

    def is_last(self, page: Json, member: str) -> bool:
        return not page[member] if "nextCursor" in page else True


@breaks("pagination:client:both")
class NeedsPages(ClientScript):
    """Wants the tools in pages."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.pages = 0

    def result_of(self, name: str, reply: ServerReply) -> Json:
        result = super().result_of(name, reply)
        self.pages += name == "list_tools"
        if name == "call_tool" and self.pages == 1:
            self.fault = "there is one page"
        return result


@keeps("pagination:client:both")
class WantsNoPages(_Walking):
    """Takes a cursor of null for none."""

    def is_last(self, page: Json, member: str) -> bool:
        return page.get("nextCursor", None) is None


@breaks("pagination:client:opaque")
class TrimsCursors(_Walking):
    """Takes the white space off a cursor."""

    def sent(self, cursor: Any) -> Any:
        return cursor.strip()


@keeps("pagination:client:opaque")
class WalksTwice(_Walking):
    """Walks a list twice, with the same cursors."""

    async def walk(self, name: str, member: str) -> list[Json]:
        await super().walk(name, member)
        return await super().walk(name, member)


@breaks("pagination:client:empty-cursor")
class TakesEmptyForNone(_Walking):
    """Takes an empty cursor for none."""

    def is_last(self, page: Json, member: str) -> bool:
        return not page.get("nextCursor")


@keeps("pagination:client:empty-cursor")
class TakesNullForNone(_Walking):
    """Takes a cursor that is not there for none."""

    def is_last(self, page: Json, member: str) -> bool:
        return "nextCursor" not in page


@breaks("prompts:client:pages")
class FirstPrompts(_Walking):
    """Takes the first page of prompts for all."""

    member = "prompts"

    def is_last(self, page: Json, member: str) -> bool:
        return True


@keeps("prompts:client:pages")
class AllPrompts(_Walking):
    """Walks the list of prompts twice."""

    async def walk(self, name: str, member: str) -> list[Json]:
        await super().walk(name, member)
        return await super().walk(name, member)
