"""examples/tasks_server.py, at a revision of each kind: the same tool by three protocols."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Server
from tests.server.tasks.raw_client import WITHOUT, conversing, directed
from tests.support.frames import encoded
from tests.support.peers.answering import ASKS, accept

EXAMPLE = Path(__file__).parents[3] / "examples/tasks_server.py"
YES = accept(print_it=True)
PRINTED = "1 pages were printed"


@pytest.fixture
def server() -> Server:
    """Return the example's server."""
    made: Server = runpy.run_path(str(EXAMPLE))["server"]
    return made


async def answer(client: Any) -> None:
    asked = await client.came("elicitation/create")
    client.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "result": YES}))


async def test_a_client_that_wants_a_task_gets_one(server: Server) -> None:
    async with conversing(server) as client:
        id = await client.make("print_report", pages=1)
        await answer(client)
        assert await client.text(id) == PRINTED


async def test_a_client_that_knows_the_extension_gets_one(server: Server) -> None:
    async with directed(server) as client:
        id = await client.begin("print_report", pages=1)
        task = await client.standing(id, "input_required")
        assert task["statusMessage"] == "page 1 of 1 is set"
        (key,) = task["inputRequests"]
        await client.ask("tasks/update", taskId=id, inputResponses={key: YES})
        task = await client.standing(id, "completed")
        assert task["result"]["content"][0]["text"] == PRINTED


@pytest.mark.parametrize("revision", [one for one in WITHOUT if one in ASKS])
async def test_a_client_that_knows_of_none_waits(server: Server, revision: str) -> None:
    async with conversing(server, revision) as client:
        call = client.send("tools/call", name="print_report", arguments={"pages": 1})
        await answer(client)
        assert (await client.answer(call))["content"][0]["text"] == PRINTED
