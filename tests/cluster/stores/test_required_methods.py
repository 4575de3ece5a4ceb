"""Stores of users: the old methods suffice in one process, a cluster asks for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_gen import Server
from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.events import EventStore, MemoryEventStore, SharedEventStore, StoredEvent
from mcp_gen.core.stores.failures import require_methods
from mcp_gen.core.stores.sessions import MemorySessionStore, SharedSessionStore
from mcp_gen.core.stores.tasks import MemoryTaskStore, SharedTaskStore
from tests.support.frames import HANDSHAKE
from tests.support.http.asgi import surfing


class PlainStore:
    """An event store as users wrote it before there were clusters."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def append(self, session: str, stream: str, number: int, message: bytes) -> None: ...

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        return None

    def forget(self, session: str) -> None:
        self.forgotten.append(session)


async def test_a_store_with_the_old_methods_suffices_in_one_process() -> None:
    mine = PlainStore()
    store: EventStore = mine
    async with surfing(Server("plain").asgi(event_store=store), HANDSHAKE):
        assert mine.forgotten == []
    assert len(mine.forgotten) == 1


def test_a_store_without_the_methods_of_a_cluster_is_refused_by_their_names() -> None:
    with pytest.raises(UsageError) as caught:
        require_methods(PlainStore(), SharedEventStore, "cluster=")
    assert str(caught.value) == (
        "cluster=: PlainStore has no begin, end, status, write: implement "
        "mcp_gen.core.stores.events.SharedEventStore, or leave the store out"
    )


@pytest.mark.parametrize(
    ("store", "contract"),
    [
        (MemoryEventStore(), SharedEventStore),
        (MemorySessionStore(), SharedSessionStore),
        (MemoryTaskStore(), SharedTaskStore),
    ],
)
def test_the_stores_in_memory_have_all_methods(store: object, contract: type) -> None:
    require_methods(store, contract, "cluster=")
