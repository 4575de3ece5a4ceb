"""A bridge over pipes: the oldest client and the newest server, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from tests.bridge.programs import before_handshake, before_per_request
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS

OLDEST = mcp_wire.REVISIONS[0]


@pytest.mark.parametrize(
    ("revision", "make"),
    [
        (OLDEST, before_per_request),
        (PER_REQUEST, before_handshake),
        (PER_REQUEST, before_per_request),
        (HANDSHAKE, before_handshake),
    ],
)
async def test_a_server_in_a_process_of_its_own_serves_a_client_over_pipes(
    revision: str, make: Any
) -> None:
    async with talk(make, revision, over="stdio", answers=ANSWERS) as client:
        assert await client.text("price", thing="rope") == "rope: 3"
        assert await client.text("look") == "file:///home"
