"""Checks of clients: ping, progress, cancellation, pagination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import judged, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.views.conversation import conversation, id_key, is_answer, is_request
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent, WireFrame

NO_TOKEN = "the client asked for no progress"
NO_CANCELLATION = "the client cancelled nothing"


@rule("ping:client:answered", unseen="the client was not pinged")
def a_ping_is_answered_with_an_empty_result(transcript: Transcript, found: Found) -> None:
    ping = profile_of(transcript.revision).ping
    assert ping is not None
    asked: dict[str, WireEvent] = {}
    for event, frame in transcript.frames():
        if event.sender == "server" and frame.get("method") == ping.name:
            found.saw()
            asked[id_key(frame.get("id"))] = event
        elif event.sender == "client" and is_answer(frame):
            pinged = asked.pop(id_key(frame.get("id")), None)
            result = frame.get("result")
            if pinged is None or (is_object(result) and not result.keys() - {"_meta"}):
                continue
            if is_object(result):
                found.broken(
                    "the result is empty", "it has members", pinged, event, where="$.result"
                )
            elif "error" in frame:
                found.broken("a ping has a result", "an error came", pinged, event)
    for event in asked.values():
        later = [one for one in transcript.messages("client") if one.number > event.number]
        # The scenario of batches tells of a ping in one that is not answered.
        if len(later) > 1 and is_object(event.message):
            found.broken("a ping is answered", "no answer came", event)


@rule("progress:client:token:kind", unseen=NO_TOKEN)
def tokens_are_texts_or_integers(transcript: Transcript, found: Found) -> None:
    for event, _, token in _tokens(transcript):
        found.saw()
        if isinstance(token, bool) or not isinstance(token, int | str):
            came = f"it is {id_key(token)}"
            found.broken("a token is a text or an integer", came, event, where="$.params")


@rule("progress:client:token:unique", unseen=NO_TOKEN)
def open_requests_have_tokens_of_their_own(transcript: Transcript, found: Found) -> None:
    tokens = {event.number: id_key(token) for event, _, token in _tokens(transcript)}
    opened: dict[str, tuple[str, WireEvent]] = {}
    for event, frame in conversation(transcript):
        if event.sender == "server" and is_answer(frame):
            opened.pop(id_key(frame.get("id")), None)
        elif event.number in tokens and event.sender == "client":
            found.saw()
            token = tokens[event.number]
            for other, asked in opened.values():
                if other == token:
                    expected = "requests that are open have tokens of their own"
                    found.broken(expected, f"two have {token}", asked, event, where="$.params")
            opened[id_key(frame.get("id"))] = token, event


def _tokens(transcript: Transcript) -> list[tuple[WireEvent, str, Any]]:
    """Return the requests of the client with tokens: event, id as JSON, token."""
    key = profile_of(transcript.revision).progress_token_key
    return [
        (event, id_key(frame["id"]), meta[key])
        for event, frame in conversation(transcript)
        if event.sender == "client" and is_request(frame)
        for meta in [member(frame, "params", "_meta")]
        if is_object(meta) and key in meta
    ]


def _cancellations(transcript: Transcript) -> list[tuple[WireEvent, Any]]:
    """Return the cancellations of the client, with their params."""
    cancelled = profile_of(transcript.revision).cancelled
    return [
        (event, frame.get("params"))
        for event, frame in conversation(transcript)
        if event.sender == "client" and cancelled and frame.get("method") == cancelled.name
    ]


@rule("cancellation:client:own", unseen=NO_CANCELLATION)
def the_client_cancels_requests_of_its_own(transcript: Transcript, found: Found) -> None:
    for event, params in _cancellations(transcript):
        id = member(params, "requestId")
        if id is None:
            continue
        found.saw()
        issued = [
            id_key(frame["id"])
            for one, frame in transcript.frames("client")
            if is_request(frame) and one.number < event.number
        ]
        if id_key(id) not in issued:
            expected = "a cancellation names a request that the client has made"
            found.broken(expected, f"it made none with the id {id_key(id)}", event)


@rule("cancellation:client:notification", unseen=NO_CANCELLATION)
def a_cancellation_names_its_request(transcript: Transcript, found: Found) -> None:
    for event, params in _cancellations(transcript):
        found.saw()
        if member(params, "requestId") is None:
            expected = "a cancellation names the request in `requestId`"
            found.broken(expected, "it names none", event)


@rule("cancellation:client:handshake", unseen="there was no handshake")
def the_handshake_is_not_cancelled(transcript: Transcript, found: Found) -> None:
    handshake = profile_of(transcript.revision).handshake
    assert handshake is not None
    asked = [
        (event, id_key(frame.get("id")))
        for event, frame in conversation(transcript)
        if event.sender == "client" and frame.get("method") == handshake.name
    ]
    for event, id in asked:
        found.saw()
        for cancelled, params in _cancellations(transcript):
            if id_key(member(params, "requestId")) == id:
                expected = "the handshake is not cancelled"
                found.broken(expected, "a cancellation names it", event, cancelled)


def a_call_that_is_given_up_is_cancelled(run: ClientRun, found: Found) -> None:
    call_tool = run.profile.call_tool
    assert call_tool is not None
    waited = [
        one
        for one in run.requests(call_tool.name)
        if member(one.members, "params", "name") == "wait"
    ]
    if not waited:
        raise NotTested("the client did not call the tool `wait`")
    if run.ended.hung:
        raise NotTested(f"{run.ended}: it waited for the tool `wait`")
    found.saw()
    if not any(_cancellations(one) or _drops(one, waited) for one in run.transcripts):
        expected = "a call that is given up is cancelled"
        found.broken(expected, "the client ended, and cancelled nothing", waited[-1].event)


def _drops(transcript: Transcript, waited: list[WireFrame]) -> bool:
    """Return True if the client has closed the stream of a call, where that cancels it."""
    if transcript.transport != "http" or not profile_of(transcript.revision).stream_drop_cancels:
        return False
    exchanges = {one.event.exchange for one in waited}
    return any(
        event.kind == "ended" and event.sender == "client" and event.exchange in exchanges
        for event in transcript.events
    )


judged("cancellation:client:sent", a_call_that_is_given_up_is_cancelled)

LISTS = ("list_tools", "list_prompts", "list_resources", "list_resource_templates")


@rule("pagination:client:opaque", unseen="the client asked for no second page")
def cursors_go_back_as_they_came(transcript: Transcript, found: Found) -> None:
    given: dict[str, set[str]] = {}
    asked: dict[str, str] = {}
    lists = _lists(transcript)
    for event, frame in conversation(transcript):
        method = frame.get("method")
        if event.sender == "client" and is_request(frame) and method in lists:
            asked[id_key(frame["id"])] = method
            cursor = member(frame, "params", "cursor")
            if cursor is None:
                continue
            found.saw()
            if id_key(cursor) not in given.get(method, ()):
                expected = "a cursor is one that the server has given for this list"
                came = f"it never gave {id_key(cursor)}"
                found.broken(expected, came, event, where="$.params.cursor")
        elif event.sender == "server" and is_answer(frame):
            listed = asked.pop(id_key(frame.get("id")), None)
            if listed is not None:
                cursor = member(frame, "result", "nextCursor")
                given.setdefault(listed, set()).add(id_key(cursor))


def _lists(transcript: Transcript) -> set[str]:
    profile = profile_of(transcript.revision)
    return {method_of(profile, name).name for name in LISTS}
