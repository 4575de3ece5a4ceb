"""A node's link to the others: what it does again while the stores are down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.session.cluster import link
from mcp_gen.session.cluster.link import ClusterLink
from tests.support.peers.asked import WAIT_S


class Down:
    """A cluster that can be used again after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def is_up(self) -> bool:
        self.looks -= 1
        return self.looks < 0


class Link(ClusterLink):
    """A link of a node without sessions."""

    def tell_missed(self, session_id: str, node: str, topics: Iterable[bytes]) -> None:
        raise AssertionError("no session")

    def tell(self, session_id: str, topics: Iterable[bytes]) -> None:
        raise AssertionError("no session")

    def recover_soon(self, session_id: str) -> None:
        raise AssertionError("no session")


def linked(cluster: Any) -> ClusterLink:
    limits: Any = SimpleNamespace(idle_s=60.0)
    return Link(cluster, limits)


async def test_what_failed_is_tried_again_once_the_stores_can_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "LOOKS_EVERY_S", 0.001)
    cluster, tried_at = Down(looks=3), list[int]()

    async def work() -> None:
        tried_at.append(cluster.looks)
        if cluster.looks >= 0:
            raise StoreDown("down")

    async with asyncio.timeout(WAIT_S):
        await linked(cluster).retry(work, lambda: True)
    assert tried_at == [3, -1]


async def test_what_is_not_needed_any_more_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "LOOKS_EVERY_S", 0.001)
    tried = list[int]()

    async def work() -> None:
        tried.append(1)
        raise StoreDown("down")

    async with asyncio.timeout(WAIT_S):
        await linked(Down(looks=0)).retry(work, lambda: len(tried) < 2)
    assert tried == [1, 1]
