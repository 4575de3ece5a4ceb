"""Tasks of killed clients over sockets: read by another client, many at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Server, TaskGone, ToolTask, text_of
from mcp_gen.server.tasks.options import Tasks
from tests.server.tasks.killed_client import ANN
from tests.support.frames import ALL
from tests.support.http.loopback import Web, serving
from tests.support.peers.raw import WAIT_S

WITH = [one for one in ALL if mcp_wire.profile(one).tasks != "none"]
"""Revisions with tasks."""
BOB = {"authorization": "Bearer bob"}
TTL_S = 100.0
AT_ONCE = 20
"""Number of concurrent calls; the tasks continue all the while."""


class Far:
    """Server behind HTTP with releasable tasks and a movable clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.released = asyncio.Event()
        tasks = Tasks(ttl_s=TTL_S, poll_interval_s=0.05, grace_s=0, clock=lambda: self.now_s)
        self.server = Server("far", tasks=tasks)

        @self.server.tool(task="required")
        async def hold(number: int) -> int:
            """Wait for the release."""
            await self.released.wait()
            return number

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Web]:
        async with serving(self.server.asgi(principal=bearer)) as web:
            yield web


def bearer(scope: Any) -> str | None:
    """Return the principal: an unverified bearer token."""
    found = dict(scope["headers"]).get(b"authorization")
    return None if found is None else found.decode().removeprefix("Bearer ")


@asynccontextmanager
async def connected(web: Web, revision: str, who: dict[str, str]) -> AsyncIterator[ClientSession]:
    async with Client("test", tasks=True) as client:
        yield await client.connect(web.url, revision=revision, headers=who)


async def killed(web: Web, revision: str, number: int) -> list[str]:
    """Return the ids of tasks whose client was killed while it waited for them."""
    words = ("-m", "tests.server.tasks.killed_client", web.url, revision, str(number))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(WAIT_S):
            assert process.stdout is not None
            return (await process.stdout.readline()).decode().split()
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("revision", WITH)
async def test_tasks_of_a_client_that_was_killed_are_finished_and_read_by_another(
    revision: str,
) -> None:
    far = Far()
    async with far() as web:
        ids = await killed(web, revision, 3)
        assert len(ids) == 3
        async with connected(web, revision, ANN) as session:
            tasks = [session.task(id) for id in ids]
            assert await statuses(session, tasks) == ["working"] * 3
            far.released.set()
            results = [await one.result() for one in tasks]
    assert [text_of(one) for one in results] == ["0", "1", "2"]


@pytest.mark.parametrize("revision", WITH)
async def test_a_thousand_tasks_at_once_are_their_principals_alone_and_go_with_their_time(
    revision: str,
) -> None:
    far = Far()
    async with (
        far() as web,
        connected(web, revision, ANN) as session,
        connected(web, revision, BOB) as other,
    ):
        tasks: list[ToolTask] = []
        for first in range(0, 1000, AT_ONCE):
            numbers = range(first, first + AT_ONCE)
            starting = (session.start_tool("hold", {"number": one}) for one in numbers)
            tasks += await asyncio.gather(*starting)
        ids = {task.id for task in tasks}
        assert (len(ids), {task.status for task in tasks}) == (1000, {"working"})
        # Without `tasks/list` each task is polled by itself, so a sample must do.
        some = tasks if session.profile.tasks == "core" else tasks[::AT_ONCE]
        assert await statuses(session, some) == ["working"] * len(some)
        await unknown(other, tasks)

        far.released.set()
        results = await asyncio.gather(*(task.result() for task in tasks[::AT_ONCE]))
        assert [text_of(one) for one in results] == [str(one) for one in range(0, 1000, AT_ONCE)]
        assert await statuses(session, some) == ["completed"] * len(some)

        far.now_s += TTL_S
        await unknown(session, tasks)


async def statuses(session: ClientSession, tasks: list[ToolTask]) -> list[str | None]:
    """Return the status of tasks: from `tasks/list` where it exists, else from each task."""
    if session.profile.tasks == "core":
        listed = {task.id: task.status async for task in session.tasks()}
        return [listed.pop(task.id) for task in tasks]
    found: list[str | None] = []
    for first in range(0, len(tasks), AT_ONCE):
        asking = (session.task(str(one.id)).refresh() for one in tasks[first : first + AT_ONCE])
        found += [state.status for state in await asyncio.gather(*asking) if state]
    return found


async def unknown(session: ClientSession, tasks: list[ToolTask]) -> None:
    """Check that sampled tasks are unknown here, and that none is listed."""
    if session.profile.tasks == "core":
        assert [task async for task in session.tasks()] == []
    for task in tasks[::AT_ONCE]:
        with pytest.raises(TaskGone):
            await session.task(str(task.id)).refresh()
