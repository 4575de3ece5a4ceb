"""Response cache: results are kept as long as the server allows."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import CacheHints, Client, McpError, Server
from mcp_gen.client.requests.cache import ResponseCache
from mcp_gen.types import ListToolsResult, ReadResourceResult
from tests.client.using import using
from tests.support.frames import ALL, PER_REQUEST
from tests.support.peers.scripted import MemoryPeer, opening
from tests.support.requirement import requirement

HINTING = [one for one in ALL if mcp_wire.profile(one).cache_hints]
with_hints = pytest.mark.parametrize("revision", HINTING)
without_hints = pytest.mark.parametrize("revision", [one for one in ALL if one not in HINTING])
PROFILE = mcp_wire.profile(PER_REQUEST)
LIST = PROFILE.methods["tools/list"]
READ = PROFILE.methods["resources/read"]


class Counting:
    """Server with cacheable lists that counts list requests."""

    def __init__(self, **hints: Any) -> None:
        self.server = Server("counting", cache_hints=CacheHints(**hints))
        self.asked: list[str] = []
        self.server.hooks.before_any(lambda ctx, method, params: self.asked.append(method))
        self.server.add_tool(lambda: None, name="t")
        self.server.add_prompt(lambda: "p", name="p")

        @self.server.resource("a://{x}")
        def read(x: str) -> str:
            return x

    def count(self, method: str) -> int:
        return self.asked.count(method)


@with_hints
async def test_what_may_be_kept_is_asked_for_once(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with using(Client("c"), counting.server, revision) as session:
        for _ in range(3):
            assert [tool.name async for tool in session.tools()] == ["t"]
            await session.list_prompts()
            await session.read_resource("a://1")
            await session.read_resource("a://2")
    counts = {one: counting.count(one) for one in ("tools/list", "prompts/list", "resources/read")}
    assert counts == {"tools/list": 1, "prompts/list": 1, "resources/read": 2}


@with_hints
@pytest.mark.parametrize("ttl_ms", [0, None])
async def test_what_may_not_be_kept_is_asked_for_again(revision: str, ttl_ms: int | None) -> None:
    counting = Counting(**({} if ttl_ms is None else {"ttl_ms": ttl_ms}))
    async with using(Client("c"), counting.server, revision) as session:
        await session.list_tools()
        await session.list_tools()
    assert counting.count("tools/list") == 2


@without_hints
async def test_where_servers_have_no_word_for_it_nothing_is_kept(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with using(Client("c"), counting.server, revision) as session:
        await session.list_tools()
        await session.list_tools()
    assert counting.count("tools/list") == 2


@with_hints
async def test_a_client_may_keep_nothing(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with using(Client("c", max_cached_results=0), counting.server, revision) as session:
        await session.list_tools()
        await session.list_tools()
    assert counting.count("tools/list") == 2


@with_hints
async def test_what_is_kept_can_be_forgotten(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with using(Client("c"), counting.server, revision) as session:
        await session.list_tools()
        session.cache.clear()
        await session.list_tools()
    assert counting.count("tools/list") == 2


@with_hints
async def test_a_change_that_is_heard_of_makes_it_stale(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with (
        using(Client("c"), counting.server, revision) as session,
        session.watch("a://1", tools=True) as changes,
    ):
        await session.list_tools()
        await session.read_resource("a://1")
        await session.read_resource("a://2")
        counting.server.add_tool(lambda: None, name="u")
        counting.server.notify.resource_updated("a://1")
        assert {(await anext(changes)).kind for _ in range(2)} == {"tools", "resource"}
        assert [tool.name async for tool in session.tools()] == ["t", "u"]
        await session.read_resource("a://1")
        await session.read_resource("a://2")
    assert (counting.count("tools/list"), counting.count("resources/read")) == (2, 4)


@with_hints
async def test_a_call_is_never_kept(revision: str) -> None:
    counting = Counting(ttl_ms=60_000)
    async with using(Client("c"), counting.server, revision) as session:
        await session.call_tool("t")
        await session.call_tool("t")
    assert counting.count("tools/call") == 2


async def test_a_cursor_that_is_refused_voids_all_pages() -> None:
    pages: dict[Any, Any] = {
        None: {"tools": [], "nextCursor": "2", "ttlMs": 60_000, "cacheScope": "public"},
    }

    def list_tools(params: Any) -> Any:
        page = pages.get(params.get("cursor"))
        if page is None:
            return {"error": {"code": -32602, "message": "no such cursor"}}
        return {"resultType": "complete", **page}

    server = MemoryPeer({**opening(PER_REQUEST), "tools/list": list_tools})
    async with using(Client("c"), await server.start(), PER_REQUEST) as session:
        await session.list_tools()
        assert len(session.cache) == 1
        with pytest.raises(McpError):
            await session.list_tools("2")
        assert len(session.cache) == 0


# --- the cache itself ---


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.principal: str | None = None

    def cache(self, max_entries: int = 10) -> ResponseCache:
        return ResponseCache(
            PROFILE, max_entries, clock=lambda: self.now, principal=lambda: self.principal
        )


def tools(ttl_ms: Any = 1000, scope: Any = "private") -> ListToolsResult:
    return ListToolsResult(tools=[], ttl_ms=ttl_ms, cache_scope=scope)


def list_params(cursor: str | None = None, **meta: Any) -> Any:
    return LIST.params(meta=meta, cursor=cursor)


def keep(cache: ResponseCache, result: Any, cursor: str | None = None) -> None:
    slot = cache.slot(LIST, list_params(cursor))
    assert slot
    cache.put(slot, result)


def kept(cache: ResponseCache, cursor: str | None = None, **meta: Any) -> Any:
    slot = cache.slot(LIST, list_params(cursor, **meta))
    assert slot
    return cache.get(slot)


@requirement("caching:client:positive", "caching:client:expired")
def test_a_result_is_good_for_its_time_and_not_longer() -> None:
    clock = Clock()
    cache = clock.cache()
    keep(cache, found := tools(1000))
    clock.now += 0.999
    assert kept(cache) is found
    clock.now += 0.001
    assert kept(cache) is None
    assert len(cache) == 0


@pytest.mark.parametrize("ttl_ms", [0, -5])
def test_a_result_without_a_time_is_not_kept(ttl_ms: int) -> None:
    cache = Clock().cache()
    keep(cache, tools(ttl_ms))
    assert len(cache) == 0


def test_what_a_request_says_of_itself_makes_no_difference() -> None:
    cache = Clock().cache()
    keep(cache, found := tools())
    assert kept(cache, progressToken=7) is found
    assert kept(cache, "another") is None


@requirement("caching:client:contexts")
def test_private_results_are_for_whom_they_were_asked() -> None:
    clock = Clock()
    cache = clock.cache()
    clock.principal = "ada"
    keep(cache, mine := tools(scope="private"))
    keep(cache, ours := tools(scope="public"), "2")
    clock.principal = "bob"
    assert (kept(cache), kept(cache, "2")) == (None, ours)
    clock.principal = "ada"
    assert kept(cache) is mine


def test_private_results_of_nobody_are_for_nobody_else() -> None:
    clock = Clock()
    cache = clock.cache()
    keep(cache, tools(scope="private"))
    clock.principal = "ada"
    assert kept(cache) is None


def test_the_result_that_was_not_used_for_longest_goes_first() -> None:
    cache = Clock().cache(2)
    keep(cache, tools(), "1")
    keep(cache, tools(), "2")
    kept(cache, "1")
    keep(cache, tools(), "3")
    assert [kept(cache, n) is not None for n in "123"] == [True, False, True]


def test_a_result_that_a_change_overtook_is_not_kept() -> None:
    cache = Clock().cache()
    slot = cache.slot(LIST, list_params())
    assert slot
    cache.on_notification("tools_changed", None)
    cache.put(slot, tools())
    assert len(cache) == 0


@pytest.mark.parametrize("news", ["tools_changed", "resources_changed"])
def test_a_change_of_tools_or_resources_drops_what_was_read(news: str) -> None:
    cache = Clock().cache()
    slot = cache.slot(READ, READ.params(meta={}, uri="a://x"))
    assert slot
    cache.put(slot, ReadResourceResult(contents=[], ttl_ms=1000, cache_scope="public"))
    cache.on_notification(news, None)
    assert len(cache) == 0


def test_an_update_is_of_the_resource_and_of_what_it_is_part_of() -> None:
    cache = Clock().cache()
    read = ReadResourceResult(contents=[], ttl_ms=1000, cache_scope="public")
    for uri in ("a://x", "a://x/y", "a://z"):
        slot = cache.slot(READ, READ.params(meta={}, uri=uri))
        assert slot
        cache.put(slot, read)
    cache.on_notification("resource_updated", "a://x/y")
    assert len(cache) == 1


def test_a_round_is_not_kept() -> None:
    cache = Clock().cache()
    assert cache.slot(READ, READ.params(meta={}, uri="a://x", request_state="s")) is None


def test_a_call_has_no_place_in_the_cache() -> None:
    calls = PROFILE.methods["tools/call"]
    assert Clock().cache().slot(calls, calls.params(meta={}, name="t")) is None
