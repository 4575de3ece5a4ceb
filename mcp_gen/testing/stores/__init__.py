"""Test suites of the stores that a cluster shares: one class for each contract.

    from contextlib import asynccontextmanager
    from mcp_gen.testing.stores import EventStoreSuite

    class TestMyEventStore(EventStoreSuite):
        @asynccontextmanager
        async def open_stores(self, count):
            async with my_database() as database:
                yield [MyEventStore(database) for _ in range(count)]

Each test opens stores that share their data, which is empty at first. The tests run an event loop
of their own: pytest needs no plugin. `pytest.register_assert_rewrite("mcp_gen.testing")` in a
`conftest.py` makes failed assertions tell more.
"""

from .bus import BusSuite
from .events import EventStoreSuite
from .once import OnceStoreSuite
from .sessions import SessionStoreSuite
from .states import StateStoreSuite
from .tasks import TaskStoreSuite

__all__ = [
    "BusSuite",
    "EventStoreSuite",
    "OnceStoreSuite",
    "SessionStoreSuite",
    "StateStoreSuite",
    "TaskStoreSuite",
]
