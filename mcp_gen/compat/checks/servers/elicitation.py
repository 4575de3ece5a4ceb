"""Checks of questions to the user: forms, pages to visit, and the error that asks for a visit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_gen.compat.checks.asking import Declining, Dismissing, judge_ending
from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.json_values import is_array, is_object, member, objects
from mcp_gen.compat.reference.shaping import required_members, wire_type
from mcp_gen.compat.views.dialogue import Dialogue, path_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript, WireFrame
    from mcp_gen.compat.views.dialogue import ClientQuestion

NO_QUESTION = "the user was asked nothing"
NO_FORM = "the user was asked for no form"
NO_PAGE = "the user was asked to visit no page"
NO_ERROR = "no call failed for the want of a visit to a page"


def elicitations(dialogue: Dialogue) -> Iterator[ClientQuestion]:
    """Yield the questions to the user."""
    method = dialogue.profile.elicit
    for one in dialogue.questions():
        if method is not None and one.asked.get("method") == method.name:
            yield one


def mode_of(question: ClientQuestion) -> Any:
    """Return the mode of a question: `form` if it names none."""
    return question.params.get("mode", "form")


@rule("elicitation:modes", unseen=NO_QUESTION)
def modes_are_those_that_are_declared(transcript: Transcript, found: Found) -> None:
    for one in elicitations(transcript.derived(Dialogue)):
        declared = one.capabilities.get("elicitation")
        # A client that has declared nothing of this is the matter of other rules.
        if not is_object(declared):
            continue
        found.saw()
        modes = sorted(declared.keys() & {"form", "url"}) or ["form"]
        if mode_of(one) not in modes and mode_of(one) in ("form", "url"):
            found.broken(
                "the user is asked in a mode that the client has declared",
                f"the mode is {mode_of(one)}, and it has declared {' and '.join(modes)}",
                one.event,
                where=f"{one.where}.params.mode",
            )


@rule("elicitation:message", unseen=NO_QUESTION)
def a_question_has_a_message(transcript: Transcript, found: Found) -> None:
    for one in elicitations(transcript.derived(Dialogue)):
        found.saw()
        if not isinstance(one.params.get("message"), str):
            found.broken(
                "a question to the user has a message",
                f"it has {sorted(one.params)}",
                one.event,
                where=f"{one.where}.params.message",
            )


@rule("elicitation:form:shape", unseen=NO_FORM)
def a_form_has_a_schema(transcript: Transcript, found: Found) -> None:
    for one in elicitations(transcript.derived(Dialogue)):
        if mode_of(one) == "url":
            continue
        found.saw()
        if mode_of(one) != "form":
            found.broken(
                "the mode of a form is `form`, or none is named",
                f"it is {mode_of(one)!r}",
                one.event,
                where=f"{one.where}.params.mode",
            )
        elif not is_object(one.params.get("requestedSchema")):
            found.broken(
                "a form has a schema",
                f"it has {sorted(one.params)}",
                one.event,
                where=f"{one.where}.params.requestedSchema",
            )


@rule("elicitation:url:shape", unseen=NO_PAGE)
def a_page_has_all_its_members(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    wanted = required_members(wire_type(dialogue.profile, "ElicitRequestURLParams"))
    for one in elicitations(dialogue):
        if mode_of(one) == "form" and "url" not in one.params:
            continue
        found.saw()
        missing = [
            name
            for name in ("mode", *wanted)
            # The message has a rule of its own.
            if name != "message" and not isinstance(one.params.get(name), str)
        ]
        if missing:
            found.broken(
                f"the question to visit a page has {', '.join(sorted({'mode', *wanted}))}",
                f"{missing[0]} is missing",
                one.event,
                where=f"{one.where}.params.{missing[0]}",
            )


@rule("elicitation:url:valid", unseen=NO_PAGE)
def the_url_of_a_page_is_valid(transcript: Transcript, found: Found) -> None:
    for one in elicitations(transcript.derived(Dialogue)):
        url = one.params.get("url")
        if mode_of(one) != "url" or not isinstance(url, str):
            continue
        found.saw()
        if not is_url(url):
            found.broken(
                "the URL of a page is valid",
                f"it is {url!r}",
                one.event,
                where=f"{one.where}.params.url",
            )


def is_url(text: str) -> bool:
    """Return True for an absolute URL: a scheme, and what it leads to, without a space."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for one that is no number
    except ValueError:
        return False
    has_place = bool(parts.hostname) if parts.scheme in ("http", "https") else len(text) > 2
    return bool(parts.scheme) and has_place and text.isprintable() and " " not in text


@probe("elicitation:answers:no")
async def a_user_may_say_no(trial: ServerTrial) -> None:
    assert trial.profile.elicit is not None
    for answers in (Declining(), Dismissing()):
        await judge_ending(
            trial, trial.profile.elicit, answers, "a call ends, whatever the user answers"
        )


# --- what comes when the user has been there ---


@rule("elicitation:complete:id", unseen="no page was said to be done with")
def what_is_done_with_has_an_id(transcript: Transcript, found: Found) -> None:
    for frame in completions(transcript.derived(Dialogue)):
        found.saw()
        id = member(frame.members, "params", "elicitationId")
        if not isinstance(id, str):
            found.broken(
                "that a page is done with is told with the id of its question",
                "it has none" if id is None else f"it has {id!r}",
                frame.event,
                where=f"{path_of(frame)}.params",
            )


@rule("elicitation:complete:own-client", unseen="no page was said to be done with")
def what_is_done_with_was_asked_of_this_client(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    asked = [(one.event, one.params.get("elicitationId")) for one in elicitations(dialogue)]
    for frame in failures(dialogue):
        for entry in objects(member(frame.members, "error", "data", "elicitations")):
            asked.append((frame.event, entry.get("elicitationId")))
    for frame in completions(dialogue):
        id = member(frame.members, "params", "elicitationId")
        if not isinstance(id, str):
            continue
        found.saw()
        if not any(event.number < frame.event.number and one == id for event, one in asked):
            found.broken(
                "a client is told of pages alone that it was asked to visit",
                f"it was not asked to visit {id!r}",
                frame.event,
                where=f"{path_of(frame)}.params.elicitationId",
            )


def completions(dialogue: Dialogue) -> Iterator[WireFrame]:
    """Yield the notifications that a page is done with."""
    method = dialogue.profile.elicitation_complete
    for frame in dialogue.transcript.frames("server"):
        if method is not None and frame.members.get("method") == method.name:
            yield frame


# --- the error that asks for a visit ---


def failures(dialogue: Dialogue) -> Iterator[WireFrame]:
    """Yield the errors that ask for a visit to a page."""
    code = dialogue.profile.errors.url_elicitation_required
    for frame in dialogue.transcript.frames("server"):
        if code is not None and member(frame.members, "error", "code") == code:
            yield frame


@rule("elicitation:required:list", unseen=NO_ERROR)
def the_error_lists_what_to_visit(transcript: Transcript, found: Found) -> None:
    for frame in failures(transcript.derived(Dialogue)):
        found.saw()
        if not is_array(member(frame.members, "error", "data", "elicitations")):
            found.broken(
                "the error lists what the user has to visit",
                "it has no list",
                frame.event,
                where=f"{path_of(frame)}.error.data",
            )


@rule("elicitation:required:only-url", unseen=NO_ERROR)
def the_error_comes_where_a_visit_is_needed(transcript: Transcript, found: Found) -> None:
    for frame in failures(transcript.derived(Dialogue)):
        found.saw()
        if member(frame.members, "error", "data", "elicitations") == []:
            found.broken(
                "the error comes only where the user has to visit a page",
                "its list is empty",
                frame.event,
                where=f"{path_of(frame)}.error.data.elicitations",
            )


@rule("elicitation:required:entries", unseen=NO_ERROR)
def each_entry_is_a_page_with_an_id(transcript: Transcript, found: Found) -> None:
    for frame in failures(transcript.derived(Dialogue)):
        entries = member(frame.members, "error", "data", "elicitations")
        for number, entry in enumerate(entries if is_array(entries) else ()):
            found.saw()
            where = f"{path_of(frame)}.error.data.elicitations[{number}]"
            if member(entry, "mode") != "url":
                came = f"its mode is {member(entry, 'mode')!r}"
            elif not isinstance(member(entry, "elicitationId"), str):
                came = "it has no id"
            else:
                continue
            found.broken(
                "each entry is a page to visit, with an id", came, frame.event, where=where
            )
