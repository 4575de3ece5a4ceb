"""Tasks whose store cannot be reached when they end."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcp_gen import Tasks
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.server.tasks.running import FINISH_TRIES
from tests.cluster.tasks.parts import Node, cluster_of, manager_of
from tests.server.tasks.raw_client import directed
from tests.support.loop import until


def quick() -> Tasks:
    """Return options with which a store is tried again at once."""
    return Tasks(grace_s=0, poll_interval_s=0.001)


class Outage:
    """Outage of a node's store of tasks, until it is over.

    Args:
        node: The node.
    """

    def __init__(self, node: Node) -> None:
        self.tries = 0
        store: Any = manager_of(node).store
        self._store, self._save = store, store.save
        store.save = self._fail

    async def _fail(self, *_: Any) -> bool:
        self.tries += 1
        raise StoreDown("it is down")

    def end(self) -> None:
        """Let the store be reached again."""
        self._store.save = self._save


async def test_the_end_of_a_task_is_stored_however_long_its_store_was_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster_of("a", quick) as (node,), directed(node.server) as client:
        id = await client.begin("slow")
        outage = Outage(node)
        with caplog.at_level(logging.WARNING, "mcp_gen.server"):
            node.work.gate.set()
            await until(lambda: outage.tries > FINISH_TRIES)
            outage.end()
            await client.standing(id, "completed")
    (line,) = [one for one in caplog.records if id in one.getMessage()]
    assert (line.levelno, line.exc_info) == (logging.WARNING, None)


async def test_tasks_of_a_lost_node_are_told_in_one_line_while_their_store_is_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster_of("a", quick) as (node,), directed(node.server) as client:
        for _ in range(3):
            await client.begin("slow")
        with caplog.at_level(logging.WARNING, "mcp_gen.server"):
            Outage(node)
            node.cluster.lapse()
            await until(lambda: "lost tasks" in caplog.text)
            await until(lambda: not manager_of(node).running)
    assert [one.exc_info for one in caplog.records] == [None]
    assert (
        caplog.records[0].getMessage() == "3 lost tasks of this node are not ended yet: it is down"
    )
