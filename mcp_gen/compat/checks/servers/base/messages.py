"""Checks of messages: the form of JSON-RPC, ids, requests of the server, notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.json_values import Json, is_array, is_object, is_same_id
from mcp_gen.compat.views.lines import is_utf_8
from mcp_gen.compat.views.reading import answers, placed
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript, WireEvent
    from mcp_gen.compat.views.reading import Placed

NOTHING = "no message came"
NO_REQUEST = "the server sent no request"


def whole_messages(transcript: Transcript) -> Iterator[WireEvent]:
    """Yield the messages of the server that are there as they came, and are texts."""
    for event in transcript.messages("server"):
        if not event.is_cut and is_utf_8(event.data):
            yield event


@rule("base:json-rpc", unseen=NOTHING)
def messages_are_json_rpc(transcript: Transcript, found: Found) -> None:
    allows_batches = profile_of(transcript.revision).allows_batches
    for event in whole_messages(transcript):
        value = event.message
        if transcript.transport == "stdio" and not (is_object(value) or is_array(value)):
            # On stdout it may be anything but a message: that is a rule of its own.
            continue
        found.saw()
        if is_array(value) and (not allows_batches or not value):
            came = "a batch" if value else "an empty batch"
            found.broken("a message of a kind that the revision has", came, event, where="$")
        elif is_array(value):
            for number, entry in enumerate(value):
                judge_form(entry, event, f"$[{number}]", found)
        else:
            judge_form(value, event, "$", found)


def judge_form(frame: Any, event: WireEvent, where: str, found: Found) -> None:
    """Report a value that is no request, notification or answer of JSON-RPC 2.0."""
    if not is_object(frame):
        found.broken("a JSON object", "no JSON" if frame is msgspec.UNSET else "none", event)
    elif frame.get("jsonrpc") != "2.0":
        came = f"it is {frame['jsonrpc']!r}" if "jsonrpc" in frame else "there is none"
        found.broken('`jsonrpc` is "2.0"', came, event, where=f"{where}.jsonrpc")
    elif "method" in frame and not isinstance(frame["method"], str):
        found.broken("`method` is a string", f"it is {frame['method']!r}", event, where=where)
    elif not frame.keys() & {"method", "result", "error", "id"}:
        expected = "a request, a notification or an answer"
        found.broken(expected, "an object that is none of these", event, where=where)


@rule("base:utf-8", unseen=NOTHING)
def messages_are_utf_8(transcript: Transcript, found: Found) -> None:
    for event in transcript.messages("server"):
        if event.is_cut:
            continue
        found.saw()
        if not is_utf_8(event.data):
            found.broken("a text in UTF-8", "bytes that are none", event)


# --- requests of the server ---


def questions(transcript: Transcript) -> Iterator[Placed]:
    """Yield the requests of the server, with an id or without."""
    methods = profile_of(transcript.revision).methods
    for one in placed(transcript, "server"):
        name = one.frame.get("method")
        if not isinstance(name, str) or name.startswith("notifications/"):
            continue
        method = methods.get(name)
        if "id" in one.frame or (method is not None and method.kind == "request"):
            yield one


@rule("base:requests:id-kind", unseen=NO_REQUEST)
def requests_have_ids_that_are_strings_or_integers(transcript: Transcript, found: Found) -> None:
    for event, where, frame in questions(transcript):
        found.saw()
        id = frame.get("id")
        if type(id) not in (int, str) and not (isinstance(id, float) and id.is_integer()):
            came = f"it is {msgspec.json.encode(frame['id']).decode()}" if "id" in frame else "none"
            expected = "the id is a string or an integer"
            found.broken(expected, came, event, where=f"{where}.id")


@rule("base:requests:id-once", unseen=NO_REQUEST, is_general=True)
def requests_have_ids_of_their_own(transcript: Transcript, found: Found) -> None:
    used: list[tuple[Any, WireEvent]] = []
    for event, where, frame in questions(transcript):
        found.saw()
        id = frame.get("id")
        if id is None:
            continue
        earlier = next((sent for other, sent in used if is_same_id(id, other)), None)
        if earlier is not None:
            expected = "an id that was not used before"
            found.broken(expected, f"{id!r} again", earlier, event, where=f"{where}.id")
        used.append((id, event))


@rule("base:requests:none-by-server", unseen=NOTHING, is_general=True)
def the_server_sends_no_requests(transcript: Transcript, found: Found) -> None:
    for event, where, frame in placed(transcript, "server"):
        found.saw()
        name = frame.get("method")
        if "id" in frame and isinstance(name, str) and not name.startswith("notifications/"):
            expected = "answers and notifications, and no request"
            found.broken(expected, f"the request {name!r}", event, where=where)


# --- answers ---


@rule("base:answers:id", unseen="no answer came")
def answers_have_the_ids_of_their_requests(transcript: Transcript, found: Found) -> None:
    for event, where, frame, asked in answers(transcript):
        id = frame.get("id")
        if id is None and "error" in frame:
            # The id of a malformed request could not be read; others are found as unanswered.
            continue
        found.saw()
        if asked is None:
            came = f"it is {id!r}, and nothing like it is open" if "id" in frame else "none"
            expected = "the id of a request that waits for its answer"
            found.broken(expected, came, event, where=f"{where}.id")


@rule("ping:answered", unseen="nothing was pinged")
def pings_are_answered_with_an_empty_result(transcript: Transcript, found: Found) -> None:
    ping = profile_of(transcript.revision).ping
    seen = list(answers(transcript))
    opened = next((one.event.number for one in seen if one.asked and "result" in one.frame), None)
    if ping is None or opened is None:
        return
    answered = {id(one.asked.frame): one for one in seen if one.asked}
    last = max(one.asked.event.number for one in seen if one.asked)
    for one in placed(transcript, "client"):
        name = one.frame.get("method")
        if name != ping.name or one.event.number < opened:
            continue
        answer = answered.get(id(one.frame))
        result = answer and answer.frame.get("result")
        if is_object(result) and answer is not None:
            found.saw()
            if result.keys() - {"_meta"}:
                came = f"one with {', '.join(sorted(result.keys() - {'_meta'}))}"
                where = f"{answer.where}.result"
                found.broken("an empty result", came, *answer.events, where=where)
        elif not is_plain(one) or is_refused_by_http(transcript, one):
            continue
        elif answer is not None:
            found.broken("a ping is answered with a result", "no result", *answer.events)
        elif one.event.number < last:
            expected = "a ping is answered at once"
            found.broken(expected, "no answer, but one to a later request", one.event)


def is_refused_by_http(transcript: Transcript, asked: Placed) -> bool:
    """Return True if a request was refused by its response, such as for lack of a session id."""
    head = transcript.head(asked.event.exchange) if asked.event.exchange else None
    return head is not None and head.status >= 400


def is_plain(asked: Placed) -> bool:
    """Return True for a request like any other: alone, with a number as its id, and no params."""
    id = asked.frame.get("id")
    return asked.where == "$" and type(id) is int and id > 0 and "params" not in asked.frame


@rule("base:answers:result-or-error", unseen="no answer came")
def answers_have_a_result_or_an_error(transcript: Transcript, found: Found) -> None:
    for event, where, frame in placed(transcript, "server"):
        if "method" in frame or "id" not in frame:
            continue
        found.saw()
        if ("result" in frame) == ("error" in frame):
            came = "both" if "result" in frame else "neither"
            found.broken("either a result or an error", came, event, where=where)


# --- notifications ---


@rule("base:notifications:no-id", unseen="no notification came")
def notifications_have_no_id(transcript: Transcript, found: Found) -> None:
    for event, where, frame in placed(transcript, "server"):
        method = frame.get("method")
        if isinstance(method, str) and method.startswith("notifications/"):
            found.saw()
            if "id" in frame:
                came = f"it has {frame['id']!r}"
                found.broken("a notification has no id", came, event, where=f"{where}.id")


@probe("base:notifications:unanswered")
async def notifications_are_not_answered(trial: ServerTrial) -> None:
    client = await trial.second()
    sent: list[WireEvent] = []
    for params in (None, {"reason": "a notification that no server knows"}):
        frame = client.notification_frame("notifications/com.example/unheard-of", params)
        sent.append(await client.send(frame))
    await client.settle()
    refused = {
        event.exchange
        for event in client.transcript.events
        if event.kind == "response" and event.status >= 400
    }
    for event, where, frame in placed(client.transcript, "server"):
        if event.number < sent[0].number:
            continue
        # Over HTTP, the refusal of a message has a body without an id.
        if is_unasked(frame) and (not event.exchange or event.exchange not in refused):
            expected = "nothing answers a notification"
            trial.broken(expected, "an answer without an id", sent[-1], event, where=where)


def is_unasked(frame: Json) -> bool:
    """Return True for an answer that belongs to no request."""
    return "method" not in frame and frame.get("id") is None
