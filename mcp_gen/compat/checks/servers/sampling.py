"""Checks of questions to the client's model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.views.dialogue import Dialogue

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.dialogue import ClientQuestion

NO_QUESTION = "the model was asked nothing"
NO_RESULTS = "no tool was used in a question to the model"
DEPRECATED = ("thisServer", "allServers")


def samplings(transcript: Transcript) -> Iterator[ClientQuestion]:
    """Yield the questions to the model."""
    dialogue = transcript.derived(Dialogue)
    method = dialogue.profile.create_message
    for one in dialogue.questions():
        if method is not None and one.asked.get("method") == method.name:
            yield one


def messages(question: ClientQuestion) -> Iterator[tuple[str, Any]]:
    """Yield the messages of a question, with their paths."""
    found = question.params.get("messages")
    for number, message in enumerate(found if is_array(found) else ()):
        yield f"{question.where}.params.messages[{number}]", message


def blocks(message: Any) -> list[Json]:
    """Return the content of a message as blocks."""
    content = member(message, "content")
    return objects(content) if is_array(content) else objects([content])


@rule("sampling:tools:undeclared", unseen=NO_QUESTION)
def tools_are_sent_to_those_who_declare_them(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        found.saw()
        for name in ("tools", "toolChoice"):
            if name in one.params and member(one.capabilities, "sampling", "tools") is None:
                found.broken(
                    "a client that has not declared `sampling.tools` is sent no tools",
                    f"the question has {name}",
                    one.event,
                    where=f"{one.where}.params.{name}",
                )
                break


@rule("sampling:context:undeclared", unseen=NO_QUESTION)
def context_is_asked_of_those_who_declare_it(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        found.saw()
        wanted = one.params.get("includeContext")
        if wanted in DEPRECATED and member(one.capabilities, "sampling", "context") is None:
            found.broken(
                "a client that has not declared `sampling.context` is asked for none",
                f"the question wants that of {wanted}",
                one.event,
                where=f"{one.where}.params.includeContext",
            )


@rule("sampling:context:avoided", unseen=NO_QUESTION)
def no_context_is_asked_for(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        found.saw()
        wanted = one.params.get("includeContext")
        # Of a client that has not declared it, the rule above tells.
        if wanted in DEPRECATED and member(one.capabilities, "sampling", "context") is not None:
            found.broken(
                "no context is asked for",
                f"the question wants that of {wanted}",
                one.event,
                where=f"{one.where}.params.includeContext",
            )


@rule("sampling:tool-results:alone", unseen=NO_RESULTS)
def tool_results_stand_alone(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        for where, message in messages(one):
            kinds = [block.get("type") for block in blocks(message)]
            if "tool_result" not in kinds:
                continue
            found.saw()
            others = [kind for kind in kinds if kind != "tool_result"]
            if others:
                found.broken(
                    "a message with tool results has nothing else",
                    f"it has {others[0]!r} beside them",
                    one.event,
                    where=f"{where}.content",
                )


@rule("sampling:tool-results:matched", unseen=NO_RESULTS)
def each_use_of_a_tool_has_its_result_next(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        open_ids: set[Any] = set()
        used: set[Any] = set()
        for where, message in messages(one):
            given = ids_of(message, "tool_result", "toolUseId")
            if open_ids - given:
                found.broken(
                    "the uses of tools in a message have their results in the next one",
                    f"{sorted(map(str, open_ids - given))[0]!r} has none",
                    one.event,
                    where=where,
                )
            if given - used:
                found.broken(
                    "a tool result belongs to the use of a tool before it",
                    f"{sorted(map(str, given - used))[0]!r} belongs to none",
                    one.event,
                    where=where,
                )
            open_ids = ids_of(message, "tool_use", "id")
            used |= open_ids
            if given or open_ids:
                found.saw()
        if open_ids:
            found.broken(
                "the uses of tools in a message have their results in the next one",
                "no message follows",
                one.event,
                where=f"{one.where}.params.messages",
            )


def ids_of(message: Any, kind: str, member_name: str) -> set[Any]:
    """Return the ids in the blocks of a kind."""
    found = [block.get(member_name) for block in blocks(message) if block.get("type") == kind]
    return {id for id in found if isinstance(id, str)}


@rule("sampling:messages:shape", unseen=NO_QUESTION)
def messages_have_a_role_and_a_content(transcript: Transcript, found: Found) -> None:
    for one in samplings(transcript):
        for where, message in messages(one):
            found.saw()
            if member(message, "role") not in ("user", "assistant"):
                came, name = f"the role is {member(message, 'role')!r}", "role"
            elif not (
                is_object(member(message, "content")) or is_array(member(message, "content"))
            ):
                came, name = f"the content is {member(message, 'content')!r}", "content"
            else:
                continue
            found.broken(
                "a message has a role and a content", came, one.event, where=f"{where}.{name}"
            )
