"""Checks of the base protocol, of clients: frames, JSON-RPC, ids, answers, metadata."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.frames import NOTHING, judge_frames
from mcp_gen.compat.json_values import is_array, is_object, member
from mcp_gen.compat.views.conversation import (
    conversation,
    id_key,
    is_answer,
    is_meta_key,
    is_notification_name,
    is_request,
)
from mcp_gen.compat.views.lines import broken_lines, is_utf_8
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.transcript import Transcript, WireEvent

NO_REQUEST = "the client sent no request"
NO_QUESTION = "the client was asked nothing"
NO_NOTICE = "no notification came"


@rule("base:client:frames:valid", unseen=NOTHING, is_general=True)
def the_client_sends_valid_frames(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "client", unnamed=False)


@rule("base:client:frames:named", unseen=NOTHING, is_general=True)
def the_client_sends_no_other_members(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "client", unnamed=True)


# --- JSON-RPC ---


@rule("base:client:utf-8", unseen=NOTHING)
def what_the_client_sends_is_utf_8(transcript: Transcript, found: Found) -> None:
    for event in transcript.messages("client"):
        found.saw()
        if not is_utf_8(event.data):
            found.broken("a message in UTF-8", "other bytes", event)


@rule("base:client:json-rpc", unseen=NOTHING)
def what_the_client_sends_is_json_rpc(transcript: Transcript, found: Found) -> None:
    allows_batches = profile_of(transcript.revision).allows_batches
    has_bodies = profile_of(transcript.revision).http_transport == "streamable"
    pieces = {event.number for event in broken_lines(transcript)}
    for event in transcript.messages("client"):
        found.saw()
        if event.number in pieces or not is_utf_8(event.data):
            continue
        if event.message is UNSET and transcript.transport == "http" and has_bodies:
            continue  # told of by the rule of bodies
        if not is_array(event.message):
            _judge_message(event.message, "$", event, found)
        elif not allows_batches:
            found.broken("no batches at this revision", "an array", event)
        elif not event.message:
            found.broken("a batch with messages", "an empty array", event)
        else:
            for number, entry in enumerate(event.message):
                _judge_message(entry, f"$[{number}]", event, found)


def _judge_message(message: Any, path: str, event: WireEvent, found: Found) -> None:
    if not is_object(message):
        found.broken("a JSON-RPC message is an object", "something else", event)
        return
    if message.get("jsonrpc") != "2.0":
        came = f"`jsonrpc` is {message.get('jsonrpc')!r}"
        found.broken('`jsonrpc` is "2.0"', came, event, where=f"{path}.jsonrpc")
    if "method" not in message:
        return
    if not isinstance(message["method"], str):
        found.broken("`method` is a text", "it is none", event, where=f"{path}.method")
    if not is_object(message.get("params", {})):
        found.broken("`params` is an object", "it is none", event, where=f"{path}.params")


# --- requests and notifications ---


@rule("base:client:requests:id-kind", unseen=NO_REQUEST)
def ids_are_texts_or_integers(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("client"):
        if is_request(frame):
            found.saw()
            if not _is_id(frame["id"]):
                came = f"it is {id_key(frame['id'])}"
                found.broken("an id is a text or an integer", came, event, where="$.id")


@rule("base:client:requests:id-once", unseen=NO_REQUEST)
def no_id_is_used_twice(transcript: Transcript, found: Found) -> None:
    used: dict[str, WireEvent] = {}
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame) and _is_id(frame["id"]):
            found.saw()
            key = id_key(frame["id"])
            if key in used:
                expected = "each request of a session has an id of its own"
                found.broken(expected, f"{key} is used again", used[key], event, where="$.id")
            used[key] = event


@rule("base:client:requests:id-open", unseen=NO_REQUEST)
def no_two_open_requests_have_one_id(transcript: Transcript, found: Found) -> None:
    opened: dict[str, WireEvent] = {}
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame) and _is_id(frame["id"]):
            found.saw()
            key = id_key(frame["id"])
            if key in opened:
                expected = "requests that are open at one time have ids of their own"
                found.broken(expected, f"{key} is used twice", opened[key], event, where="$.id")
            opened[key] = event
        elif event.sender == "server" and is_answer(frame):
            opened.pop(id_key(frame.get("id")), None)


@rule("base:client:notifications:no-id", unseen="the client sent no notification")
def notifications_of_clients_have_no_id(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("client"):
        if is_notification_name(frame.get("method")):
            found.saw()
            if "id" in frame:
                came = f"it has {id_key(frame['id'])}"
                found.broken("a notification has no id", came, event, where="$.id")


# --- answers ---


@rule("base:client:answers:id", unseen=NO_QUESTION)
def answers_have_the_id_of_a_question(transcript: Transcript, found: Found) -> None:
    asked: Counter[str] = Counter()
    for event, frame in conversation(transcript):
        if event.sender == "server" and "method" in frame and "id" in frame:
            # Also a notification that has an id: whoever takes it for a request answers it.
            found.saw()
            asked[id_key(frame["id"])] += 1
        elif event.sender == "client" and is_answer(frame) and frame.get("id") is not None:
            key = id_key(frame["id"])
            if not asked[key]:
                expected = "an answer has the id of a question that is open"
                found.broken(expected, f"no question has the id {key}", event, where="$.id")
            else:
                asked[key] -= 1


@rule("base:client:answers:shape", unseen=NO_QUESTION)
def answers_have_a_result_or_an_error(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("client"):
        if not is_answer(frame):
            continue
        found.saw()
        if ("result" in frame) == ("error" in frame):
            both = "both" if "result" in frame else "neither"
            found.broken("an answer has a result or an error", f"it has {both}", event)
        elif "result" in frame and not is_object(frame["result"]):
            found.broken("a result is an object", "it is none", event)
        elif "error" in frame and not _is_error(frame["error"]):
            found.broken("an error has an integer code and a message", "it has not", event)


@rule("base:client:notifications:unanswered", unseen=NO_NOTICE)
def notifications_are_not_answered(transcript: Transcript, found: Found) -> None:
    notices: list[WireEvent] = []
    for event, frame in conversation(transcript):
        if event.sender == "server" and "method" in frame and "id" not in frame:
            found.saw()
            notices.append(event)
        elif notices and is_answer(frame) and event.sender == "client" and frame.get("id") is None:
            expected = "a notification is not answered"
            found.broken(expected, "an answer without an id came", notices[-1], event)


@rule("transports:client:no-answers", unseen=NOTHING)
def the_client_sends_no_answers(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("client"):
        found.saw()
        if is_answer(frame) and frame.get("id") is not None:
            found.broken("a client sends requests and notifications", "it sent an answer", event)


# --- metadata ---


@rule("base:client:meta:key-names", unseen="the client sent no `_meta`")
def keys_of_metadata_are_well_formed(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("client"):
        for part in ("params", "result"):
            meta = member(frame, part, "_meta")
            if not is_object(meta):
                continue
            found.saw()
            for key in meta:
                if not is_meta_key(key):
                    expected = "a key of `_meta` is a name, with or without a prefix"
                    found.broken(expected, f"one is {key!r}", event, where=f"$.{part}._meta")


@rule("base:client:metadata:required", unseen=NO_REQUEST)
def requests_say_their_revision_and_capabilities(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for event, frame in conversation(transcript):
        if event.sender != "client" or not is_request(frame):
            continue
        found.saw()
        meta = member(frame, "params", "_meta")
        for key, kind in (
            (profile.protocol_version_key, str),
            (profile.client_capabilities_key, dict),
        ):
            if key is not None and not isinstance(member(meta, key), kind):
                found.broken(f"`_meta` has `{key}`", "it has not", event, where="$.params")


@rule("base:client:metadata:client-info", unseen=NO_REQUEST)
def requests_say_which_client_makes_them(transcript: Transcript, found: Found) -> None:
    key = profile_of(transcript.revision).client_info_key
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame) and key is not None:
            found.saw()
            if not is_object(member(frame, "params", "_meta", key)):
                found.broken(f"`_meta` has `{key}`", "it has not", event)


def _is_id(id: Any) -> bool:
    if isinstance(id, float):
        return id.is_integer()
    return isinstance(id, int | str) and not isinstance(id, bool)


def _is_error(error: Any) -> bool:
    if not is_object(error):
        return False
    found: Json = error
    code = found.get("code")
    return _is_id(code) and not isinstance(code, str) and isinstance(found.get("message"), str)
