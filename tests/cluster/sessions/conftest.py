"""Tests that run over each store."""

from __future__ import annotations

import pytest

from mcp_gen.cluster import Redis
from tests.cluster.sessions import nodes
from tests.support.processes.redis_server import RedisServer


@pytest.fixture(params=["memory", "redis"])
def each_store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `nodes_of` make nodes over memory, and over Redis."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")

        def clusters(number: int, heartbeat_s: float) -> list[Redis]:
            return [server.node() for _ in range(number)]

        monkeypatch.setattr(nodes, "MAKE_CLUSTERS", clusters)
