"""Scenarios of the base protocol: notices, batches, types of results, errors, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, is_array
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.scenarios.core.controls import REFUSES_CALLS, RefusesCalls
from mcp_gen.compat.scenarios.judgements import asks_as_in, goes_on, last_events, rejects
from mcp_gen.compat.scenarios.ready import ReadyServer
from mcp_gen.compat.scenarios.scenario import scenario, stimulus
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.reference.call import ReferenceCall

BATCHED_ID = "batched-ping"
MEANINGLESS_CODE = -32010
FUTURE_KEYS = ("io.modelcontextprotocol/future", "dev.mcp/future")


def a_bare_server_is_spoken_to(run: ClientRun, found: Found) -> None:
    initialized = run.profile.initialized
    if run.strict.ended.hung:
        raise NotTested(f"with the strict server, too, {run.strict.ended}")
    found.saw()
    expected = "the base protocol is spoken also with a server that offers nothing"
    if run.ended.hung:
        found.broken(expected, str(run.ended), *last_events(run))
    elif initialized is not None and _lacks(run, initialized.name):
        found.broken(expected, f"no {initialized.name} came", *last_events(run))


def _lacks(run: ClientRun, name: str) -> bool:
    """Return True if a notification came with the strict server, and not here."""
    return _notices(run.strict, name) and not _notices(run, name)


def _notices(run: ClientRun, name: str) -> bool:
    return any(frame.members.get("method") == name for frame in run.frames())


@scenario("base:client:supported", a_bare_server_is_spoken_to)
class OffersNothing(StagedServer):
    """Declares no capability."""

    def capabilities(self) -> Json:
        """Return none."""
        return {}


@stimulus("base:client:notifications:unanswered")
class SaysUnknownThings(ReadyServer):
    """Sends a notification that no revision has, and some that are known."""

    async def when_ready(self) -> None:
        """Send them."""
        self.send({"jsonrpc": "2.0", "method": "notifications/com.example/unknown"})
        if self.profile.handshake is not None:
            self.tell("tool_list_changed")


@stimulus("base:client:answers:id")
class AsksTheUnknown(ReadyServer):
    """Asks for something that no revision has, with a text as the id, and with a number."""

    async def when_ready(self) -> None:
        """Ask, and wait for a moment."""
        for id in ("a question", 1):
            self.send({"jsonrpc": "2.0", "id": id, "method": "com.example/unknown"})


@stimulus("transports:client:no-answers")
class AsksWithoutLeave(AsksTheUnknown):
    """Asks where servers must not: that is no reason to answer."""


def every_message_of_a_batch_counts(run: ClientRun, found: Found) -> None:
    batches = [
        one.event
        for one in run.frames()
        if is_array(one.event.message) and one.event.sender == "server"
    ]
    sent = [event for one in run.transcripts for event in one.messages("client")]
    if not batches or not any(event.number > batches[0].number for event in sent):
        raise NotTested("the client did not wait for a batch")
    found.saw()
    answers = [
        frame
        for frame in run.frames()
        if frame.event.sender == "client" and frame.members.get("id") == BATCHED_ID
    ]
    if not answers:
        expected = "a ping in a batch is answered"
        found.broken(expected, "no answer came", batches[0], *last_events(run, 1))


@scenario("base:client:batches", every_message_of_a_batch_counts)
class SendsBatches(ReadyServer):
    """Sends a ping and a notification in one batch."""

    async def when_ready(self) -> None:
        """Send the batch."""
        assert self.profile.ping is not None
        ping = {"jsonrpc": "2.0", "id": BATCHED_ID, "method": self.profile.ping.name}
        self.send([self.notification_frame("tool_list_changed", {}), ping])


@scenario(
    "base:client:result-type:unknown",
    rejects("a result of an unknown type is an error", REFUSES_CALLS),
)
class UnknownResultType(StagedServer):
    """Answers calls of tools with results of a type that nobody knows."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with another type of result."""
        if call.params.get("name") and "content" in result:
            result = {**result, "resultType": "com.example/unknown"}
        return super().result_frame(call, result)


@scenario(
    "base:client:result-type:absent",
    goes_on("a result that does not say its type is a complete one"),
)
class NoResultType(StagedServer):
    """Does not say of which type its results are, as servers of older revisions."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer without the type of the result."""
        kept = {key: value for key, value in result.items() if key != "resultType"}
        is_complete = result.get("resultType", "complete") == "complete"
        return super().result_frame(call, kept if is_complete else result)


@scenario(
    "base:client:errors:no-meaning",
    asks_as_in("an error with a code of no meaning is like any other", REFUSES_CALLS),
)
class MeaninglessErrors(RefusesCalls):
    """Refuses calls with a code into which nothing may be read."""

    def failure(self) -> Failure:
        """Return an error with such a code."""
        return Failure(MEANINGLESS_CODE, "Internal error")


@scenario(
    "base:client:meta:unknown-reserved",
    goes_on("any value is taken at a reserved key that is not of the revision"),
)
class FutureMetadata(StagedServer):
    """Sends `_meta` with reserved keys that its revision does not name."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with such keys."""
        future = dict(zip(FUTURE_KEYS, ([1, None], "later"), strict=True))
        return super().result_frame(
            call, {**result, "_meta": {**result.get("_meta", {}), **future}}
        )


@scenario(
    "base:client:identity:no-behaviour",
    asks_as_in("the name of a server makes no difference", "strict"),
)
class AnotherName(StagedServer):
    """Has another name and another version."""

    def info(self) -> Json:
        """Return them."""
        return {"name": "another server", "version": "9.9.9"}
