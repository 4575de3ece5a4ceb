"""Task ownership, lifetime beyond connections, and HTTP: both task protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import mcp_wire
from mcp_gen import InvalidParams, MethodNotFound
from tests.server.spec.tasks.servers import ASK, TASK_CLIENT, arrives, start, state, working
from tests.support.frames import Speaker
from tests.support.http.asgi import WebClient, request, surfing
from tests.support.peers.asked import SILENCE
from tests.support.peers.connect import talk_to
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

INVALID_PARAMS = InvalidParams.code
NOT_FOUND = MethodNotFound.code
Visit = Callable[..., AbstractAsyncContextManager[Conversation]]


@asynccontextmanager
async def visited(revision: str) -> AsyncIterator[Visit]:
    """Open a server for several clients: `visit(principal="ann")` is a conversation with it."""
    app = working().asgi()
    try:
        yield partial(talk_to, app, revision, capabilities=TASK_CLIENT)
    finally:
        await app.aclose()


def about_tasks(revision: str) -> dict[str, dict[str, Any]]:
    """Return the requests about a task, with their params beside the id."""
    if mcp_wire.profile(revision).handshake:
        return {"tasks/get": {}, "tasks/result": {}, "tasks/cancel": {}}
    return {"tasks/get": {}, "tasks/update": {"inputResponses": {}}, "tasks/cancel": {}}


@requirement("tasks:owner", "tasks-extension:owner")
async def test_what_is_of_another_principal_does_not_exist(revision: str) -> None:
    async with visited(revision) as visit, visit(principal="ann") as ann:
        id = (await start(ann, "hold"))["taskId"]
        for other in ("bob", None, "ANN", ""):
            async with visit(principal=other) as client:
                for method, more in about_tasks(revision).items():
                    theirs = await client.refusal(method, {"taskId": id, **more})
                    nobodys = await client.refusal(method, {"taskId": "nothing", **more})
                    assert theirs.error == nobodys.error
                    assert theirs.code == INVALID_PARAMS
                if client.profile.handshake:
                    assert (await client.request("tasks/list"))["tasks"] == []
        assert (await state(ann, id))["status"] == "working"


@requirement("tasks:owner", "tasks:list:all", "tasks-extension:owner")
async def test_a_task_goes_on_for_its_principal_when_the_connection_has_ended(
    revision: str,
) -> None:
    async with visited(revision) as visit:
        async with visit(principal="ann") as first:
            id = (await start(first, "hold"))["taskId"]
        async with visit(principal="ann") as second:
            assert (await state(second, id))["status"] == "working"
            if second.profile.handshake:
                (listed,) = (await second.request("tasks/list"))["tasks"]
                assert listed["taskId"] == id
            await second.call("release")
            ended = await arrives(second, id, "completed")
            result = ended.get("result") or await second.request("tasks/result", {"taskId": id})
        assert result["content"][0]["text"] == "held"


@requirement("tasks:owner:unlisted")
async def test_who_is_not_told_apart_sees_in_lists_what_is_of_the_session(revision: str) -> None:
    async with visited(revision) as visit, visit() as one, visit() as other:
        id = (await start(one, "hold"))["taskId"]
        assert [task["taskId"] for task in (await one.request("tasks/list"))["tasks"]] == [id]
        assert (await other.request("tasks/list"))["tasks"] == []


@requirement("tasks:owner:unlisted")
async def test_where_nobody_is_told_apart_there_are_no_lists(revision: str) -> None:
    app = working().asgi(stateless=True)
    speaker = Speaker(revision)
    opening = (await request(app, speaker.initialize(0))).json["result"]["capabilities"]
    refused = (await request(app, speaker.request(1, "tasks/list"))).json["error"]
    await app.aclose()
    assert opening["tasks"].keys() == {"cancel", "requests"}
    assert refused["code"] == NOT_FOUND


# --- over HTTP ---


@requirement("tasks:http")
async def test_who_hangs_up_on_a_result_may_come_back_for_it(revision: str) -> None:
    app = working().asgi()
    async with surfing(app, revision) as web:
        task = await web.ask(task_call(web, 1, "hold"))
        id = task.json["result"]["task"]["taskId"]
        first = web.post(web.speaker.request(2, "tasks/result", {"taskId": id}))
        await first.watched()
        first.hang_up()
        await first.ended()
        assert (await web.ask(web.speaker.call(3, "release"))).status == 200
        again = await web.ask(web.speaker.request(4, "tasks/result", {"taskId": id}))
        assert again.json["result"]["content"][0]["text"] == "held"
    await app.aclose()


@requirement("tasks:http:polling")
async def test_the_state_of_a_task_that_asks_comes_as_json(revision: str) -> None:
    app = working().asgi()
    async with talk_to(app, revision, answers={ASK: lambda params: SILENCE}) as client:
        id = (await start(client, "choose"))["taskId"]
        await arrives(client, id, "input_required")
        async with surfing(app, revision) as web:
            reply = await web.ask(web.speaker.request(1, "tasks/get", {"taskId": id}))
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["result"]["status"] == "input_required"
    await app.aclose()


def task_call(web: WebClient, id: int, tool: str) -> bytes:
    return web.speaker.request(id, "tools/call", {"name": tool, "arguments": {}, "task": {}})
