"""Scenarios of ping, cancellation and pagination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.feature_handlers import PAGE_ITEMS
from mcp_gen.compat.scenarios.judgements import goes_on, last_events, must_end_well
from mcp_gen.compat.scenarios.ready import ReadyServer
from mcp_gen.compat.scenarios.scenario import scenario, stimulus
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.checks.check import Judge
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

# --- ping and cancellation ---


class _Pinging(ReadyServer):
    """Can ping its client."""

    async def ping_client(self) -> None:
        """Ping, and wait for the answer."""
        assert self.profile.ping is not None
        await self.ask({"method": self.profile.ping.name})


@stimulus("ping:client:answered")
class PingsItsClient(_Pinging):
    """Pings its client."""

    async def when_ready(self) -> None:
        """Ping."""
        await self.ping_client()


@scenario(
    "cancellation:client:received:race",
    goes_on("a cancellation that comes after the answer disturbs nothing"),
)
class CancelsTooLate(_Pinging):
    """Cancels a ping that was answered."""

    async def when_ready(self) -> None:
        """Ping, and cancel it then."""
        await self.ping_client()
        self.tell("cancelled", {"requestId": self._last_id, "reason": "too late"})


@scenario(
    "cancellation:client:received:invalid",
    goes_on("a cancellation of nothing, or one that is malformed, is ignored"),
)
class CancelsNothing(ReadyServer):
    """Cancels what it has not asked, and cancels without a word of what."""

    async def when_ready(self) -> None:
        """Send both."""
        cancelled = self.profile.cancelled
        assert cancelled is not None
        frame = {"jsonrpc": "2.0", "method": cancelled.name}
        self.send({**frame, "params": {"requestId": "unknown"}})
        self.send({**frame, "params": {"reason": "no request"}})


def _has_cancelled(run: ClientRun) -> bool:
    cancelled = run.profile.cancelled
    return any(
        cancelled is not None and one.members.get("method") == cancelled.name
        for one in run.frames()
        if one.event.sender == "client"
    )


@scenario(
    "cancellation:client:late-answer",
    goes_on("an answer that comes after the cancellation is ignored", given=_has_cancelled),
)
class AnswersTooLate(StagedServer):
    """Answers a call that is cancelled."""

    def cancel(self, id: object) -> None:
        """Stop working, and answer all the same."""
        super().cancel(id)
        text = {"type": "text", "text": "too late"}
        method = self.profile.call_tool
        assert method is not None
        result = self.exact(method, {"content": [text]})
        self._to_client({"jsonrpc": "2.0", "id": id, "result": result})


# --- pagination ---


def _walked(run: ClientRun, name: str) -> bool:
    """Return True if the client asked for the pages of a list until there were no more."""
    method = method_of(run.profile, name).name
    ids = [one.members["id"] for one in run.requests(method)]
    pages = [
        one.members["result"]
        for one in run.frames()
        if one.event.sender == "server" and one.members.get("id") in ids and "result" in one.members
    ]
    return len(pages) > 1 and "nextCursor" not in pages[-1]


def walks(expected: str, name: str) -> Judge:
    """Return a judge: a list is walked to its end, if the tools of the strict server were."""

    def judge(run: ClientRun, found: Found) -> None:
        must_end_well(run)
        if not _walked(run.strict, "list_tools"):
            raise NotTested("the client walks no lists")
        if not run.requests(method_of(run.profile, name).name):
            raise NotTested("the client did not ask for the list")
        found.saw()
        if not _walked(run, name):
            came = f"it did not ask for all pages; {run.ended}"
            found.broken(expected, came, *last_events(run))

    return judge


@scenario(
    "pagination:client:page-size",
    walks("a list is walked to its end, whatever the size of its pages", "list_tools"),
)
class OddPages(StagedServer):
    """Has pages of one item, and then of all others."""

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return one page."""
        cursor = call.params.get("cursor")
        if cursor not in (None, "second", "rest"):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        if cursor is None:
            return {member: items[:1], **({"nextCursor": "second"} if items[1:] else {})}
        if cursor == "second":
            return {member: items[1:2], **({"nextCursor": "rest"} if items[2:] else {})}
        return {member: items[2:]}


@scenario("pagination:client:both", goes_on("a list in one piece is read like one in pages"))
class NoPages(StagedServer):
    """Lists everything at once."""

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return all items."""
        if "cursor" in call.params:
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        return {member: items}


@stimulus("pagination:client:opaque")
class OddCursors(StagedServer):
    """Has cursors that look like something else."""

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return a page with such a cursor."""
        cursor = call.params.get("cursor", self.cursor(0))
        known = {self.cursor(start): start for start in range(0, len(items), PAGE_ITEMS)}
        if items and cursor not in known:
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        start = known.get(cursor, 0)
        end = start + PAGE_ITEMS
        more = {"nextCursor": self.cursor(end)} if end < len(items) else {}
        return {member: items[start:end], **more}

    def cursor(self, start: int) -> str:
        """Return the cursor of a page."""
        return f' {{"page": {start:03}}}/+=%20\u00e9 '


def an_empty_cursor_is_one(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    if not _walked(run.strict, "list_tools"):
        raise NotTested("the client walks no lists")
    found.saw()
    method = method_of(run.profile, "list_tools").name
    cursors = [member(one.members, "params", "cursor") for one in run.requests(method)]
    if "" not in cursors:
        expected = "an empty cursor is one: the list goes on there"
        found.broken(expected, "no second page was asked for", *last_events(run))


@scenario("pagination:client:empty-cursor", an_empty_cursor_is_one)
class EmptyCursor(OddCursors):
    """Has an empty cursor for the second page."""

    def cursor(self, start: int) -> str:
        """Return the cursor of a page."""
        return "" if start == PAGE_ITEMS else str(start)
