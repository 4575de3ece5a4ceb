"""Checks of clients: questions to the model, and for roots."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.clients.asking.declaring import declares
from mcp_gen.compat.checks.clients.asking.questions import Question, questions
from mcp_gen.compat.json_values import is_array, is_object, member, objects
from mcp_gen.compat.method_names import method_of
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

NO_TOOLS = "the client answered no question with tools for its model"


# --- the model ---


@rule("sampling:client:declared", unseen="the client answered no question to its model")
def a_client_with_a_model_says_so(transcript: Transcript, found: Found) -> None:
    declares(transcript, found, "create_message", "sampling")


@rule("sampling:client:tools:declared", unseen=NO_TOOLS)
def a_client_whose_model_takes_tools_says_so(transcript: Transcript, found: Found) -> None:
    for one in _with_tools(transcript):
        found.saw()
        if _uses_tools(one) and not _declares_tools(one):
            expected = "a client whose model takes tools declares `sampling.tools`"
            found.broken(expected, "it has not", *one.events)


@rule("sampling:client:tools:undeclared", unseen=NO_TOOLS)
def tools_that_were_not_declared_are_refused(transcript: Transcript, found: Found) -> None:
    for one in _with_tools(transcript):
        found.saw()
        if one.result is not None and not _uses_tools(one) and not _declares_tools(one):
            expected = "tools for a model that takes none are an error"
            found.broken(expected, "a result came", *one.events)


def _with_tools(transcript: Transcript) -> list[Question]:
    return [
        one
        for one in questions(transcript, "create_message")
        if one.answered is not None
        and is_array(one.params.get("tools"))
        # Who has not declared that there is a model is told of that.
        and is_object(one.declared.get("sampling"))
    ]


def _declares_tools(one: Question) -> bool:
    return is_object(member(one.declared, "sampling", "tools"))


def _uses_tools(one: Question) -> bool:
    content: Any = member(one.result, "content")
    blocks = objects(content if is_array(content) else [content])
    return any(block.get("type") == "tool_use" for block in blocks)


# --- roots ---


@rule("roots:client:declared", unseen="the client answered no question for its roots")
def a_client_with_roots_says_so(transcript: Transcript, found: Found) -> None:
    declares(transcript, found, "list_roots", "roots")


@rule("roots:client:file-uris", unseen="the client told no roots")
def roots_are_files(transcript: Transcript, found: Found) -> None:
    for one in questions(transcript, "list_roots"):
        for number, root in enumerate(objects(member(one.result, "roots"))):
            found.saw()
            uri = root.get("uri")
            if not isinstance(uri, str) or not uri.lower().startswith("file://"):
                where = f"{one.where}.roots[{number}].uri"
                found.broken(
                    "a root is a `file://` URI", f"it is {uri!r}", *one.events, where=where
                )


@rule("roots:client:errors", unseen="the client has roots, or was not asked for them")
def without_roots_the_question_is_unknown(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for one in questions(transcript, "list_roots"):
        if one.error is None or "roots" in one.declared:
            continue
        found.saw()
        code = one.error.get("code")
        if code != profile.errors.method_not_found:
            expected = f"a client without roots answers with {profile.errors.method_not_found}"
            found.broken(expected, f"error {code} came", *one.events, where="$.error.code")


@rule("roots:client:changed", unseen="the roots of the client did not change")
def servers_are_told_of_changed_roots(transcript: Transcript, found: Found) -> None:
    changed = method_of(profile_of(transcript.revision), "roots_list_changed").name
    told = [one for one, frame in transcript.frames("client") if frame.get("method") == changed]
    answered = [one for one in questions(transcript, "list_roots") if one.result is not None]
    for one, other in pairwise(answered):
        if member(other.declared, "roots", "listChanged") is not True:
            continue
        if member(one.result, "roots") == member(other.result, "roots"):
            continue
        found.saw()
        # The notification may come after the answer that shows the change.
        if not any(event.number > one.events[-1].number for event in told):
            expected = f"{changed} tells of other roots"
            found.broken(expected, "it did not come", one.events[-1], other.events[-1])
