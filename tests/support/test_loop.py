"""The harness of the async tests detects failures."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.loop import run_clean


def test_a_task_that_a_test_leaves_behind_fails_it() -> None:
    async def leaves_a_task() -> None:
        kept.append(asyncio.create_task(asyncio.Event().wait()))

    kept: list[asyncio.Task[bool]] = []
    with pytest.raises(AssertionError, match="left tasks behind"):
        run_clean(leaves_a_task())


def test_an_exception_that_nobody_looked_at_fails_the_test() -> None:
    async def raises_beside_itself() -> None:
        asyncio.get_running_loop().call_soon(int, "no number")
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="something to complain"):
        run_clean(raises_beside_itself())


def test_what_an_async_test_raises_fails_it() -> None:
    async def raises() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        run_clean(raises())


async def test_an_async_test_is_run_inside_a_loop() -> None:
    assert asyncio.get_running_loop().is_running()
