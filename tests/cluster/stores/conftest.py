"""Redis Cluster and Sentinels take long to start: their tests run with `--full` alone."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.processes.redis_failover import SentinelPair, sentinel_pair
from tests.support.processes.redis_server import RedisServer, redis_cluster

FULL_ALONE = ("test_masters.py", "test_failover.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules that take long."""
    is_left_out = collection_path.name in FULL_ALONE and not config.getoption("full")
    return True if is_left_out else None


@pytest.fixture(scope="session")
def masters(
    _running_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Generator[list[RedisServer]]:
    """Run a Cluster of three masters."""
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture(scope="session")
def sentinels(
    _running_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Generator[SentinelPair]:
    """Run a master, a replica and a Sentinel."""
    with sentinel_pair(tmp_path_factory.mktemp("sentinel")) as pair:
        yield pair
