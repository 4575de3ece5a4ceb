"""Kinds of clusters that have the bus; some take long to start, and run with `--full` alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

from mcp_gen.cluster.memory.cluster import MemoryCluster
from mcp_gen.cluster.redis.cluster import Redis
from tests.support.processes.redis_failover import SERVICE, SentinelPair, sentinel_pair
from tests.support.processes.redis_server import RedisServer, redis_cluster

from .nodes import AnyNode

FULL_ALONE = ("test_failover.py",)
"""Modules that are run with `--full` alone: they take long."""

MakeNodes: TypeAlias = Callable[[int], list[AnyNode]]

_prefixes = count()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules that take long."""
    is_left_out = collection_path.name in FULL_ALONE and not config.getoption("full")
    return True if is_left_out else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of the contract on each kind of cluster."""
    if "nodes_of" in metafunc.fixturenames:
        more = ["sentinel", "cluster"] if metafunc.config.getoption("full") else []
        metafunc.parametrize("nodes_of", ["memory", "redis", *more], indirect=True)


@pytest.fixture(scope="session")
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Generator[SentinelPair]:
    """Run a master, a replica and a Sentinel."""
    with sentinel_pair(tmp_path_factory.mktemp("sentinel")) as pair:
        yield pair


@pytest.fixture(scope="session")
def masters(tmp_path_factory: pytest.TempPathFactory) -> Generator[list[RedisServer]]:
    """Run a Cluster of three masters."""
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture
def nodes_of(request: pytest.FixtureRequest, redis_server: RedisServer) -> MakeNodes:
    """Return a function that makes nodes of one cluster."""
    prefix = f"test{next(_prefixes)}"
    if request.param == "sentinel":
        port = request.getfixturevalue("sentinels").port
        return lambda count: [
            Redis.sentinel([("127.0.0.1", port)], SERVICE, prefix=prefix) for _ in range(count)
        ]
    if request.param == "cluster":
        url = request.getfixturevalue("masters")[0].url
        return lambda count: [Redis.cluster(url, prefix=prefix) for _ in range(count)]
    if request.param == "redis":
        return lambda count: [redis_server.node(prefix=prefix) for _ in range(count)]
    first = MemoryCluster()
    return lambda count: [first, *(first.another_node() for _ in range(count - 1))]
