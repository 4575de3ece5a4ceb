"""Servers that break the rules of questions to the user, and their twins."""

from __future__ import annotations

from typing import Any, ClassVar

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Failure, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import text_result
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

PAGE: Json = {
    "mode": "url",
    "message": "Please visit the page.",
    "url": "https://example.com/visit",
    "elicitationId": "visit-1",
}


class ChangedForms(ReferenceServer):
    """Asks the user in another form."""

    def question_frame(self, name: str, params: Json) -> Json:
        made = super().question_frame(name, params)
        return {**made, "params": self.changed(made["params"])} if name == "elicit" else made

    def changed(self, params: Json) -> Json:
        """Return other params."""
        return params


@breaks("elicitation:message")
class QuestionsWithoutMessage(ChangedForms):
    """Asks the user without a message."""

    def changed(self, params: Json) -> Json:
        return {name: one for name, one in params.items() if name != "message"}


@keeps("elicitation:message")
class EmptyMessages(ChangedForms):
    """Asks the user with an empty message."""

    def changed(self, params: Json) -> Json:
        return {**params, "message": ""}


@breaks("elicitation:form:shape")
class FormsWithoutSchema(ChangedForms):
    """Asks the user for a form without a schema."""

    def changed(self, params: Json) -> Json:
        return {name: one for name, one in params.items() if name != "requestedSchema"}


@keeps("elicitation:form:shape")
class FormsWithoutMode(ChangedForms):
    """Asks the user for a form without fields, and names no mode."""

    def changed(self, params: Json) -> Json:
        return {"message": "Well?", "requestedSchema": {"type": "object", "properties": {}}}


class AsksForVisits(ChangedForms):
    """Sends the user to a page, if the client has declared that it can."""

    def may_visit(self) -> bool:
        """Return True if the client has declared that it can."""
        return member(self.client_capabilities, "elicitation", "url") is not None

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if self.may_visit():
            return await self.asked(call, "elicitation", "elicit", PAGE)
        return await super().run_ask_user(call, arguments)


@breaks("elicitation:modes")
class VisitsForAll(AsksForVisits):
    """Sends every user to a page."""

    def may_visit(self) -> bool:
        return True


@keeps("elicitation:modes")
class VisitsForSome(AsksForVisits):
    """Sends those to a page who have declared it."""


@breaks("elicitation:url:shape")
class VisitsToNowhere(AsksForVisits):
    """Names no page."""

    def changed(self, params: Json) -> Json:
        return {name: one for name, one in params.items() if name != "url"}


@keeps("elicitation:url:shape")
class VisitsWithEmptyMessage(AsksForVisits):
    """Says nothing of the page."""

    def changed(self, params: Json) -> Json:
        return {**params, "message": ""}


@breaks("elicitation:url:valid")
class VisitsToAPath(AsksForVisits):
    """Names a path in place of a URL."""

    def changed(self, params: Json) -> Json:
        return {**params, "url": "/visit"} if "url" in params else params


@keeps("elicitation:url:valid")
class VisitsToAnyUrl(AsksForVisits):
    """Names a URL with all that one can have."""

    def changed(self, params: Json) -> Json:
        url = "http://user@[::1]:8080/a%20b;c?d=e&f#g"
        return {**params, "url": url} if "url" in params else params


@breaks("elicitation:answers:no")
class InsistsOnYes(ReferenceServer):
    """Answers nothing to a user who does not say yes."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        found = await super().run_ask_user(call, arguments)
        said = member(call.params, "inputResponses", "elicit", "action")
        if said not in (None, "accept"):
            raise Unanswered
        return found


@keeps("elicitation:answers:no")
class FailsWithoutYes(ReferenceServer):
    """Fails where a user does not say yes."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        found = await super().run_ask_user(call, arguments)
        said = member(call.params, "inputResponses", "elicit", "action")
        return found if said in (None, "accept") else {**found, "isError": True}


class TellsOfVisits(AsksForVisits):
    """Tells when the user has visited the page."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        found = await super().run_ask_user(call, arguments)
        if self.may_visit():
            self.done(call)
        return found

    def done(self, call: ReferenceCall) -> None:
        """Tell that the user has visited the page."""
        call.tell("elicitation_complete", {"elicitationId": PAGE["elicitationId"]})


@breaks("elicitation:complete:id")
class VisitsWithoutId(TellsOfVisits):
    """Does not say which page was visited."""

    def done(self, call: ReferenceCall) -> None:
        frame = self.notification_frame("elicitation_complete", {"elicitationId": ""})
        call.outlet({**frame, "params": {}})


@keeps("elicitation:complete:id")
class VisitsToldTwice(TellsOfVisits):
    """Tells twice that a page was visited."""

    def done(self, call: ReferenceCall) -> None:
        super().done(call)
        super().done(call)


@breaks("elicitation:complete:own-client")
class VisitsOfOthers(TellsOfVisits):
    """Tells that another user has visited a page."""

    def done(self, call: ReferenceCall) -> None:
        call.tell("elicitation_complete", {"elicitationId": "visit-2"})


@keeps("elicitation:complete:own-client")
class VisitsToldLater(TellsOfVisits):
    """Tells outside of the call that the page was visited."""

    def done(self, call: ReferenceCall) -> None:
        self.tell("elicitation_complete", {"elicitationId": PAGE["elicitationId"]})


class WantsVisits(AsksForVisits):
    """Fails until the user has visited pages."""

    data: ClassVar[Any] = {"elicitations": [PAGE]}

    async def run_fail(self, call: ReferenceCall, arguments: Json) -> Json:
        if not self.may_visit():
            return text_result("no page can be visited")
        code = self.profile.errors.url_elicitation_required
        raise Failure(code or 0, "Please visit the page", self.data)


@breaks("elicitation:required:list")
class WantsVisitsWithoutList(WantsVisits):
    """Does not list the pages."""

    data: ClassVar[Any] = {"url": PAGE["url"]}


@keeps("elicitation:required:list")
class WantsOneVisit(WantsVisits):
    """Lists one page."""


@breaks("elicitation:required:only-url")
class WantsNoVisit(WantsVisits):
    """Lists no page at all."""

    data: ClassVar[Any] = {"elicitations": []}


@keeps("elicitation:required:only-url")
class WantsTwoVisits(WantsVisits):
    """Lists two pages."""

    data: ClassVar[Any] = {"elicitations": [PAGE, {**PAGE, "elicitationId": "visit-2"}]}


@breaks("elicitation:required:entries")
class WantsForms(WantsVisits):
    """Lists a form among the pages."""

    data: ClassVar[Any] = {"elicitations": [PAGE, {**PAGE, "mode": "form"}]}


@keeps("elicitation:required:entries")
class WantsVisitsToOnePage(WantsVisits):
    """Lists one page twice, with two ids."""

    data: ClassVar[Any] = {"elicitations": [PAGE, {**PAGE, "elicitationId": ""}]}
