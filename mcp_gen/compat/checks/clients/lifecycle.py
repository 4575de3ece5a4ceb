"""Checks of clients: handshake, negotiation, what was negotiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import judged, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.views.conversation import (
    conversation,
    is_answer,
    is_foreign,
    is_meta_key,
    is_request,
    methods_of_any,
)
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent

NO_HANDSHAKE = "there was no handshake"


class _Handshake:
    """Handshake of one connection: the first request for it, and its answer."""

    def __init__(self, transcript: Transcript) -> None:
        profile = profile_of(transcript.revision)
        self.asked: WireEvent | None = None
        self.id: Any = None
        self.params: Any = None
        self.answer: WireEvent | None = None
        self.result: Json = {}
        self.before: list[tuple[WireEvent, Json]] = []
        """Messages of the client before it, without pings."""
        self.between: list[tuple[WireEvent, Json]] = []
        """Requests of the client before its answer, without pings."""
        self.after: list[tuple[WireEvent, Json]] = []
        """Messages of the client after its answer, without pings and answers."""
        assert profile.handshake is not None
        ping = profile.ping.name if profile.ping else None
        for event, frame in conversation(transcript):
            if event.sender == "client":
                if frame.get("method") == ping or is_answer(frame):
                    continue
                if self.asked is None and frame.get("method") == profile.handshake.name:
                    self.asked, self.params = event, frame.get("params")
                    self.id = frame.get("id")
                elif self.asked is None:
                    self.before.append((event, frame))
                elif self.answer is not None:
                    self.after.append((event, frame))
                elif is_request(frame):
                    self.between.append((event, frame))
            elif self.asked is None or self.answer is not None or not is_answer(frame):
                continue
            elif frame.get("id") == self.id:
                self.answer = event
                result = frame.get("result")
                self.result = result if is_object(result) else {}

    @property
    def version(self) -> Any:
        """The revision that the client asked for."""
        return member(self.params, "protocolVersion")

    @property
    def offered(self) -> Any:
        """The revision that the server offered."""
        return self.result.get("protocolVersion")


@rule("lifecycle:client:initialize", unseen="the client sent nothing", at_opening=True)
def a_session_begins_with_the_handshake(transcript: Transcript, found: Found) -> None:
    opening = _Handshake(transcript)
    if opening.asked is None and not opening.before:
        return
    found.saw()
    if opening.before:
        event, frame = opening.before[0]
        came = f"it was {frame.get('method')}"
        found.broken("the first message of a client is the handshake", came, event)
        return
    assert opening.asked is not None
    for name, kind in (("protocolVersion", str), ("capabilities", dict), ("clientInfo", dict)):
        if not isinstance(member(opening.params, name), kind):
            expected = f"the handshake has `{name}`"
            found.broken(expected, "it has not", opening.asked, where="$.params")


@rule("lifecycle:client:initialized", unseen="nothing followed the handshake")
def the_server_is_told_that_the_client_is_ready(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    opening = _Handshake(transcript)
    if opening.answer is None or opening.offered != transcript.revision or not opening.after:
        return
    found.saw()
    event, frame = opening.after[0]
    assert profile.initialized is not None
    if frame.get("method") != profile.initialized.name and is_request(frame):
        expected = f"the handshake is followed by {profile.initialized.name}"
        found.broken(expected, f"it was {frame.get('method')}", opening.answer, event)


@rule("lifecycle:client:quiet", unseen=NO_HANDSHAKE)
def the_client_waits_for_the_handshake(transcript: Transcript, found: Found) -> None:
    opening = _Handshake(transcript)
    if opening.asked is None:
        return
    found.saw()
    for event, frame in opening.between[:1]:
        expected = "before the handshake is answered there are no requests but pings"
        found.broken(expected, f"{frame.get('method')} came", opening.asked, event)


@rule("lifecycle:client:not-in-batch", unseen=NO_HANDSHAKE)
def the_handshake_is_in_no_batch(transcript: Transcript, found: Found) -> None:
    handshake = profile_of(transcript.revision).handshake
    assert handshake is not None
    for event in transcript.messages("client"):
        is_batch = is_array(event.message)
        for entry in objects(event.message if is_batch else [event.message]):
            if entry.get("method") == handshake.name:
                found.saw()
                if is_batch:
                    found.broken("the handshake is a message of its own", "a batch", event)


def the_client_asks_for_what_it_speaks(run: ClientRun, found: Found) -> None:
    for transcript in run.transcripts:
        opening = _Handshake(transcript)
        if opening.asked is None or opening.answer is None or opening.version != run.revision:
            continue
        found.saw()
        closed = [event for event in transcript.events if event.kind == "closed"]
        if closed and not opening.after:
            expected = f"the client speaks {opening.version}, which it asked for"
            came = "it disconnected as soon as it was offered"
            found.broken(expected, came, opening.asked, opening.answer, closed[0])
    if not found.has_seen:
        raise NotTested(f"the client did not ask for {run.revision}")


judged("lifecycle:client:versions:supported", the_client_asks_for_what_it_speaks)


@rule("lifecycle:client:versions:latest", unseen=NO_HANDSHAKE)
def the_client_asks_for_its_newest_revision(transcript: Transcript, found: Found) -> None:
    opening = _Handshake(transcript)
    if opening.asked is None or not isinstance(opening.version, str) or not opening.after:
        return
    found.saw()
    if opening.version < transcript.revision and opening.offered == transcript.revision:
        expected = "the handshake asks for the newest revision that the client speaks"
        came = f"it asked for {opening.version}, and went on with {transcript.revision}"
        event, _ = opening.after[0]
        found.broken(expected, came, opening.asked, event)


@rule("lifecycle:client:operation", unseen="nothing followed the handshake")
def the_client_keeps_to_what_was_negotiated(transcript: Transcript, found: Found) -> None:
    _judge_operation(transcript, found)


@rule("lifecycle:client:operation:early", unseen="nothing followed the handshake")
def the_client_keeps_to_what_was_said(transcript: Transcript, found: Found) -> None:
    _judge_operation(transcript, found)


def _judge_operation(transcript: Transcript, found: Found) -> None:
    methods = profile_of(transcript.revision).methods
    opening = _Handshake(transcript)
    if opening.answer is None or opening.offered != transcript.revision:
        return
    declared = opening.result.get("capabilities")
    for event, frame in opening.after:
        name = frame.get("method")
        if not is_request(frame) or not isinstance(name, str):
            continue
        found.saw()
        if name not in methods:
            if name in methods_of_any():
                expected = f"requests that {transcript.revision} has"
                found.broken(expected, f"{name} came", opening.answer, event, where="$.method")
            continue
        capability = methods[name].capability
        if capability and member(declared, *capability.split(".")) in (None, False):
            expected = f"{name} goes to servers that have declared `{capability}`"
            found.broken(expected, "the server has not", opening.answer, event, where="$.method")


@rule("lifecycle:client:probe", unseen="the client was told which revision to speak")
def the_client_asks_first_what_the_server_speaks(transcript: Transcript, found: Found) -> None:
    discover = profile_of(transcript.revision).discover
    assert discover is not None
    sent = list(transcript.frames("client"))
    if not sent:
        return
    event, first = sent[0]
    if first.get("method") == discover.name:
        found.saw()
    elif is_foreign(first, transcript.revision) and len(sent) > 1:
        expected = f"a client that speaks several revisions asks {discover.name} first"
        found.broken(expected, f"it sent {first.get('method')}", event, where="$.method")


@rule("lifecycle:client:extensions:names", unseen="the client declared no extensions")
def extensions_have_names_with_a_prefix(transcript: Transcript, found: Found) -> None:
    key = profile_of(transcript.revision).client_capabilities_key or ""
    for event, frame in conversation(transcript):
        extensions = member(frame, "params", "_meta", key, "extensions")
        if event.sender != "client" or not is_object(extensions):
            continue
        found.saw()
        for name in extensions:
            if not is_meta_key(name, with_prefix=True):
                expected = "the name of an extension has a prefix, as in `com.example/name`"
                found.broken(expected, f"one is {name!r}", event, where="$.params")
