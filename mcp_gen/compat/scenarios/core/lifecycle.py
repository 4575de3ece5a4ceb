"""Scenarios of handshake and negotiation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.call import Failure, Unanswered
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios.judgements import goes_on, last_events
from mcp_gen.compat.scenarios.scenario import scenario, stimulus
from mcp_gen.compat.scenarios.staged import StagedServer
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import Outlet, ReferenceCall
    from mcp_gen.compat.transcript import WireFrame

UNKNOWN_VERSION = "0.9"
SLOWNESS_S = 0.1


@stimulus("lifecycle:client:quiet")
class SlowHandshake(StagedServer):
    """Answers the handshake late."""

    async def initialize(self, call: ReferenceCall) -> Json:
        """Wait, and answer."""
        await asyncio.sleep(SLOWNESS_S)
        return await super().initialize(call)


# --- a server of no known revision ---


def _sent_after_offer(run: ClientRun) -> list[WireFrame]:
    """Return what the client sent after it was offered the unknown revision."""
    frames = list(run.frames())
    for number, frame in enumerate(frames):
        if member(frame.members, "result", "protocolVersion") == UNKNOWN_VERSION:
            later = frames[number + 1 :]
            return [one for one in later if one.event.sender == "client"]
    raise NotTested("the client sent no handshake")


def _requests(frames: list[WireFrame]) -> list[WireFrame]:
    return [one for one in frames if "method" in one.members and "id" in one.members]


def the_client_does_not_go_on(run: ClientRun, found: Found) -> None:
    requests = _requests(_sent_after_offer(run))
    found.saw()
    if requests:
        expected = "the client disconnects from a server whose revision it does not speak"
        came = f"it sent {requests[0].members['method']}"
        found.broken(expected, came, requests[0].event)


def the_client_hangs_up(run: ClientRun, found: Found) -> None:
    requests = _requests(_sent_after_offer(run))
    found.saw()
    expected = "the client disconnects from a server whose revision it does not speak"
    if run.ended.hung and not requests:
        found.broken(expected, str(run.ended), *last_events(run))
    elif requests and run.revision not in _strictly_disconnecting():
        found.broken(expected, f"it sent {requests[0].members['method']}", requests[0].event)


def _strictly_disconnecting() -> tuple[str, ...]:
    # There the stronger demand tells of it.
    return requirements()["lifecycle:client:versions:must-disconnect"].revisions


@scenario("lifecycle:client:versions:must-disconnect", the_client_does_not_go_on, is_exact=False)
class OffersNothingKnown(StagedServer):
    """Offers a revision that there is not."""

    async def initialize(self, call: ReferenceCall) -> Json:
        """Answer with that revision."""
        return {**await super().initialize(call), "protocolVersion": UNKNOWN_VERSION}


@scenario("lifecycle:client:versions:disconnects", the_client_hangs_up, is_exact=False)
class OffersTheUnknown(OffersNothingKnown):
    """Offers a revision that there is not."""


# --- servers of another lifecycle ---


def _newest_handshake() -> str:
    return [one for one in mcp_wire.REVISIONS if profile_of(one).handshake][-1]


class SpeaksHandshake(StagedServer):
    """Speaks the newest revision with a handshake, and nothing else."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._other = StagedServer(_newest_handshake())
        self._is_other = False

    def connected(self, outlet: Outlet) -> None:
        """Take the way to the client for both."""
        super().connected(outlet)
        self._other.connected(outlet)

    def receive_one(self, frame: object, outlet: Outlet) -> None:
        """Pass messages on from the handshake on."""
        handshake = self._other.profile.handshake
        assert handshake is not None
        self._is_other = self._is_other or member(frame, "method") == handshake.name
        if self._is_other:
            self._other.receive_one(frame, outlet)
        else:
            super().receive_one(frame, outlet)

    async def answer(self, call: ReferenceCall) -> Json:
        """Refuse what comes without a handshake."""
        raise self.refusal()

    def refusal(self) -> Failure:
        """Return the error."""
        return Failure(self.profile.errors.internal_error, "Received a request too early")

    async def aclose(self) -> None:
        """Stop both."""
        await self._other.aclose()
        await super().aclose()


def _has_handshake(run: ClientRun) -> bool:
    name = profile_of(_newest_handshake()).handshake
    assert name is not None
    return bool(run.requests(name.name))


def _must_speak_it(run: ClientRun) -> None:
    if _newest_handshake() not in run.spoken:
        raise NotTested(f"the client was not seen to speak {_newest_handshake()}")
    if not run.chosen & {_newest_handshake(), run.revision}:
        # It may be told to speak the revision of its server, and no other.
        raise NotTested("the client was not seen to choose between revisions by itself")


def a_handshake_follows_any_error(run: ClientRun, found: Found) -> None:
    _must_speak_it(run)
    discover = run.profile.discover
    assert discover is not None
    if not run.requests(discover.name):
        raise NotTested(f"the client did not ask {discover.name}")
    found.saw()
    if not _has_handshake(run):
        expected = f"whatever error answers {discover.name}, a handshake follows"
        found.broken(expected, f"none came; {run.ended}", *last_events(run))


@scenario("lifecycle:client:fallback", a_handshake_follows_any_error, is_exact=False)
class RefusesOddly(SpeaksHandshake):
    """Answers what comes before a handshake with an error that says nothing of revisions."""


def a_listed_revision_is_taken(run: ClientRun, found: Found) -> None:
    _must_speak_it(run)
    refused = [one for one in run.frames() if _lists_revisions(one)]
    if not refused:
        raise NotTested("the client asked for nothing without a handshake")
    found.saw()
    if not _has_handshake(run):
        expected = "of the revisions that a refusal lists the client takes one that it speaks"
        came = f"it did not take {_newest_handshake()}; {run.ended}"
        found.broken(expected, came, refused[0].event)


def _lists_revisions(frame: WireFrame) -> bool:
    return is_object(member(frame.members, "error", "data"))


@scenario("lifecycle:client:versions:selected", a_listed_revision_is_taken, is_exact=False)
class ListsRevisions(SpeaksHandshake):
    """Answers what comes before a handshake with the list of what it speaks."""

    def refusal(self) -> Failure:
        """Return the error with the list."""
        code = self.profile.errors.unsupported_protocol_version
        assert code is not None
        listed = {"supported": [_newest_handshake()], "requested": self.profile.revision}
        return Failure(code, "Unsupported protocol version", listed)


# --- extensions and time limits ---


@scenario(
    "lifecycle:client:extensions:one-sided",
    goes_on("with a server that has an unknown extension the core protocol is spoken"),
)
class UnknownExtension(StagedServer):
    """Declares an extension that nobody knows."""

    def capabilities(self) -> Json:
        """Return the capabilities with the extension."""
        return {**super().capabilities(), "extensions": {"com.example/unknown": {"needed": True}}}


def what_is_given_up_is_cancelled(run: ClientRun, found: Found) -> None:
    lists = [one for one in run.requests(_list_tools(run)) if one.event.kind == "message"]
    if not lists:
        raise NotTested("the client did not list the tools")
    if run.ended.hung:
        raise NotTested(f"{run.ended}: its own time limit may be longer")
    if run.transcripts[0].transport == "http" and run.profile.stream_drop_cancels:
        raise NotTested("over HTTP a request is given up by closing its stream")
    found.saw()
    cancelled = run.profile.cancelled
    assert cancelled is not None
    told = [
        member(one.members, "params", "requestId")
        for one in run.frames()
        if one.members.get("method") == cancelled.name
    ]
    if not any(one.members["id"] in told for one in lists):
        expected = "a request that is not answered in time is cancelled"
        came = f"the client gave it up, and did not say so; {run.ended}"
        found.broken(expected, came, lists[0].event, *last_events(run, 1))


def _list_tools(run: ClientRun) -> str:
    return method_of(run.profile, "list_tools").name


@scenario("lifecycle:client:timeouts:sent", what_is_given_up_is_cancelled)
class NeverLists(StagedServer):
    """Never answers when it is asked for its tools."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        """Return nothing."""
        raise Unanswered
