"""Clients that break the rules of questions to the model and for roots, and their twins."""

from __future__ import annotations

from typing import ClassVar

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.zoo.clients.asking.answering import AnsweringClient
from mcp_gen.compat.zoo.zoo import breaks, keeps

# --- the model ---


@breaks("sampling:client:declared")
class ModelUnsaid(AnsweringClient):
    """Has a model, and does not say so."""

    undeclared = "sampling"


@keeps("sampling:client:declared")
class SaysItHasAModel(AnsweringClient):
    """Says that it has a model, and not what it can; refuses tools."""

    declares: ClassVar[Json] = {"sampling": {}}

    def is_malformed(self, asked: Json) -> bool:
        return "tools" in asked.get("params", {}) or super().is_malformed(asked)


@breaks("sampling:client:validated")
class AsksAnything(AnsweringClient):
    """Asks its model also what is no question."""

    def is_malformed(self, asked: Json) -> bool:
        return not self.is_about(asked, "create_message") and super().is_malformed(asked)


@keeps("sampling:client:validated")
class RefusesEverythingOdd(AnsweringClient):
    """Refuses also a message without words."""

    def is_malformed(self, asked: Json) -> bool:
        messages = asked.get("params", {}).get("messages", [{"content": {"text": "text"}}])
        return super().is_malformed(asked) or not messages[0]["content"].get("text")


class _UsesTools(Answers):
    def create_message(self, params: Json) -> Json:
        made = super().create_message(params)
        if "tools" not in params:
            return made
        name = params["tools"][0]["name"]
        use: Json = {"type": "tool_use", "id": "use-1", "name": name, "input": {}}
        return {**made, "content": use, "stopReason": "toolUse"}


@breaks("sampling:client:tools:declared")
class ToolsUnsaid(AnsweringClient):
    """Has a model that takes tools, and does not say so."""

    declares: ClassVar[Json] = {"sampling": {}}
    answering = _UsesTools


@keeps("sampling:client:tools:declared")
class ToolsSaid(AnsweringClient):
    """Has a model that takes tools, and says so."""

    declares: ClassVar[Json] = {"sampling": {"tools": {}}}
    answering = _UsesTools


@breaks("sampling:client:tools:undeclared")
class PassesOverTools(AnsweringClient):
    """Has a model that takes no tools, and passes over them."""

    declares: ClassVar[Json] = {"sampling": {}}


@keeps("sampling:client:tools:undeclared")
class MayUseTools(AnsweringClient):
    """Has a model that takes tools, and uses none."""

    declares: ClassVar[Json] = {"sampling": {"tools": {}}}


# --- roots ---


@breaks("roots:client:declared")
class RootsUnsaid(AnsweringClient):
    """Has roots, and does not say so."""

    undeclared = "roots"


@keeps("roots:client:declared")
class SaysItHasRoots(AnsweringClient):
    """Says that it has roots, and nothing of changes."""

    declares: ClassVar[Json] = {"roots": {}}


class _WebRoots(Answers):
    def list_roots(self, params: Json) -> Json:
        return {"roots": [{"uri": "https://example.com/"}]}


class _WholeDisk(Answers):
    def list_roots(self, params: Json) -> Json:
        return {"roots": [{"uri": "file:///"}]}


@breaks("roots:client:file-uris")
class WorksOnTheWeb(AnsweringClient):
    """Has a root that is no file."""

    answering = _WebRoots


@keeps("roots:client:file-uris")
class WorksEverywhere(AnsweringClient):
    """Has everything as its root."""

    answering = _WholeDisk


class _NoRoots(Answers):
    code = -32603

    def list_roots(self, params: Json) -> Json:
        raise Failure(self.code, "No roots")


class _UnknownRoots(_NoRoots):
    code = -32601


@breaks("roots:client:errors")
class FailsWithoutRoots(AnsweringClient):
    """Has no roots, and takes that for a fault of its own."""

    undeclared = "roots"
    answering = _NoRoots


@keeps("roots:client:errors")
class KnowsNoRoots(AnsweringClient):
    """Has no roots, and does not know the question."""

    undeclared = "roots"
    answering = _UnknownRoots


class _OtherRoots(Answers):
    def __init__(self) -> None:
        self.asked = 0

    def list_roots(self, params: Json) -> Json:
        self.asked += 1
        return {"roots": [{"uri": f"file:///tmp/{self.asked}"}]}


@breaks("roots:client:changed")
class ChangesSilently(AnsweringClient):
    """Has other roots whenever it is asked, and does not tell."""

    answering = _OtherRoots


@keeps("roots:client:changed")
class TellsOfNewRoots(AnsweringClient):
    """Has other roots whenever it is asked, and tells of that afterwards."""

    answering = _OtherRoots

    async def _answer(self, asked: Json) -> None:
        await super()._answer(asked)
        if self.is_about(asked, "list_roots"):
            await self.tell("roots_list_changed")
