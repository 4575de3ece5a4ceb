"""Lives of tasks in a transcript: what the server told of each, and what its client asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.conversation import conversation, is_request
from mcp_gen.compat.views.task_traffic import created_tasks, states_by_task
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent, WireFrame
    from mcp_gen.compat.views.task_traffic import TaskExchange, ToldState

__all__ = ["TaskLife", "declared_by_client", "interval_ms", "task_lives"]


class TaskLife(Struct, frozen=True):
    """A call that was answered with a task, and what came of the task.

    Args:
        id: Id of the task.
        call: The call, and the answer that tells of the task.
        told: States of the task that the server has told, in order, beginning with the answer.
        asked: Requests of the client about the task, in order, also those without an answer.
    """

    id: str
    call: TaskExchange
    told: list[ToldState]
    asked: list[WireFrame]

    @property
    def tool(self) -> str:
        """Name of the tool."""
        return str(self.call.params.get("name"))

    @property
    def last_event(self) -> WireEvent:
        """The last that was told of the task or asked about it."""
        events = [self.told[-1].event, *(one.event for one in self.asked)]
        return max(events, key=lambda one: one.number)

    def requests(self, *names: str) -> list[WireFrame]:
        """Return the requests about the task that have one of some methods, by Python names."""
        return [one for one in self.asked if python_name(str(one.members["method"])) in names]

    def asking(self, *by: str) -> list[ToldState]:
        """Return the states that tell that the task asks for something, told in some ways."""
        return [one for one in self.told if one.by in by and one.status == "input_required"]


def task_lives(transcript: Transcript) -> list[TaskLife]:
    """Return the tasks that calls of the client were answered with, oldest first."""
    return transcript.derived(_lives)


def _lives(transcript: Transcript) -> list[TaskLife]:
    told = states_by_task(transcript)
    asked: dict[str, list[WireFrame]] = {}
    for frame in conversation(transcript):
        if frame.event.sender == "client" and is_request(frame.members):
            for id in _tasks_of(frame.members):
                asked.setdefault(id, []).append(frame)
    return [
        TaskLife(id, call, told[id], asked.get(id, []))
        for call, state in created_tasks(transcript)
        for id in [str(state["taskId"])]
    ]


def _tasks_of(request: Json) -> list[str]:
    """Return the tasks that a request is about, or wants news of."""
    id = member(request, "params", "taskId")
    news = member(request, "params", "notifications", "taskIds")
    named: list[Any] = news if is_array(news) else [id]
    return [one for one in named if isinstance(one, str)]


def interval_ms(state: Json | None) -> int | None:
    """Return the milliseconds that a state asks to wait between two requests; None for none."""
    for name in ("pollIntervalMs", "pollInterval"):
        said = member(state, name)
        if isinstance(said, int) and not isinstance(said, bool):
            return said
    return None


def declared_by_client(transcript: Transcript) -> Json:
    """Return the capabilities that the client has declared in its handshake; empty for none."""
    return transcript.derived(_declared)


def _declared(transcript: Transcript) -> Json:
    handshake = profile_of(transcript.revision).handshake
    for event, frame in conversation(transcript):
        if event.sender == "client" and handshake and frame.get("method") == handshake.name:
            found = member(frame, "params", "capabilities")
            return found if is_object(found) else {}
    return {}
