"""Scenarios of questions to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.clients.asking.questions import Question, questions
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.scenarios.asking.asking_server import NAME_FORM, AskingServer
from mcp_gen.compat.scenarios.fetching import FetchListener, fetches
from mcp_gen.compat.scenarios.judgements import goes_on
from mcp_gen.compat.scenarios.ready import ReadyServer
from mcp_gen.compat.scenarios.scenario import scenario, stimulus

if TYPE_CHECKING:
    from mcp_gen.compat.checks.check import Judge
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

PAGE_ID = "550e8400-e29b-41d4-a716-446655440000"
ODD_ID = ' {"id": 1}/../%20+=\u00e9 '
PAGE: Json = {
    "mode": "url",
    "message": "Visit the page.",
    "url": "https://example.com/page",
    "elicitationId": PAGE_ID,
}
"""Params of a question that sends the user to a page."""


@stimulus("elicitation:client:declared")
class AsksForNames(AskingServer):
    """Asks the user for a name, whether that was declared or not."""

    def questions(self) -> list[Json]:
        """Return the question, with the members of the revision."""
        return [self.question_frame("elicit", NAME_FORM)]


@stimulus("elicitation:client:validated")
class AsksForNumbers(AskingServer):
    """Asks the user for a number and a choice."""

    def questions(self) -> list[Json]:
        """Return the question, with the members of the revision."""
        fields = {
            "number": {"type": "integer", "minimum": 1, "maximum": 3},
            "colour": {"type": "string", "enum": ["red", "green"]},
        }
        schema = {"type": "object", "properties": fields, "required": ["number"]}
        form = {"mode": "form", "message": "Which?", "requestedSchema": schema}
        return [self.question_frame("elicit", form)]


@stimulus("elicitation:client:errors")
class AsksInOtherWays(AskingServer):
    """Asks the user in every way, and in one that is unknown."""

    def questions(self) -> list[Json]:
        """Return the questions."""
        unknown = {**NAME_FORM, "mode": "com.example/voice"}
        return [self.question("elicit", params) for params in (unknown, PAGE, NAME_FORM)]


# --- two questions that are to be answered alike ---


def _elicited(run: ClientRun) -> list[Question]:
    return [one for transcript in run.transcripts for one in questions(transcript, "elicit")]


def answered_alike(expected: str, *, way: str) -> Judge:
    """Return a judge: the second question is answered as the first, which has nothing special.

    Args:
        expected: What is to be taken, in one sentence.
        way: The way of asking, which the client must have declared: `form` or `url`.
    """

    def judge(run: ClientRun, found: Found) -> None:
        asked = _elicited(run)[:2]
        if len(asked) < 2:
            raise NotTested("the client did not wait for the questions")
        plain, special = asked
        declared = plain.declared.get("elicitation")
        if not is_object(declared) or way not in (declared or ("form",)):
            raise NotTested(f"the client does not declare questions of the way `{way}`")
        if special.answered is None and run.profile.asks_client == "server_request":
            raise NotTested("the client did not answer")
        if plain.result is None:
            raise NotTested("the client refuses such questions")
        found.saw()
        if special.result is None:
            found.broken(expected, "the client refused it", plain.event, *special.events)
        elif _gave(plain) and special.result.get("action") == "accept" and not _gave(special):
            came = "it was accepted without content"
            where = special.where
            found.broken(expected, came, *special.events, where=where)

    return judge


def _gave(one: Question) -> bool:
    return member(one.result, "action") == "accept" and bool(member(one.result, "content"))


@scenario(
    "elicitation:client:no-mode",
    answered_alike("a question that names no way is a form", way="form"),
)
class NamesNoWay(AskingServer):
    """Asks for a name as a form, and without a word of how."""

    def questions(self) -> list[Json]:
        """Return the questions."""
        bare = {key: value for key, value in NAME_FORM.items() if key != "mode"}
        return [self.question("elicit", NAME_FORM), self.question("elicit", bare)]


@scenario(
    "elicitation:client:id-opaque",
    answered_alike("the id of a page is any text", way="url"),
)
class OddPageIds(AskingServer):
    """Sends the user to a page twice, the second time with a strange id."""

    def questions(self) -> list[Json]:
        """Return the questions."""
        odd = {**PAGE, "elicitationId": ODD_ID}
        return [self.question("elicit", PAGE), self.question("elicit", odd)]


# --- pages ---


@scenario(
    "elicitation:client:complete:unknown",
    goes_on("a notification that an unknown page is done with is ignored"),
)
class KnowsOtherPages(ReadyServer):
    """Tells twice that a page is done with to which it has sent nobody."""

    async def when_ready(self) -> None:
        """Tell it."""
        for _ in range(2):
            self.tell("elicitation_complete", {"elicitationId": PAGE_ID})


def a_page_is_not_fetched(run: ClientRun, found: Found) -> None:
    asked = [one for one in _elicited(run) if one.params.get("mode") == "url"]
    if not any("url" in (one.declared.get("elicitation") or {}) for one in asked):
        raise NotTested("the client does not declare questions of the way `url`")
    fetched = fetches(run)
    if fetched and any(member(one.result, "action") == "accept" for one in asked):
        raise NotTested("the user may have gone to the page")
    found.saw()
    for event in fetched:
        expected = "nothing is fetched from a page that the user has not gone to"
        found.broken(expected, f"{event.about} was fetched", asked[0].event, event)


@scenario("elicitation:client:no-fetch", a_page_is_not_fetched)
class SendsToItsPage(AskingServer):
    """Sends the user to a page of this machine, and notes who fetches it."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._listener = FetchListener(self._fetched)

    def _fetched(self, line: str) -> None:
        self.note(line)

    def questions(self) -> list[Json]:
        """Return the question."""
        page = {**PAGE, "url": f"{self._listener.url}/page"}
        return [self.question_frame("elicit", page)]

    async def discover(self, call: ReferenceCall) -> Json:
        """Begin to listen."""
        await self._listener.start()
        return await super().discover(call)

    async def initialize(self, call: ReferenceCall) -> Json:
        """Begin to listen."""
        await self._listener.start()
        return await super().initialize(call)

    async def aclose(self) -> None:
        """Stop listening."""
        await super().aclose()
        await self._listener.aclose()
