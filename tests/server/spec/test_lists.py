"""Lists in pages, and how long a client may keep what it got."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import CacheHints, Context, Server, UsageError
from tests.server.spec.servers import rich
from tests.support.connect import Connect
from tests.support.conversation import Conversation
from tests.support.requirement import requirement


def paged() -> Server:
    """One with pages of two."""
    server = Server("paged", page_size=2, cache=CacheHints(ttl_ms=5000, cache_scope="public"))

    async def said() -> str:
        return ""

    for name in ("a", "b", "c", "d", "e"):
        server.add_tool(said, name=name)
        server.add_prompt(said, name=name)
        server.add_resource(f"test://{name}", name)
        server.add_resource_template(f"test://{name}/{{x}}", _templated, name=name)

    @server.tool
    async def remove(name: str) -> str:
        server.remove_tool(name)
        return "removed"

    @server.tool
    async def add(name: str) -> str:
        server.add_tool(said, name=name)
        return "added"

    return server


async def _templated(x: str) -> str:
    return x


LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


# --- pages ---


@requirement("pagination:cursors:stable")
async def test_a_cursor_stays_good_while_items_come_and_go(connect: Connect) -> None:
    async with connect(paged) as client:
        first = await client.request("tools/list")
        await client.text("remove", name="a")
        await client.text("remove", name="b")
        await client.text("remove", name="d")
        await client.text("add", name="f")
        rest = []
        cursor = first["nextCursor"]
        while cursor is not None:
            page = await client.request("tools/list", {"cursor": cursor})
            rest += [tool["name"] for tool in page["tools"]]
            cursor = page.get("nextCursor")
    assert [tool["name"] for tool in first["tools"]] == ["a", "b"]
    assert rest == ["c", "e", "remove", "add", "f"]


@requirement("pagination:cursors:invalid")
async def test_a_cursor_that_the_server_did_not_make_is_refused(connect: Connect) -> None:
    async with connect(paged) as client:
        cursors = [(await client.request(method))["nextCursor"] for method in LISTS]
        for number, method in enumerate(LISTS):
            foreign = cursors[number - 1]
            for cursor in ("", "nonsense", "é", "=", foreign, cursors[number] + "A", "a" * 10_000):
                refused = await client.refusal(method, {"cursor": cursor})
                assert refused.code == -32602
            assert (await client.refusal(method, {"cursor": 7})).code == -32602


# --- how long, and by whom ---


async def hinted(client: Conversation) -> list[dict[str, Any]]:
    """One result of each kind that has hints."""
    found = [await client.request(method) for method in LISTS]
    found.append(await client.request("resources/read", {"uri": "test://text"}))
    found.append(await client.request("server/discover"))
    return found


@requirement("caching:hints")
async def test_results_say_how_long_and_by_whom_they_may_be_kept(connect: Connect) -> None:
    async with connect(rich) as client:
        results = await hinted(client)
        others = [
            await client.call("echo", text="a"),
            await client.request("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
        ]
    for result in results:
        assert type(result["ttlMs"]) is int
        assert result["cacheScope"] in ("public", "private")
    assert all({"ttlMs", "cacheScope"}.isdisjoint(result) for result in others)


@requirement("caching:ttl:not-negative")
async def test_a_time_to_live_is_never_negative(connect: Connect) -> None:
    with pytest.raises(UsageError, match="ttl_ms"):
        CacheHints(ttl_ms=-1)
    async with connect(rich) as client:
        assert all(result["ttlMs"] >= 0 for result in await hinted(client))


@requirement("caching:scope:all-pages")
async def test_all_pages_of_a_list_have_the_same_scope(connect: Connect) -> None:
    async with connect(paged) as client:
        for method in LISTS:
            scopes, params = [], {}
            while True:
                page = await client.request(method, params)
                scopes.append(page["cacheScope"])
                if "nextCursor" not in page:
                    break
                params = {"cursor": page["nextCursor"]}
            assert len(scopes) > 1
            assert set(scopes) == {"public"}


def public() -> Server:
    """One that says that all may share its lists, and yet keeps a tool from some."""
    server = paged()

    @server.filter_tools
    def may(ctx: Context, tool: Any) -> bool:
        declared: Any = ctx.client_capabilities
        return tool.name != "a" or "sampling" in declared

    return server


@requirement("caching:scope:no-guard")
async def test_who_may_see_something_is_decided_for_each_request(connect: Connect) -> None:
    async with connect(public) as client:
        client.capabilities = {"sampling": {}}
        assert "a" in await client.names("tools/list", "tools")
        assert await client.call("a")
        client.capabilities = {}
        assert "a" not in await client.names("tools/list", "tools")
        assert (await client.refusal("tools/call", {"name": "a"})).code == -32602
        listed = await client.request("tools/list")
    # What differs between clients is nothing that they could share.
    assert listed["cacheScope"] == "private"
