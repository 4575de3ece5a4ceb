"""Redis servers for tests of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.redis_server import BINARY, RedisServer
from tests.support.skips import in_ci


@pytest.fixture(scope="session")
def _running_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Run one server for the tests of this process."""
    if BINARY is None:
        if in_ci():
            pytest.fail("redis-server is not installed: in CI it must be")
        pytest.skip("redis-server is not installed: `apt install redis-server`")
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_server(_running_redis: RedisServer) -> RedisServer:
    """Return a running, empty server."""
    _running_redis.run("FLUSHALL")
    return _running_redis


@pytest.fixture
def own_redis(_running_redis: RedisServer, tmp_path: Path) -> Iterator[RedisServer]:
    """Run a server of the test's own, which may stop it."""
    with RedisServer(tmp_path) as server:
        yield server
