"""Scenarios of questions to the model, and for roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.clients.asking.questions import Question, questions
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.scenarios.asking.asking_server import SAY_SOMETHING, AskingServer
from mcp_gen.compat.scenarios.scenario import scenario, stimulus

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json

WORDLESS: Json = {**SAY_SOMETHING, "messages": [{"role": "user", "content": {"type": "text"}}]}
"""Params of a question with a text that is not there."""
TOOL: Json = {"name": "look_up", "inputSchema": {"type": "object"}}


@stimulus("sampling:client:declared")
class AsksTheModel(AskingServer):
    """Asks the model, whether there was declared to be one or not."""

    def questions(self) -> list[Json]:
        """Return the question."""
        return [self.question_frame("create_message", SAY_SOMETHING)]


@stimulus("sampling:client:tools:declared")
class OffersTools(AskingServer):
    """Asks the model, and gives it a tool."""

    def questions(self) -> list[Json]:
        """Return the question."""
        return [self.question_frame("create_message", {**SAY_SOMETHING, "tools": [TOOL]})]


@stimulus("roots:client:declared")
class AsksForRoots(AskingServer):
    """Asks for the roots twice, whether there were declared to be any or not."""

    def questions(self) -> list[Json]:
        """Return the questions."""
        return [self.question("list_roots")] * 2


def _sampled(run: ClientRun) -> list[Question]:
    return [one for each in run.transcripts for one in questions(each, "create_message")]


def a_question_that_is_none_is_refused(run: ClientRun, found: Found) -> None:
    asked = _sampled(run)
    if not any(one.result for one in (*_sampled(run.strict), *asked)):
        raise NotTested("the client answers no questions to its model")
    malformed = [one for one in asked if one.params == WORDLESS]
    if not malformed:
        raise NotTested("the client did not wait for the question")
    in_requests = run.profile.asks_client == "server_request"
    if in_requests and all(one.answered is None for one in malformed):
        raise NotTested("the client did not answer")
    found.saw()
    for one in malformed:
        if one.result is not None:
            found.broken("a text without a text is refused", "a result came", *one.events)


@scenario("sampling:client:validated", a_question_that_is_none_is_refused)
class AsksWithoutWords(AskingServer):
    """Asks the model with a message that is none."""

    def questions(self) -> list[Json]:
        """Return the question, after a right one, if each is asked by itself."""
        asked = [self.question("create_message", WORDLESS)]
        if self.profile.asks_client == "server_request":
            asked.insert(0, self.question("create_message", SAY_SOMETHING))
        return asked
