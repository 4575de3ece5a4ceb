"""Spec tests of cache hints (`ttlMs`, `cacheScope`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mcp_gen import CacheHints, Context, Server, UsageError
from mcp_wire import latest
from tests.server.spec.clients import is_admin, opened_as
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

PUBLIC = CacheHints(ttl_ms=60_000, cache_scope="public")
LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]


def offering(cache: CacheHints | None = None) -> Server:
    """Return a server with two items of each kind, one per page."""
    server = Server("offering", page_size=1, cache_hints=cache or CacheHints())

    async def of(id: str) -> str:
        return id

    for name in ("a", "secret"):
        server.add_tool(lambda: "text", name=name)
        server.add_prompt(lambda: "text", name=name)
        server.add_resource(f"test://{name}", "text", name=name)
        server.add_resource_template(f"test://{name}/{{id}}", of, name=name)

    @server.resource("test://itself")
    async def itself(ctx: Context) -> Any:
        contents = latest.TextResourceContents(uri="test://itself", text="text")
        return latest.ReadResourceResult(contents=[contents], ttl_ms=-1, cache_scope="public")

    return server


def guarded() -> Server:
    """Return the same with public hints; items named `secret` are for the client `admin` alone."""
    server = offering(PUBLIC)

    def may(ctx: Context, item: Any) -> bool:
        return item.name != "secret" or is_admin(ctx)

    server.filter_tools(may)
    server.filter_prompts(may)
    server.filter_resources(may)
    return server


async def results(client: Conversation) -> list[dict[str, Any]]:
    """Return every list page, every readable resource, and the server's description of itself."""
    found = [
        await client.request("server/discover"),
        await client.request("resources/read", {"uri": "test://a"}),
        await client.request("resources/read", {"uri": "test://a/1"}),
    ]
    for method in LISTS:
        found += await pages(client, method)
    return found


async def pages(client: Conversation, method: str) -> list[dict[str, Any]]:
    """Return the results of a list, page by page."""
    found = [await client.request(method)]
    while "nextCursor" in found[-1]:
        found.append(await client.request(method, {"cursor": found[-1]["nextCursor"]}))
    return found


def hints(result: dict[str, Any]) -> tuple[Any, Any]:
    return result.get("ttlMs"), result.get("cacheScope")


@requirement("caching:hints")
@pytest.mark.parametrize("cache", [None, PUBLIC], ids=["unset", "public"])
async def test_complete_results_say_how_long_and_by_whom_they_may_be_kept(
    connect: Connect, cache: CacheHints | None
) -> None:
    async with connect(partial(offering, cache)) as client:
        told = [hints(result) for result in await results(client)]
    assert set(told) == {(60_000, "public") if cache else (0, "private")}


@requirement("caching:ttl:not-negative")
def test_a_negative_time_to_live_is_refused_when_it_is_defined() -> None:
    with pytest.raises(UsageError, match="ttl_ms=-1"):
        CacheHints(ttl_ms=-1)


@requirement("caching:ttl:not-negative")
async def test_a_negative_time_to_live_of_a_result_is_not_sent(connect: Connect) -> None:
    async with connect(offering) as client:
        refused = await client.refusal("resources/read", {"uri": "test://itself"})
    assert refused.code == -32603


@requirement("caching:scope:all-pages")
@pytest.mark.parametrize("make", [offering, partial(offering, PUBLIC), guarded])
async def test_all_pages_of_a_list_have_the_same_scope(connect: Connect, make: Any) -> None:
    async with connect(make, opened=False) as client:
        await opened_as(client, "admin")
        for method in LISTS:
            found = await pages(client, method)
            assert len(found) > 1, method
            assert len({page["cacheScope"] for page in found}) == 1, method


@requirement("caching:scope:no-guard")
async def test_who_may_see_something_is_decided_anew_for_each_request(connect: Connect) -> None:
    seen = []
    async with connect(guarded) as client:
        for name in ("admin", "guest", "admin"):
            client.client_info = {"name": name, "version": "1"}
            listed = [page for method in LISTS for page in await pages(client, method)]
            seen.append("'secret'" in str(listed))
            if name == "guest":
                await client.refusal("resources/read", {"uri": "test://secret"})
                await client.refusal("tools/call", {"name": "secret"})
                await client.refusal("prompts/get", {"name": "secret"})
            else:
                await client.request("resources/read", {"uri": "test://secret"})
                await client.request("prompts/get", {"name": "secret"})
                await client.call("secret")
    assert seen == [True, False, True]


@requirement("caching:scope:no-guard")
async def test_what_depends_on_who_asks_is_private(connect: Connect) -> None:
    async with connect(guarded) as client:
        listed = [page for method in LISTS for page in await pages(client, method)]
        listed.append(await client.request("resources/read", {"uri": "test://a"}))
    assert {page["cacheScope"] for page in listed} == {"private"}
