"""The short form of `nox -s soak -- kills`, and what it must find."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid

import pytest

from tests.soak import kills
from tests.soak.killed_client import MARK

SHORT = kills.Plan(seed=1, seconds=4, clients=1, commands=1, web=1, kill_every_s=0.7)


async def test_processes_killed_on_both_sides_lose_no_answer_and_leave_nothing_behind() -> None:
    report = await kills.soak(SHORT)
    assert report.wrong == []
    assert report.kills["client"]
    assert sum(report.kills.values()) > report.kills["client"]


async def test_a_process_that_outlives_its_parent_is_named() -> None:
    mark = uuid.uuid4().hex
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "print(flush=True); input()"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, MARK: mark},
    )
    assert process.stdout
    await process.stdout.readline()  # before it has begun, its environment cannot be read
    (left,) = await kills.processes(mark)
    process.kill()
    await process.wait()
    assert "input()" in left
    assert await kills.processes(mark) == []


async def test_a_task_and_a_file_that_are_left_are_named() -> None:
    before = kills.Figures.now()
    read, write = os.pipe()
    (left,) = await kills.left_here(before)
    os.close(read)
    os.close(write)
    assert "files=" in left
    # The task that is left: nobody waits for it.
    task = asyncio.create_task(asyncio.sleep(60))
    (left,) = await kills.left_here(before)
    task.cancel()
    await asyncio.wait([task])
    assert "tasks=" in left
    assert await kills.left_here(before) == []


async def test_what_is_left_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "LOOK_S", 0.0)
    left = [["a task"], ["a task"], []]

    async def look() -> list[str]:
        return left.pop(0)

    assert await kills.settled(look) == []


async def test_what_stays_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "REST_S", 0.0)

    async def look() -> list[str]:
        return ["a task"]

    assert await kills.settled(look) == ["a task"]
