"""Tasks of 2026-07-28 in a cluster: every node answers for a task that runs at another."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from tests.cluster.tasks.parts import Node, cluster_of
from tests.server.tasks.raw_client import Conversation, directed
from tests.support.loop import until
from tests.support.peers.answering import accept

INVALID_PARAMS, INTERNAL = -32602, -32603
STATUS = "notifications/tasks"


def client_of(node: Node) -> AbstractAsyncContextManager[Conversation]:
    return directed(node.server)


async def asked(client: Conversation, id: str) -> str:
    """Return the key of the only question of a task, once there is one."""
    task = await client.standing(id, "input_required")
    (key,) = task["inputRequests"]
    return str(key)


async def test_another_node_gives_the_status_and_the_result_of_a_task() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("slow")
        assert await other.status(id) == "working"
        a.work.gate.set()
        done = await other.standing(id, "completed")
        assert done["result"]["content"][0]["text"] == "word of a"


async def test_an_answer_at_another_node_reaches_the_handler() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("greet")
        a.work.gate.set()
        key = await asked(other, id)
        updated = await other.ask(
            "tasks/update", taskId=id, inputResponses={key: accept(name="Ann")}
        )
        assert updated["resultType"] == "complete"
        done = await other.standing(id, "completed")
        assert done["result"]["content"][0]["text"] == "Hello, Ann"


async def test_an_answer_that_fits_no_question_is_refused_at_another_node() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("greet")
        a.work.gate.set()
        key = await asked(other, id)
        refused = await other.ask("tasks/update", taskId=id, inputResponses={key: {"roots": 5}})
        assert refused["code"] == INVALID_PARAMS
        assert await asked(other, id) == key


async def test_an_answer_for_a_silent_node_can_be_sent_again() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("greet")
        a.work.gate.set()
        answer = {await asked(other, id): accept(name="Ann")}
        a.cluster.freeze()
        refused = await other.ask("tasks/update", taskId=id, inputResponses=answer)
        assert refused["code"] == INTERNAL
        assert "try again" in refused["message"]
        a.cluster.thaw()
        await other.ask("tasks/update", taskId=id, inputResponses=answer)
        await other.standing(id, "completed")


async def test_an_answer_for_a_lost_node_fails_the_task() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("greet")
        a.work.gate.set()
        answer = {await asked(other, id): accept(name="Ann")}
        await a.cluster.die()
        await other.ask("tasks/update", taskId=id, inputResponses=answer)
        failed = await other.look(id)
        assert failed["status"] == "failed"
        assert failed["error"]["data"] == {"reason": "node_lost"}


async def test_a_task_is_cancelled_where_it_runs_by_a_request_at_another_node() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("slow")
        await other.ask("tasks/cancel", taskId=id)
        await until(lambda: a.work.cancelled)
        assert await other.status(id) == "cancelled"


async def test_a_listener_at_another_node_is_told_of_each_status_once() -> None:
    async with cluster_of() as (a, b), client_of(a) as one, client_of(b) as other:
        id = await one.begin("greet")
        other.send("subscriptions/listen", notifications={"taskIds": [id]})
        await other.came("notifications/subscriptions/acknowledged")
        a.work.gate.set()
        question = await other.told(STATUS)
        assert question["status"] == "input_required"
        (key,) = question["inputRequests"]
        answer = {key: accept(name="Ann")}
        await other.ask("tasks/update", taskId=id, inputResponses=answer)
        told = await other.told(STATUS)
        while told["status"] != "completed":
            assert told["status"] == "working"
            told = await other.told(STATUS)
        await other.look(id)
        assert not [frame for frame in other.client.came if frame.get("method") == STATUS]
