"""Rules of the extension of tasks, judged by transcripts with one fault or none."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.checks.clients.tasks.extension import only_open_questions_of_tasks_are_answered
from mcp_gen.compat.checks.clients.tasks.following import (
    answers_to_questions_of_tasks_name_the_task,
)
from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.checks.servers.tasks.extension_calls import a_new_task_can_be_asked_for
from mcp_gen.compat.checks.servers.tasks.states import COUNTED, is_counted
from mcp_gen.compat.transcript import Transcript
from mcp_wire.extensions.tasks import EXTENSION
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, encoded

ASKS = {"inputRequests": {"name": {"method": "elicitation/create", "params": {}}}}
ANSWERS = {"inputResponses": {"name": {"action": "decline"}}}
GONE = {"code": -32602, "message": "no such task"}


class Conversation:
    """Requests of a client that declares the extension, each with its answer."""

    def __init__(self) -> None:
        self.transcript = Transcript(PER_REQUEST, "stdio")
        self.found = Found()
        self._speaker = Speaker(PER_REQUEST)
        self._id = 0

    def says(self, method: str, params: dict[str, Any], **answer: Any) -> None:
        """Add a request and its answer: a `result` or an `error`."""
        self._id += 1
        key = str(self._speaker.profile.client_capabilities_key)
        declared = {key: {"extensions": {EXTENSION.identifier: {}}}}
        meta = {**self._speaker.meta, **declared}
        request = self._speaker.request(self._id, method, {**params, "_meta": meta})
        self.transcript.add("client", "message", request)
        self.transcript.add(
            "server", "message", encoded({"jsonrpc": "2.0", "id": self._id, **answer})
        )

    def makes_a_task(self, id: str) -> None:
        """Add a call that is answered with a task."""
        state = {"resultType": "task", **state_of(id, "working")}
        self.says("tools/call", {"name": "slow"}, result=state)

    def asks_for(self, id: str, status: str = "working", **more: Any) -> None:
        """Add a request for the state of a task."""
        result = {"resultType": "complete", **state_of(id, status), **more}
        self.says("tasks/get", {"taskId": id}, result=result)

    def answers(self, id: str) -> None:
        """Add an answer to the question of a task."""
        self.says("tasks/update", {"taskId": id, **ANSWERS}, result={"resultType": "complete"})

    @property
    def came(self) -> list[str]:
        """Faults that were found, as the rule tells them."""
        assert self.found.has_seen
        return [one.came for one in self.found.findings]


def state_of(id: str, status: str) -> dict[str, Any]:
    when = "2026-07-28T12:00:00Z"
    return {"taskId": id, "status": status, "createdAt": when, "lastUpdatedAt": when, "ttlMs": None}


def asking_conversation() -> Conversation:
    """Return one in which a task asks, and its question is answered."""
    one = Conversation()
    one.makes_a_task("a")
    one.asks_for("a", "input_required", **ASKS)
    one.answers("a")
    return one


def test_a_question_that_is_open_may_be_answered() -> None:
    one = asking_conversation()
    only_open_questions_of_tasks_are_answered(one.transcript, one.found)
    assert one.came == []


def test_a_question_that_the_task_still_asks_may_be_answered_again() -> None:
    one = asking_conversation()
    one.asks_for("a", "input_required", **ASKS)
    one.answers("a")
    only_open_questions_of_tasks_are_answered(one.transcript, one.found)
    assert one.came == []


def test_a_question_that_was_answered_is_not_answered_again() -> None:
    one = asking_conversation()
    one.asks_for("a")
    one.answers("a")
    only_open_questions_of_tasks_are_answered(one.transcript, one.found)
    assert one.came == ["the question 'name' was answered before"]


def test_a_task_that_can_be_asked_for_is_all_right_though_another_is_gone() -> None:
    one = Conversation()
    one.makes_a_task("a")
    one.says("tasks/get", {"taskId": "other"}, error=GONE)
    one.asks_for("a")
    a_new_task_can_be_asked_for(one.transcript, one.found)
    assert one.came == []


def test_a_new_task_that_cannot_be_asked_for_is_told() -> None:
    one = Conversation()
    one.makes_a_task("a")
    one.asks_for("other")
    one.says("tasks/get", {"taskId": "a"}, error=GONE)
    a_new_task_can_be_asked_for(one.transcript, one.found)
    assert one.came == ["error -32602"]


@pytest.mark.parametrize(
    ("last", "id", "counted"),
    [
        ("task-1", "task-2", True),
        ("task-2", "task-1", True),
        ("7-a-1", "7-a-2", True),
        ("task-0", f"task-{COUNTED - 1}", True),
        ("task-0", f"task-{COUNTED}", False),
        ("task-1", "task-1", False),
        ("1-1", "2-2", False),
        ("task-1", "job-2", False),
        ("a1b", "a1c", False),
    ],
)
def test_ids_are_counted_if_they_differ_in_one_number_by_little(
    last: str, id: str, counted: bool
) -> None:
    assert is_counted(last, id) is counted


RELATED = str(mcp_wire.profile(HANDSHAKE).related_task_key)
NAMED = {"_meta": {RELATED: {"taskId": "a"}}}


@pytest.mark.parametrize(
    ("question", "answer", "seen", "wrong"),
    [
        (NAMED, {"result": {"action": "decline", **NAMED}}, True, False),
        (NAMED, {"result": {"action": "decline"}}, True, True),
        (NAMED, {"error": {"code": -1, "message": "no"}}, False, False),
        ({}, {"result": {"action": "decline"}}, False, False),
    ],
    ids=["the task is named", "it is not", "an error has no place for it", "no task asks"],
)
def test_the_answer_to_a_question_of_a_task_names_the_task(
    question: dict[str, Any], answer: dict[str, Any], seen: bool, wrong: bool
) -> None:
    transcript, found = Transcript(HANDSHAKE, "stdio"), Found()
    params = {"message": "Name?", "requestedSchema": {"type": "object"}, **question}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}
    transcript.add("server", "message", encoded(asked))
    transcript.add("client", "message", encoded({"jsonrpc": "2.0", "id": 1, **answer}))
    answers_to_questions_of_tasks_name_the_task(transcript, found)
    assert (found.has_seen, bool(found.findings)) == (seen, wrong)
