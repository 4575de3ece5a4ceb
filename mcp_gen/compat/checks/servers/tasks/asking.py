"""Checks of servers that make tasks of their questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.task_traffic import questions
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.transcript import Transcript

CAPABILITIES = {
    "elicit": ("elicitation", "create"),
    "create_message": ("sampling", "createMessage"),
}
"""Path of the capability to take a question as a task, below `tasks.requests`."""


def client_declared(transcript: Transcript) -> Json:
    """Return the capabilities that the client has declared in its handshake."""
    handshake = profile_of(transcript.revision).handshake
    for _, frame in transcript.frames("client"):
        if handshake is not None and frame.get("method") == handshake.name:
            return member(frame, "params", "capabilities") or {}
    return {}


@rule("tasks:asking:declared", unseen="the server asked nothing that a task can be made of")
def only_clients_that_take_tasks_are_asked_for_them(transcript: Transcript, found: Found) -> None:
    declared = member(client_declared(transcript), "tasks", "requests")
    for name, path in CAPABILITIES.items():
        for question in questions(transcript, name):
            found.saw()
            if member(question.request, "params", "task") is None:
                continue
            if member(declared, *path) is None:
                expected = "a question is to be a task only of clients that declare it"
                came = f"the client has not declared `tasks.requests.{'.'.join(path)}`"
                found.broken(expected, came, question.event, where="$.params.task")
