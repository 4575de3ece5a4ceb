"""Client answers to task-augmented requests: for a server's tasks, and as tasks of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen import Client, ClientSession, McpError
from mcp_gen.client.callbacks import own_tasks
from mcp_wire import latest
from tests.client.scripted import Recorded, client_violations
from tests.client.tasks.core_server import REVISION, CoreServer
from tests.support.peers.asked import WAIT_S

RELATED = "io.modelcontextprotocol/related-task"
FORM: dict[str, Any] = {
    "message": "Name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
SAMPLE: dict[str, Any] = {"maxTokens": 5, "messages": []}
UNKNOWN = {
    "code": -32602,
    "message": "no such task: it is unknown, or its time is over - at `$.taskId`",
}


class Model:
    """Sampling handler that a test can hold."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, session: ClientSession, params: Any) -> latest.CreateMessageResult:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        said = latest.TextContent(text="42")
        return latest.CreateMessageResult(role="assistant", content=said, model="m")


class Asking(CoreServer):
    """Server that sends requests, and returns the members of `result` or `error`."""

    async def ask(self, method: str, **params: Any) -> Any:
        id = f"{method} {len(self.came)}"
        self.send(id=id, method=method, params=params)
        frame: Any = None
        while frame is None or frame["id"] != id:
            frame = await self.next(None)
        return frame.get("result", frame.get("error"))

    async def begin(self, **task: Any) -> str:
        made = await self.ask("sampling/createMessage", **SAMPLE, task=task)
        return str(made["task"]["taskId"])

    async def status(self, id: str) -> str:
        return str((await self.ask("tasks/get", taskId=id))["status"])


@asynccontextmanager
async def asking(**options: Any) -> AsyncGenerator[Asking]:
    """Connect a server that may send requests; the client's frames are checked."""
    server = Asking()
    recorded = Recorded(server)
    async with Client("c", **options) as client:
        await client.connect(recorded, revision=REVISION)
        yield server
    assert client_violations(REVISION, recorded.frames) == []


def form(session: ClientSession, params: Any) -> dict[str, str]:
    return {"name": "Ada"}


# --- answers for tasks of the server ---


@pytest.mark.parametrize(
    ("method", "params"),
    [("elicitation/create", FORM), ("sampling/createMessage", SAMPLE), ("roots/list", {})],
)
async def test_an_answer_says_which_task_it_belongs_to(method: str, params: Any) -> None:
    model = Model()
    model.go_on.set()
    about = {RELATED: {"taskId": "t1"}}
    async with asking(elicitation=form, sampling=model, roots=[]) as server:
        answer = await server.ask(method, **params, _meta=about)
        plain = await server.ask(method, **params)
    assert (answer["_meta"], "_meta" in plain) == (about, False)


async def test_what_a_task_asks_is_answered_while_its_result_is_awaited() -> None:
    server = Asking("input_required", "completed")
    done = server.replies["tasks/result"]
    asked: list[Any] = []

    def silent(params: Any) -> None:
        server.send(id="q", method="elicitation/create", params=FORM)

    server.on("tasks/result", silent)
    recorded = Recorded(server)
    async with Client("c", elicitation=form) as client:
        session = await client.connect(recorded, revision=REVISION)
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        asked.append(await server.next(None))
        while asked[-1]["id"] != "q":
            asked.append(await server.next(None))
        server.on("tasks/result", done)
        result = await calling
    assert asked[-1]["result"]["content"] == {"name": "Ada"}
    assert not result.is_error


# --- tasks of the client ---


async def test_a_client_declares_what_it_runs_as_tasks_if_it_was_told_to() -> None:
    async with asking(sampling=Model(), tasks=True) as one:
        pass
    async with asking(elicitation=form, tasks=True) as other:
        pass
    assert one.declared["tasks"]["requests"] == {"sampling": {"createMessage": {}}}
    assert other.declared["tasks"]["requests"] == {"elicitation": {"create": {}}}


@pytest.mark.parametrize("options", [{"sampling": Model}, {"tasks": True}])
async def test_a_client_declares_no_tasks_otherwise(options: dict[str, Any]) -> None:
    made = {key: one() if one is Model else one for key, one in options.items()}
    async with asking(**made) as server:
        refused = await server.ask("tasks/list")
    assert (server.declared.get("tasks"), refused["code"]) == (None, -32601)


async def test_a_client_that_declared_none_answers_as_if_no_task_was_asked_for() -> None:
    async with asking(elicitation=form) as server:
        answer = await server.ask("elicitation/create", **FORM, task={})
    assert answer == {"action": "accept", "content": {"name": "Ada"}}


async def test_a_task_is_there_at_once_and_its_result_when_there_is_one() -> None:
    model = Model()
    async with asking(sampling=model, tasks=True) as server:
        id = await server.begin(ttl=5000)
        before = await server.ask("tasks/get", taskId=id)
        model.go_on.set()
        result = await server.ask("tasks/result", taskId=id)
        after = await server.ask("tasks/get", taskId=id)
    assert (before["status"], before["ttl"], after["status"]) == ("working", 5000, "completed")
    assert result["content"] == {"type": "text", "text": "42"}
    assert result["_meta"] == {RELATED: {"taskId": id}}


async def test_a_task_ends_with_its_connection() -> None:
    model = Model()
    async with asking(sampling=model, tasks=True) as server:
        await server.status(await server.begin())
    assert model.cancelled.is_set()


async def test_whoever_asked_is_told_when_a_task_is_over() -> None:
    model = Model()
    async with asking(sampling=model, tasks=True) as server:
        id = await server.begin()
        model.go_on.set()
        told = await server.next("notifications/tasks/status")
    assert (told["params"]["taskId"], told["params"]["status"]) == (id, "completed")


async def test_a_form_may_be_a_task() -> None:
    async with asking(elicitation=form, tasks=True) as server:
        made = await server.ask("elicitation/create", **FORM, task={})
        result = await server.ask("tasks/result", taskId=made["task"]["taskId"])
    assert (result["action"], result["content"]) == ("accept", {"name": "Ada"})


async def test_a_handler_that_gives_up_leaves_no_task_that_goes_on() -> None:
    async def sampling(session: ClientSession, params: Any) -> latest.CreateMessageResult:
        raise asyncio.CancelledError

    async with asking(sampling=sampling, tasks=True) as server:
        id = await server.begin()
        await server.ask("tasks/result", taskId=id)
        assert await server.status(id) == "failed"


async def test_an_error_of_a_handler_is_what_comes_of_its_task() -> None:
    def refuse(session: ClientSession, params: Any) -> Any:
        raise McpError(-1, "the user said no", {"why": "busy"})

    async with asking(sampling=refuse, tasks=True) as server:
        id = await server.begin()
        result = await server.ask("tasks/result", taskId=id)
        after = await server.ask("tasks/get", taskId=id)
    assert result == {"code": -1, "message": "the user said no", "data": {"why": "busy"}}
    assert (after["status"], after["statusMessage"]) == ("failed", "the user said no")


async def test_a_task_is_called_off_and_stays_so() -> None:
    model = Model()
    async with asking(sampling=model, tasks=True) as server:
        id = await server.begin()
        await server.status(id)
        state = await server.ask("tasks/cancel", taskId=id)
        async with asyncio.timeout(WAIT_S):
            await model.cancelled.wait()
        again = await server.ask("tasks/cancel", taskId=id)
        result = await server.ask("tasks/result", taskId=id)
        assert await server.status(id) == "cancelled"
    assert (state["status"], again["code"]) == ("cancelled", -32602)
    assert result == {"code": -32602, "message": "the task was cancelled"}


async def test_whoever_waits_for_a_task_hears_that_it_was_called_off() -> None:
    async with asking(sampling=Model(), tasks=True) as server:
        id = await server.begin()
        server.send(id="waits", method="tasks/result", params={"taskId": id})
        server.send(id="ends", method="tasks/cancel", params={"taskId": id})
        answers = [await server.next(None), await server.next(None)]
    by_id = {one["id"]: one for one in answers}
    assert by_id["ends"]["result"]["status"] == "cancelled"
    assert by_id["waits"]["error"]["message"] == "the task was cancelled"


async def test_tasks_are_listed_on_one_page() -> None:
    async with asking(sampling=Model(), tasks=True) as server:
        ids = [await server.begin(), await server.begin()]
        page = await server.ask("tasks/list")
        beyond = await server.ask("tasks/list", cursor="2")
    assert [one["taskId"] for one in page["tasks"]] == ids
    assert ("nextCursor" in page, beyond["code"]) == (False, -32602)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_a_task_that_nobody_made_is_invalid(method: str) -> None:
    async with asking(sampling=Model(), tasks=True) as server:
        assert await server.ask(method, taskId="?") == UNKNOWN


async def test_there_are_not_more_tasks_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_tasks, "MAX_TASKS", 1)
    async with asking(sampling=Model(), tasks=True) as server:
        await server.begin()
        refused = await server.ask("sampling/createMessage", **SAMPLE, task={})
    assert refused == {"code": -32603, "message": "too many tasks; wait until some end"}


async def test_a_task_is_gone_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    now = 1000.0
    monkeypatch.setattr(
        "mcp_gen.client.callbacks.own_tasks.time", SimpleNamespace(time=lambda: now)
    )
    async with asking(sampling=model, tasks=True) as server:
        id = await server.begin(ttl=2000)
        await server.status(id)
        now = 1003.0
        page = await server.ask("tasks/list")
        assert await server.ask("tasks/get", taskId=id) == UNKNOWN
        async with asyncio.timeout(WAIT_S):
            await model.cancelled.wait()
    assert page["tasks"] == []
