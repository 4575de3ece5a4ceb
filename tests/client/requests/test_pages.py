"""Pagination in the client: cursors are followed to an end that must exist."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, ProtocolError, Server
from tests.client.using import using
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.peers.scripted import MemoryPeer, opening

ITEMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tools": ("tools/list", "tools", {"name": "x", "inputSchema": {"type": "object"}}),
    "resources": ("resources/list", "resources", {"name": "x", "uri": "a://x"}),
    "resource_templates": (
        "resources/templates/list",
        "resourceTemplates",
        {"name": "x", "uriTemplate": "a://{x}"},
    ),
    "prompts": ("prompts/list", "prompts", {"name": "x"}),
}
every_list = pytest.mark.parametrize("what", ITEMS)


def pages_of(what: str, revision: str, after: dict[str | None, str | None]) -> MemoryPeer:
    """Server with one item per page; `after` maps each page's cursor to the next cursor."""
    method, field, item = ITEMS[what]
    hints = mcp_wire.profile(revision).cache_hints
    more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if hints else {}

    def page(params: dict[str, Any]) -> dict[str, Any]:
        cursor = params.get("cursor")
        following = after[cursor]
        end = {} if following is None else {"nextCursor": following}
        return {field: [{**item, "name": cursor or "first"}], **end, **more}

    return MemoryPeer({**opening(revision), method: page})


async def names(session: ClientSession, what: str) -> list[str]:
    return [one.name async for one in getattr(session, what)()]


@every_list
@every_revision
async def test_a_list_is_walked_to_its_end(revision: str, what: str) -> None:
    server = pages_of(what, revision, {None: "b", "b": "c", "c": None})
    async with using(Client("c"), await server.start(), revision) as session:
        assert await names(session, what) == ["first", "b", "c"]


@every_list
@every_revision
async def test_a_list_is_walked_from_a_given_cursor(revision: str, what: str) -> None:
    server = pages_of(what, revision, {None: "b", "b": "c", "c": None})
    async with using(Client("c"), await server.start(), revision) as session:
        walk = getattr(session, what)(cursor="b")
        assert [one.name async for one in walk] == ["b", "c"]


@every_list
@every_revision
async def test_a_cursor_that_leads_back_to_the_given_one_is_an_error(
    revision: str, what: str
) -> None:
    server = pages_of(what, revision, {"b": "c", "c": "b"})
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(ProtocolError, match="leads back"):
            async for _ in getattr(session, what)(cursor="b"):
                pass


@every_list
@every_revision
async def test_a_cursor_that_leads_back_is_an_error(revision: str, what: str) -> None:
    server = pages_of(what, revision, {None: "b", "b": "c", "c": "b"})
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(ProtocolError, match="leads back"):
            await names(session, what)


@every_revision
async def test_endless_pages_are_an_error(revision: str) -> None:
    after: dict[str | None, str | None] = {str(n): str(n + 1) for n in range(100)}
    server = pages_of("tools", revision, {None: "0", **after})
    async with using(Client("c", max_pages=5), await server.start(), revision) as session:
        with pytest.raises(ProtocolError, match="tools: expected at most 5 pages"):
            await names(session, "tools")
    assert sum(one.get("method") == "tools/list" for one in server.asked) == 5


async def test_a_thousand_pages_are_not_too_many() -> None:
    after: dict[str | None, str | None] = {str(n): str(n + 1) for n in range(2000)}
    server = pages_of("tools", PER_REQUEST, {None: "0", **after})
    async with using(Client("c"), await server.start(), PER_REQUEST) as session:
        with pytest.raises(ProtocolError, match="tools: expected at most 1000 pages"):
            await names(session, "tools")


@every_revision
async def test_a_walk_may_be_left_early(revision: str) -> None:
    server = Server("many", page_size=2)
    for n in range(9):
        server.add_tool(lambda: None, name=f"t{n}")
    async with using(Client("c"), server, revision) as session:
        async for tool in session.tools():
            if tool.name == "t3":
                break
        assert len(await names(session, "tools")) == 9
