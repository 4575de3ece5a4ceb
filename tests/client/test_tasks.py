"""A call that becomes a task, at the revision that has them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Client, InvalidParams, ProtocolError
from mcp_wire import v2025_11_25
from tests.client.using import using
from tests.support.scripted import Scripted, opening

REVISION = "2025-11-25"
NOW = "2026-07-28T12:00:00Z"
TASK = {"taskId": "t1", "status": "working", "createdAt": NOW, "lastUpdatedAt": NOW, "ttl": None}
DONE = {"content": [{"type": "text", "text": "done"}]}
LATER = v2025_11_25.TaskMetadata(ttl=1000)
results = pytest.mark.parametrize("results", [None, "2025-06-18", "2026-07-28"])


def server(answer: dict[str, Any]) -> Scripted:
    answers = {
        "tasks/get": lambda _: {**TASK, "status": "completed"},
        "tasks/result": lambda _: DONE,
    }
    return Scripted({**opening(REVISION), "tools/call": lambda _: answer, **answers})


@results
async def test_a_call_that_is_to_be_a_task_returns_it(results: str | None) -> None:
    far = await server({"task": TASK}).start()
    async with using(Client("c"), far, REVISION, results=results) as session:
        begun: Any = await session.call_tool("work", {}, task=LATER)
    assert begun == v2025_11_25.CreateTaskResult(
        task=v2025_11_25.Task(
            task_id="t1", status="working", created_at=NOW, last_updated_at=NOW, ttl=None
        )
    )


async def test_a_task_is_asked_for_and_fetched() -> None:
    async with using(Client("c"), await server({"task": TASK}).start(), REVISION) as session:
        task = await session.get_task("t1")
        outcome = await session.get_task_payload("t1")
    assert (task.status, outcome) == ("completed", DONE)


@results
async def test_a_server_may_answer_at_once_all_the_same(results: str | None) -> None:
    far = await server(DONE).start()
    async with using(Client("c"), far, REVISION, results=results) as session:
        result = await session.call_tool("work", {}, task=LATER)
    assert result.content[0].text == "done"


async def test_a_task_that_nobody_asked_for_is_a_protocol_error() -> None:
    async with using(Client("c"), await server({"task": TASK}).start(), REVISION) as session:
        with pytest.raises(ProtocolError, match="CreateTaskResult, unasked for"):
            await session.call_tool("work", {})


async def test_what_is_neither_result_nor_task_is_invalid() -> None:
    async with using(Client("c"), await server({"task": {}}).start(), REVISION) as session:
        with pytest.raises(InvalidParams, match="required field `content`"):
            await session.call_tool("work", {}, task=LATER)
