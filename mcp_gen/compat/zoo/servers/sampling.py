"""Servers that break the rules of questions to the model, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

TOOL: Json = {"name": "look", "inputSchema": {"type": "object"}}
QUESTION: Json = {"role": "user", "content": {"type": "text", "text": "What is there?"}}


def use(id: str) -> Json:
    """Return the use of a tool."""
    return {"type": "tool_use", "id": id, "name": "look", "input": {}}


def outcome(id: str) -> Json:
    """Return the result of a use of a tool."""
    return {"type": "tool_result", "toolUseId": id, "content": [{"type": "text", "text": "a cat"}]}


class ChangedQuestions(ReferenceServer):
    """Asks the model in another form."""

    def question_frame(self, name: str, params: Json) -> Json:
        made = super().question_frame(name, params)
        if name != "create_message":
            return made
        return {**made, "params": self.changed(made["params"])}

    def changed(self, params: Json) -> Json:
        """Return other params."""
        return params

    def has(self, part: str) -> bool:
        """Return True if the client has declared a part of sampling."""
        return member(self.client_capabilities, "sampling", part) is not None


@breaks("sampling:tools:undeclared")
class ToolsForAll(ChangedQuestions):
    """Gives tools to every model."""

    def changed(self, params: Json) -> Json:
        return {**params, "tools": [TOOL]}


@keeps("sampling:tools:undeclared")
class ToolsForSome(ChangedQuestions):
    """Gives tools to those that can use them."""

    def changed(self, params: Json) -> Json:
        if not self.has("tools"):
            return params
        return {**params, "tools": [TOOL], "toolChoice": {"mode": "required"}}


@breaks("sampling:context:undeclared")
class ContextOfTheUndeclared(ChangedQuestions):
    """Asks for context where it was not declared."""

    def changed(self, params: Json) -> Json:
        return params if self.has("context") else {**params, "includeContext": "allServers"}


@keeps("sampling:context:undeclared")
class NoContext(ChangedQuestions):
    """Asks for no context, and says so."""

    def changed(self, params: Json) -> Json:
        return {**params, "includeContext": "none"}


@breaks("sampling:context:avoided")
class ContextOfTheDeclared(ChangedQuestions):
    """Asks for context where it was declared."""

    def changed(self, params: Json) -> Json:
        return {**params, "includeContext": "thisServer"} if self.has("context") else params


@keeps("sampling:context:avoided")
class PromptsInPlaceOfContext(ChangedQuestions):
    """Gives the model a prompt, and asks for no context."""

    def changed(self, params: Json) -> Json:
        return {**params, "systemPrompt": "Be short.", "stopSequences": []}


class UsesTools(ChangedQuestions):
    """Shows the model how tools were used, if it can use them."""

    def used(self) -> list[Json]:
        """Return the messages of that."""
        return []

    def changed(self, params: Json) -> Json:
        if not self.has("tools"):
            return params
        return {**params, "tools": [TOOL], "messages": [QUESTION, *self.used()]}


@breaks("sampling:tool-results:alone")
class ResultsAmongTexts(UsesTools):
    """Puts a text beside a tool result."""

    def used(self) -> list[Json]:
        return [
            {"role": "assistant", "content": use("1")},
            {"role": "user", "content": [QUESTION["content"], outcome("1")]},
        ]


@keeps("sampling:tool-results:alone")
class ResultsAmongResults(UsesTools):
    """Puts a tool result beside another one."""

    def used(self) -> list[Json]:
        return [
            {"role": "assistant", "content": [QUESTION["content"], use("1"), use("2")]},
            {"role": "user", "content": [outcome("2"), outcome("1")]},
        ]


@breaks("sampling:tool-results:matched")
class ResultsMissing(UsesTools):
    """Leaves a use of a tool without its result."""

    def used(self) -> list[Json]:
        return [
            {"role": "assistant", "content": [use("1"), use("2")]},
            {"role": "user", "content": outcome("1")},
        ]


@keeps("sampling:tool-results:matched")
class ResultsInTurns(UsesTools):
    """Uses a tool twice, once after the other."""

    def used(self) -> list[Json]:
        return [
            {"role": "assistant", "content": use("1")},
            {"role": "user", "content": outcome("1")},
            {"role": "assistant", "content": [use("2")]},
            {"role": "user", "content": [outcome("2")]},
            QUESTION,
        ]


@breaks("sampling:messages:shape")
class MessagesOfTheSystem(ChangedQuestions):
    """Gives a message a role that there is none of."""

    def changed(self, params: Json) -> Json:
        return {**params, "messages": [{**QUESTION, "role": "system"}]}


@keeps("sampling:messages:shape")
class MessagesOfTheAssistant(ChangedQuestions):
    """Begins with a message of the assistant, whose content is a list."""

    def changed(self, params: Json) -> Json:
        return {
            **params,
            "messages": [{"role": "assistant", "content": [QUESTION["content"]]}, QUESTION],
        }
