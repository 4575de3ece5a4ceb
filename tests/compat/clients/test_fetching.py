"""The listener for requests that nobody is to make."""

from __future__ import annotations

import asyncio
import gc

import pytest

from mcp_gen.compat.scenarios.fetching import FetchListener


@pytest.mark.filterwarnings("error::ResourceWarning")
async def test_a_listener_whose_start_is_cancelled_leaves_no_socket_open() -> None:
    for turns in range(6):
        listener = FetchListener(print)
        starting = asyncio.ensure_future(listener.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await listener.aclose()
        # A lost socket warns when it is collected, and fails the test.
        del listener, starting
        gc.collect()
