"""The suite of task stores, run over the one in memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp_gen.core.stores.tasks import MemoryTaskStore
from mcp_gen.testing.stores import TaskStoreSuite


class TestMyTaskStore(TaskStoreSuite):
    @asynccontextmanager
    async def open_stores(self, count: int) -> AsyncGenerator[list[MemoryTaskStore]]:
        # `count` stores that share their data, as many nodes would.
        yield [MemoryTaskStore()] * count
