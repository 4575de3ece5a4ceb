"""The result of a task that its client has cancelled is an error of the client."""

from __future__ import annotations

import asyncio

from mcp_gen import Server
from tests.support.frames import HANDSHAKE
from tests.support.peers.raw import talking


async def test_the_result_of_a_cancelled_task_is_no_internal_error() -> None:
    server = Server("tasks")

    @server.tool(task="required")
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    async with talking(server, HANDSHAKE) as client:
        speaker = client.speaker
        params = {"name": "wait", "arguments": {}, "task": {}}
        made = await client.ask(speaker.request(1, "tools/call", params))
        task = {"taskId": made["result"]["task"]["taskId"]}
        await client.ask(speaker.request(2, "tasks/cancel", task))
        response = await client.ask(speaker.request(3, "tasks/result", task))
    await server.aclose()
    assert response["error"] == {"code": -32602, "message": "the task was cancelled"}
