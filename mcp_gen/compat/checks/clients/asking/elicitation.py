"""Checks of clients: questions to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.clients.asking.declaring import declares
from mcp_gen.compat.checks.clients.asking.questions import questions
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.views.conversation import conversation
from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

NO_QUESTION = "the client answered no question to its user"
WAYS = ("form", "url")


@rule("elicitation:client:declared", unseen=NO_QUESTION)
def a_client_that_asks_its_user_says_so(transcript: Transcript, found: Found) -> None:
    declares(transcript, found, "elicit", "elicitation")


@rule("elicitation:client:modes", unseen="the client does not declare that it asks its user")
def the_client_declares_a_way_of_asking(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    key = profile.client_capabilities_key
    path = ("params", "capabilities") if key is None else ("params", "_meta", key)
    for event, frame in conversation(transcript):
        declared = member(frame, *path, "elicitation")
        if event.sender != "client" or not is_object(declared):
            continue
        found.saw()
        if declared and not any(is_object(declared.get(way)) for way in WAYS):
            expected = "a client that asks its user names `form` or `url`, or nothing for forms"
            came = f"it names {', '.join(declared)}"
            where = "$.params.capabilities.elicitation" if key is None else "$.params._meta"
            found.broken(expected, came, event, where=where)


@rule("elicitation:client:validated", unseen="the client filled in no form")
def answers_fit_the_form(transcript: Transcript, found: Found) -> None:
    for one in questions(transcript, "elicit"):
        schema = one.params.get("requestedSchema")
        if one.result is None or one.result.get("action") != "accept" or not is_object(schema):
            continue
        # Where there are ways, a question that names none is judged by its own scenario.
        if one.params.get("mode", "form" if not _has_ways(transcript) else "") != "form":
            continue
        found.saw()
        assert one.answered is not None
        wrong = _misfit(schema, one.result.get("content", {}))
        if wrong:
            where = f"{one.where}.content"
            found.broken("the answer fits the form", wrong, *one.events, where=where)


def _has_ways(transcript: Transcript) -> bool:
    return profile_of(transcript.revision).url_elicitation == "mode"


def _misfit(schema: Json, content: object) -> str:
    try:
        JsonSchema(schema).check(content)
    except Misfit as error:
        return str(error)
    except (BadSchema, NeedsWorker):
        return ""
    return ""


@rule("elicitation:client:errors", unseen="the client was asked in no way but those it declares")
def a_way_that_was_not_declared_is_refused(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for one in questions(transcript, "elicit"):
        declared = one.declared.get("elicitation")
        if not is_object(declared) or one.answered is None or "mode" not in one.params:
            continue
        if one.params["mode"] in (declared or ("form",)):
            continue
        found.saw()
        code = (one.error or {}).get("code")
        if code != profile.errors.invalid_params:
            expected = (
                f"a way that was not declared is refused with {profile.errors.invalid_params}"
            )
            came = "a result came" if one.error is None else f"error {code} came"
            found.broken(expected, came, *one.events)
