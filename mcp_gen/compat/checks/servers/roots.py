"""Checks of questions for the client's roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.asking import judge_ending
from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.views.dialogue import Dialogue

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript


@rule("roots:capability", unseen="no call ended of a client that has not declared roots")
def roots_are_asked_of_those_who_declare_them(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    method = dialogue.profile.list_roots
    tool = dialogue.profile.call_tool
    for one in dialogue.by_client:
        is_call = tool is not None and one.asked.members["method"] == tool.name
        if is_call and one.answer and "roots" not in dialogue.declared(one):
            found.saw()
    for question in dialogue.questions():
        is_it = method is not None and question.asked.get("method") == method.name
        if is_it and "roots" not in question.capabilities:
            found.broken(
                "a client that has not declared `roots` is not asked for them",
                "it was asked",
                question.event,
                where=question.where,
            )


class RootsFail(Answers):
    """Answers of a client whose roots cannot be listed."""

    def __init__(self, code: int) -> None:
        self._code = code

    def list_roots(self, params: Json) -> Json:
        """Fail."""
        raise Failure(self._code, "the roots are gone")


class NoRoots(Answers):
    """Answers of a client whose roots are gone."""

    def list_roots(self, params: Json) -> Json:
        """Return none."""
        return {"roots": []}


@probe("roots:unavailable")
async def roots_that_are_gone_do_no_harm(trial: ServerTrial) -> None:
    assert trial.profile.list_roots is not None
    failing = RootsFail(trial.profile.errors.internal_error)
    tried = (NoRoots(), failing) if trial.profile.asks_client == "server_request" else (NoRoots(),)
    for answers in tried:
        expected = "a call ends also if there are no roots"
        await judge_ending(trial, trial.profile.list_roots, answers, expected)
