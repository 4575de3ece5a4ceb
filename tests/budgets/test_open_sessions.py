"""Memory that a session keeps while nothing happens in it: a server has thousands of them."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import pytest

from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import begin, request
from tests.test_walk import adding

# Objects of other versions have other sizes. 3.11 is what CI runs. The reason has the words of
# tests/support/skips.py, as elsewhere in this folder.
pytestmark = [
    pytest.mark.unchecked("checks of what a server says would be counted too"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="counted on 3.11"),
]

WARM, OPENED = 200, 1_000
MOST_BYTES = 2_500
"""A twentieth more than measured."""


async def test_an_idle_http_session_takes_few_bytes() -> None:
    app = adding().asgi()
    speaker = Speaker(HANDSHAKE)

    async def opened(number: int) -> None:
        for _ in range(number):
            session = await begin(app, speaker)
            assert (await request(app, speaker.initialized, session)).status == 202

    try:
        await opened(WARM)
        gc.collect()
        tracemalloc.start()
        try:
            await opened(OPENED)
            gc.collect()
            kept_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept_bytes / OPENED < MOST_BYTES
    finally:
        await app.aclose()
