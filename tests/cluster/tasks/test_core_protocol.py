"""Tasks of 2025-11-25 in a cluster: every node answers for a task that runs at another."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.cluster.tasks.parts import Node, cluster_of, manager_of, respond
from tests.server.tasks.raw_client import conversing, related
from tests.support.frames import encoded
from tests.support.loop import until
from tests.support.peers.answering import accept

INTERNAL, INVALID_PARAMS = -32603, -32602


async def attached(node: Node, id: str) -> None:
    """Wait until a request for the result of a task is attached where the task runs."""
    channel: Any = manager_of(node).running[id].channel
    await until(lambda: channel._channels)


async def test_another_node_gives_the_status_and_the_result_of_a_task() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        assert await other.status(id) == "working"
        a.work.gate.set()
        assert await other.text(id) == "word of a"
        assert await other.status(id) == "completed"


async def test_a_wait_at_another_node_ends_with_the_task_and_not_with_a_poll() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        waiting = other.send("tasks/result", taskId=id)
        await attached(a, id)
        a.work.gate.set()
        async with asyncio.timeout(manager_of(b).options.poll_interval_s / 2):
            result = await other.answer(waiting)
        assert result["content"][0]["text"] == "word of a"


async def test_a_task_is_cancelled_where_it_runs_by_a_request_at_another_node() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        await until(lambda: a.work.began)
        cancelled = await other.ask("tasks/cancel", taskId=id)
        assert cancelled["status"] == "cancelled"
        await until(lambda: a.work.cancelled)
        assert await one.status(id) == "cancelled"


async def test_a_second_cancel_at_another_node_is_refused() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        await one.ask("tasks/cancel", taskId=id)
        refused = await other.ask("tasks/cancel", taskId=id)
        assert refused["code"] == INVALID_PARAMS


async def test_a_question_goes_out_on_the_request_for_the_result_at_another_node() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("greet")
        waiting = other.send("tasks/result", taskId=id)
        await attached(a, id)
        a.work.gate.set()
        asked = await other.came("elicitation/create")
        assert asked["params"]["_meta"] == related(id)
        assert await other.status(id) == "input_required"
        respond(other, asked, accept(name="Ann"))
        result = await other.answer(waiting)
        assert result["content"][0]["text"] == "Hello, Ann"
        assert not [frame for frame in one.client.came if "elicitation" in str(frame)]


async def test_an_error_of_the_client_reaches_the_handler_at_another_node() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("greet")
        waiting = other.send("tasks/result", taskId=id)
        await attached(a, id)
        a.work.gate.set()
        asked = await other.came("elicitation/create")
        refusal = {"code": -1, "message": "the user is away"}
        other.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "error": refusal}))
        result = await other.answer(waiting)
        assert "the user is away" in str(result)


async def test_a_question_moves_to_another_node_if_its_request_ends_there() -> None:
    async with cluster_of("abc") as (a, b, c), conversing(a.server) as one:
        async with conversing(b.server, last=False) as lost:
            id = await one.make("greet")
            lost.send("tasks/result", taskId=id)
            await attached(a, id)
            async with conversing(c.server) as other:
                a.work.gate.set()
                await lost.came("elicitation/create")
                waiting = other.send("tasks/result", taskId=id)
                channel: Any = manager_of(a).running[id].channel
                await until(lambda: len(channel._channels) == 2)
                await lost.client.transport.aclose()
                asked = await other.came("elicitation/create")
                respond(other, asked, accept(name="Bo"))
                result = await other.answer(waiting)
        assert result["content"][0]["text"] == "Hello, Bo"


async def test_a_question_that_is_given_up_is_withdrawn_at_another_node() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("impatient")
        other.send("tasks/result", taskId=id)
        await attached(a, id)
        a.work.gate.set()
        asked = await other.came("elicitation/create")
        withdrawn = await other.told("notifications/cancelled")
        assert withdrawn["requestId"] == asked["id"]
        assert (await other.ask("tasks/cancel", taskId=id))["status"] == "cancelled"


async def test_the_session_that_made_a_task_is_told_of_each_status_once() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("speak")
        await other.status(id)
        a.work.gate.set()
        await other.text(id)
        told = [await one.told("notifications/tasks/status") for _ in range(3)]
        assert [each["statusMessage"] for each in told] == [
            "first words",
            "last words",
            "last words",
        ]
        assert await one.status(id) == "completed"
        rest = [*one.client.came, *other.client.came]
        assert [frame for frame in rest if frame.get("method")] == []


async def test_a_task_of_a_lost_node_fails_and_says_so() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        waiting = other.send("tasks/result", taskId=id)
        await attached(a, id)
        await a.cluster.die()
        failed = await other.look(id)
        assert failed["status"] == "failed"
        assert failed["statusMessage"] == "the node that ran the task is lost"
        error = await other.answer(waiting)
        assert error["code"] == INTERNAL
        assert error["data"] == {"reason": "node_lost"}


async def test_the_result_of_a_node_that_was_taken_for_lost_is_refused() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        await until(lambda: a.work.began)
        running = manager_of(a).running[id]
        a.cluster.freeze(lease_s=0.0)
        assert (await other.look(id))["status"] == "failed"
        a.work.gate.set()
        await until(lambda: running.done and id not in manager_of(a).running)
        assert (await other.look(id))["status"] == "failed"
        assert running.record.status == "failed"


async def test_a_node_that_lost_its_lease_ends_what_it_runs() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        await until(lambda: a.work.began)
        a.cluster.freeze(lease_s=0.0)
        a.cluster.thaw()
        await until(lambda: a.work.cancelled)
        assert (await other.standing(id, "failed"))["statusMessage"].endswith("is lost")


async def test_a_silent_node_is_not_taken_for_lost() -> None:
    async with cluster_of() as (a, b), conversing(a.server) as one, conversing(b.server) as other:
        id = await one.make("slow")
        a.cluster.freeze()
        assert await other.status(id) == "working"
        a.cluster.thaw()
        a.work.gate.set()
        assert await other.text(id) == "word of a"
