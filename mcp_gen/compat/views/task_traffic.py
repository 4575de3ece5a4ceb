"""Tasks in a transcript: requests with their answers, states, and questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.task_client import state_in
from mcp_gen.compat.reference.tasks import ENDED
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = [
    "TASKS_OF_QUESTIONS",
    "TaskExchange",
    "TaskQuestion",
    "ToldState",
    "created_tasks",
    "exchanges",
    "listed_tools",
    "news",
    "questions",
    "server_declared",
    "states_by_task",
    "tasks_known",
]

TASKS_OF_QUESTIONS = {
    "elicit": ("elicitation", "create"),
    "create_message": ("sampling", "createMessage"),
}
"""Path of the capability to make a task of a question, below `tasks.requests` of a client."""


class TaskExchange(Struct, frozen=True):
    """A request of the client, and the answer to it.

    Args:
        name: The Python name of the method; empty for an unknown one.
        asked: The message with the request.
        request: The request.
        event: The message with the answer.
        answer: The answer.
    """

    name: str
    asked: WireEvent
    request: Json
    event: WireEvent
    answer: Json

    @property
    def params(self) -> Json:
        """The params; empty if there are none."""
        found = self.request.get("params")
        return found if is_object(found) else {}

    @property
    def meta(self) -> Json:
        """The metadata of the request; empty if there is none."""
        found = self.params.get("_meta")
        return found if is_object(found) else {}

    @property
    def task(self) -> Any:
        """The task that the params name; None for none."""
        return self.params.get("taskId")

    @property
    def result(self) -> Json | None:
        """The result; None if there is none."""
        found = self.answer.get("result")
        return found if is_object(found) else None

    @property
    def error(self) -> Json | None:
        """The error; None if there is none."""
        found = self.answer.get("error")
        return found if is_object(found) else None

    @property
    def events(self) -> tuple[WireEvent, WireEvent]:
        """The request and the answer, as evidence."""
        return self.asked, self.event


class ToldState(Struct, frozen=True):
    """A state of a task that the server has told.

    Args:
        state: The state.
        event: The message with it.
        where: JSON path of the state.
        begun: Number of the event from which on it can have been the state: the request for it, or
            the message itself.
        by: How it was told: `created`, `get`, `list`, `cancel` or `news`.
    """

    state: Json
    event: WireEvent
    where: str
    begun: int
    by: str

    @property
    def status(self) -> Any:
        """The status of the state."""
        return self.state.get("status")

    @property
    def has_ended(self) -> bool:
        """True if the task has ended."""
        return self.status in ENDED


class TaskQuestion(Struct, frozen=True):
    """A request of the server to its client, with its answer.

    Args:
        event: The message with the request.
        request: The request.
        answered: The message with the answer; None if there is none.
    """

    event: WireEvent
    request: Json
    answered: WireEvent | None


def exchanges(transcript: Transcript, *names: str) -> list[TaskExchange]:
    """Return the requests of the client that were answered, in the order of the answers.

    Args:
        transcript: The transcript.
        names: Python names of methods; none for all.
    """
    found = transcript.derived(_exchanges)
    return [one for one in found if one.name in names] if names else found


def _exchanges(transcript: Transcript) -> list[TaskExchange]:
    found = [
        TaskExchange(python_name(str(request["method"])) or "", asked, request, event, answer)
        for asked, request, event, answer in transcript.derived(_answered, "client")
        if event is not None
    ]
    return sorted(found, key=lambda one: one.event.number)


def questions(transcript: Transcript, *names: str) -> list[TaskQuestion]:
    """Return the questions of the server, by the Python names of their methods."""
    return [
        TaskQuestion(asked, request, event)
        for asked, request, event, _ in transcript.derived(_answered, "server")
        if python_name(str(request["method"])) in names
    ]


def _answered(
    transcript: Transcript, asking: str
) -> list[tuple[WireEvent, Json, WireEvent | None, Json]]:
    found: list[tuple[WireEvent, Json, WireEvent | None, Json]] = []
    waiting: dict[str, int] = {}
    for event, frame in transcript.frames():
        id = frame.get("id")
        key = f"{type(id).__name__} {id}"
        if "method" in frame and event.sender == asking:
            if "id" in frame:
                waiting[key] = len(found)
                found.append((event, frame, None, {}))
        elif "method" not in frame and event.sender != asking and key in waiting:
            place = waiting.pop(key)
            found[place] = (*found[place][:2], event, frame)
    return found


def server_declared(transcript: Transcript) -> Json:
    """Return the capabilities that the server has declared; empty if it has not."""
    return transcript.derived(_declared)


def _declared(transcript: Transcript) -> Json:
    profile = profile_of(transcript.revision)
    opening = profile.handshake or profile.discover
    for one in exchanges(transcript):
        found = member(one.result, "capabilities")
        if opening is not None and one.request["method"] == opening.name and is_object(found):
            return found
    return {}


def listed_tools(transcript: Transcript) -> dict[str, Json]:
    """Return the tools that were listed, by name."""
    return transcript.derived(_tools)


def _tools(transcript: Transcript) -> dict[str, Json]:
    return {
        str(tool.get("name")): tool
        for one in exchanges(transcript, "list_tools")
        for tool in objects(member(one.result, "tools"))
    }


def created_tasks(transcript: Transcript) -> list[tuple[TaskExchange, Json]]:
    """Return the calls that were answered with a task, and the state of the task."""
    return transcript.derived(_created)


def _created(transcript: Transcript) -> list[tuple[TaskExchange, Json]]:
    return [
        (one, state)
        for one in exchanges(transcript, "call_tool")
        if (state := state_in(one.result)) is not None
    ]


def tasks_known(transcript: Transcript) -> list[str]:
    """Return the ids of the tasks that were made, oldest first."""
    return [str(state["taskId"]) for _, state in created_tasks(transcript)]


def news(transcript: Transcript) -> Iterator[tuple[WireEvent, Json]]:
    """Yield the notifications of states of tasks, and their params."""
    for event, frame in transcript.frames("server"):
        if "id" not in frame and python_name(str(frame.get("method"))) == "task_status":
            params = frame.get("params")
            yield event, params if is_object(params) else {}


def states_by_task(transcript: Transcript) -> dict[str, list[ToldState]]:
    """Return the states that were told of each task, by its id, in the order they came."""
    return transcript.derived(_by_task)


def _by_task(transcript: Transcript) -> dict[str, list[ToldState]]:
    found: dict[str, list[ToldState]] = {}
    for one in _states(transcript):
        found.setdefault(str(one.state.get("taskId")), []).append(one)
    for states in found.values():
        states.sort(key=lambda one: one.event.number)
    return found


def _states(transcript: Transcript) -> Iterator[ToldState]:
    for one, state in created_tasks(transcript):
        where = "$.result" if state is one.result else "$.result.task"
        yield ToldState(state, one.event, where, one.asked.number, "created")
    for one in exchanges(transcript, "get_task", "cancel_task"):
        if one.result is not None and "taskId" in one.result:
            by = "get" if one.name == "get_task" else "cancel"
            yield ToldState(one.result, one.event, "$.result", one.asked.number, by)
    for one in exchanges(transcript, "list_tasks"):
        for number, state in enumerate(objects(member(one.result, "tasks"))):
            where = f"$.result.tasks[{number}]"
            yield ToldState(state, one.event, where, one.asked.number, "list")
    # Over HTTP a notification comes on a stream of its own, perhaps later than it was sent.
    for event, params in news(transcript):
        begun = 0 if transcript.transport == "http" else event.number
        yield ToldState(params, event, "$.params", begun, "news")
