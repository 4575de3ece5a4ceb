"""Tasks of nodes over a real redis-server: what crosses nodes does so there, too."""

from __future__ import annotations

from tests.cluster.tasks.parts import cluster_of, manager_of, respond
from tests.cluster.tasks.test_core_protocol import attached
from tests.server.tasks.raw_client import conversing, directed, related
from tests.support.loop import until
from tests.support.peers.answering import accept
from tests.support.processes.redis_server import RedisServer


async def test_a_question_goes_out_on_the_request_for_the_result_at_another_node(
    redis_server: RedisServer,
) -> None:
    async with cluster_of(url=redis_server.url) as (a, b):
        async with conversing(a.server) as one, conversing(b.server) as other:
            id = await one.make("greet")
            waiting = other.send("tasks/result", taskId=id)
            await attached(a, id)
            a.work.gate.set()
            asked = await other.came("elicitation/create")
            assert asked["params"]["_meta"] == related(id)
            respond(other, asked, accept(name="Ann"))
            result = await other.answer(waiting)
        assert result["content"][0]["text"] == "Hello, Ann"


async def test_an_answer_and_a_cancel_at_another_node_reach_the_handler(
    redis_server: RedisServer,
) -> None:
    async with cluster_of(url=redis_server.url) as (a, b):
        async with directed(a.server) as one, directed(b.server) as other:
            slow = await one.begin("slow")
            await other.ask("tasks/cancel", taskId=slow)
            await until(lambda: a.work.cancelled)
            a.work.gate.set()
            id = await one.begin("greet")
            (key,) = (await other.standing(id, "input_required"))["inputRequests"]
            answer = {key: accept(name="Bo")}
            await other.ask("tasks/update", taskId=id, inputResponses=answer)
            done = await other.standing(id, "completed")
        assert done["result"]["content"][0]["text"] == "Hello, Bo"
        assert manager_of(a).running == {}
