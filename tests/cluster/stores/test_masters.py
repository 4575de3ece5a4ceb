"""The suites of the contracts over a Cluster of three masters, and over Sentinels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_gen.cluster.redis.addresses import ClusterAddress, RedisAddress, SentinelAddress
from mcp_gen.cluster.redis.events import RedisEvents
from mcp_gen.cluster.redis.once import RedisOnce
from mcp_gen.cluster.redis.sessions import RedisSessions
from mcp_gen.cluster.redis.states import RedisStates
from mcp_gen.cluster.redis.tasks import RedisTasks
from mcp_gen.testing.stores import (
    EventStoreSuite,
    OnceStoreSuite,
    SessionStoreSuite,
    StateStoreSuite,
    TaskStoreSuite,
)
from tests.cluster.stores.opening import OverRedis, keys_for_ever
from tests.support.processes.redis_failover import SERVICE, SentinelPair
from tests.support.processes.redis_server import RedisServer


class OverCluster(OverRedis):
    """Opens stores over three masters: a key in another slot than its script's is an error."""

    @pytest.fixture(autouse=True)
    def _server(self, masters: list[RedisServer]) -> Iterator[None]:
        self.servers = masters
        for master in masters:
            master.run("FLUSHALL")
        yield
        assert keys_for_ever(masters) == []

    def address(self) -> RedisAddress:
        return ClusterAddress(self.servers[0].url)


class OverSentinels(OverRedis):
    """Opens stores over the master that a Sentinel names."""

    @pytest.fixture(autouse=True)
    def _server(self, sentinels: SentinelPair) -> Iterator[None]:
        self.servers = [sentinels.master]
        self.port = sentinels.port
        sentinels.master.run("FLUSHALL")
        yield
        assert keys_for_ever(self.servers) == []

    def address(self) -> RedisAddress:
        return SentinelAddress([("127.0.0.1", self.port)], SERVICE, {})


class TestClusterEvents(OverCluster, EventStoreSuite):
    make = RedisEvents


class TestClusterSessions(OverCluster, SessionStoreSuite):
    make = RedisSessions


class TestClusterTasks(OverCluster, TaskStoreSuite):
    make = RedisTasks


class TestClusterOnce(OverCluster, OnceStoreSuite):
    make = RedisOnce


class TestClusterStates(OverCluster, StateStoreSuite):
    make = RedisStates


class TestSentinelEvents(OverSentinels, EventStoreSuite):
    make = RedisEvents


class TestSentinelSessions(OverSentinels, SessionStoreSuite):
    make = RedisSessions


class TestSentinelTasks(OverSentinels, TaskStoreSuite):
    make = RedisTasks


class TestSentinelOnce(OverSentinels, OnceStoreSuite):
    make = RedisOnce


class TestSentinelStates(OverSentinels, StateStoreSuite):
    make = RedisStates
