"""Lists: pagination, cursors, cached pages, filters and cache hints."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import CacheHints, Context, Server, UsageError
from mcp_gen.server.listing import cursors
from mcp_wire import latest
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.peers.raw import RawClient, talking
from tests.support.property_tests import given, settings, st

HINTED = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).cache_hints]
UNHINTED = [one for one in mcp_wire.REVISIONS if one not in HINTED]
each_list = pytest.mark.parametrize("kind", ["tools", "prompts"])


def add(server: Server, kind: str, name: str) -> None:
    if kind == "tools":
        server.add_tool(lambda: name, name=name)
    else:
        server.add_prompt(lambda: name, name=name)


def remove(server: Server, kind: str, name: str) -> None:
    (server.remove_tool if kind == "tools" else server.remove_prompt)(name)


def offering(kind: str, *names: str, **options: Any) -> Server:
    server = Server("lists", declare=["tools", "prompts"], **options)
    for name in names:
        add(server, kind, name)
    return server


class Reader:
    """Client that requests lists."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._id = 0

    async def ask(self, kind: str, cursor: str | None = None) -> Any:
        self._id += 1
        params = {} if cursor is None else {"cursor": cursor}
        return await self.client.ask(self.client.speaker.request(self._id, f"{kind}/list", params))

    async def page(self, kind: str, cursor: str | None = None) -> tuple[list[str], str | None]:
        result = (await self.ask(kind, cursor))["result"]
        return [one["name"] for one in result[kind]], result.get("nextCursor")

    async def pages(self, kind: str) -> list[list[str]]:
        found: list[list[str]] = []
        cursor: str | None = None
        while cursor is not None or not found:
            names, cursor = await self.page(kind, cursor)
            found.append(names)
        return found


@asynccontextmanager
async def reading(server: Server, revision: str) -> AsyncIterator[Reader]:
    async with talking(server, revision) as client:
        yield Reader(client)


@each_list
async def test_a_list_that_is_kept_says_once_who_the_server_is(kind: str) -> None:
    server = offering(kind, "a", "b")
    async with reading(server, PER_REQUEST) as reader:
        made, kept = [(await reader.ask(kind))["result"] for _ in range(2)]
        getattr(server, f"filter_{kind}")(lambda ctx, item: True)
        fresh = (await reader.ask(kind))["result"]
    assert made == kept
    assert kept["_meta"] == fresh["_meta"]
    assert msgspec.json.encode(kept).count(b"serverInfo") == 1


# --- pages ---


@each_list
async def test_a_page_has_a_thousand_items_unless_the_server_says_otherwise(kind: str) -> None:
    names = [f"n{number}" for number in range(1_001)]
    server, whole = offering(kind, *names), offering(kind, *names, page_size=None)
    async with talking(server, PER_REQUEST) as client:
        first, cursor = await Reader(client).page(kind)
        assert (len(first), await Reader(client).page(kind, cursor)) == (1_000, (["n1000"], None))
    async with talking(whole, PER_REQUEST) as client:
        assert await Reader(client).page(kind) == (names, None)


@every_revision
@each_list
async def test_without_a_page_size_there_is_one_page(revision: str, kind: str) -> None:
    async with reading(offering(kind, "a", "b", "c"), revision) as reader:
        assert await reader.pages(kind) == [["a", "b", "c"]]


@every_revision
@each_list
@pytest.mark.parametrize(
    ("size", "pages"),
    [
        (1, [["a"], ["b"], ["c"]]),
        (2, [["a", "b"], ["c"]]),
        (3, [["a", "b", "c"]]),
        (4, [["a", "b", "c"]]),
    ],
)
async def test_a_page_has_so_many_items(
    revision: str, kind: str, size: int, pages: list[list[str]]
) -> None:
    async with reading(offering(kind, "a", "b", "c", page_size=size), revision) as reader:
        assert await reader.pages(kind) == pages


@every_revision
@each_list
async def test_an_empty_list_is_one_empty_page(revision: str, kind: str) -> None:
    async with reading(offering(kind, page_size=2), revision) as reader:
        assert await reader.pages(kind) == [[]]


@every_revision
async def test_a_list_may_have_pages_of_its_own_size(revision: str) -> None:
    server = offering("tools", "a", "b", page_size=5)
    add(server, "prompts", "c")
    add(server, "prompts", "d")
    server.prompts.listing.page_size = 1
    async with reading(server, revision) as reader:
        assert await reader.pages("tools") == [["a", "b"]]
        assert await reader.pages("prompts") == [["c"], ["d"]]


@pytest.mark.parametrize("size", [0, -1])
def test_a_page_without_items_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match=rf"page_size={size}: a page has at least 1 item"):
        Server("lists", page_size=size)


BAD_CURSORS = {
    "empty": "",
    "no base64": "!",
    "no text": base64.urlsafe_b64encode(b"\xff\xff").decode(),
    "another shape": base64.urlsafe_b64encode(b"{}").decode(),
    "too long": base64.urlsafe_b64encode(b'["tools","x",1,"a",2]').decode(),
    "not ascii": "ä",
    "gone elsewhere": base64.urlsafe_b64encode(b'["tools","x",1,"gone"]').decode(),
}


@every_revision
@pytest.mark.parametrize("cursor", BAD_CURSORS.values(), ids=BAD_CURSORS.keys())
async def test_a_cursor_that_was_not_made_here_is_invalid_params(
    revision: str, cursor: str
) -> None:
    async with reading(offering("tools", "a", "b", page_size=1), revision) as reader:
        error = (await reader.ask("tools", cursor))["error"]
        assert error["code"] == -32602
        assert "begin again without one - at `$.cursor`" in error["message"]


@every_revision
async def test_a_cursor_of_another_list_is_invalid_params(revision: str) -> None:
    server = offering("tools", "a", "b", page_size=1)
    add(server, "prompts", "c")
    async with reading(server, revision) as reader:
        _, cursor = await reader.page("tools")
        assert (await reader.ask("prompts", cursor))["error"]["code"] == -32602


@every_revision
async def test_a_cursor_is_good_after_its_item_has_gone(revision: str) -> None:
    server = offering("tools", "a", "b", "c", page_size=1)
    async with reading(server, revision) as reader:
        _, cursor = await reader.page("tools")
        server.remove_tool("a")
        assert (await reader.page("tools", cursor))[0] == ["b"]


@every_revision
async def test_what_was_removed_and_added_again_is_at_the_end(revision: str) -> None:
    server = offering("tools", "a", "b", "c", page_size=1)
    async with reading(server, revision) as reader:
        _, cursor = await reader.page("tools")
        server.remove_tool("a")
        add(server, "tools", "a")
        names, cursor = await reader.page("tools", cursor)
        assert names == ["b"]
        assert await reader.pages("tools") == [["b"], ["c"], ["a"]]


@every_revision
async def test_a_cursor_of_another_process_goes_by_the_name_of_its_item(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(offering("tools", "x", "a", "b", page_size=2), revision) as reader:
        _, cursor = await reader.page("tools")
    monkeypatch.setattr(cursors, "_PROCESS", "another")
    # The same tools, but other numbers.
    async with reading(offering("tools", "x", "a", "b", page_size=2), revision) as reader:
        assert await reader.page("tools", cursor) == (["b"], None)


Change = tuple[str, str]
NAMES = [f"t{i}" for i in range(6)]
changes = st.lists(
    st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from(NAMES)), max_size=4),
    max_size=8,
)


@settings(max_examples=80)
@given(
    size=st.integers(1, 4),
    begun=st.sets(st.sampled_from(NAMES)),
    between=changes,
    own=st.booleans(),
)
def test_pages_repeat_nothing_and_leave_out_nothing_that_stayed(
    size: int, begun: set[str], between: list[list[Change]], own: bool
) -> None:
    async def walk() -> None:
        server = offering("tools", *sorted(begun), page_size=size)
        if own:
            server.filter_tools(lambda ctx, tool: True)
        stayed = set(begun)
        seen: list[str] = []
        present = set(begun)
        added: set[str] = set()
        async with reading(server, PER_REQUEST) as reader:
            cursor: str | None = None
            for step in range(50):
                names, cursor = await reader.page("tools", cursor)
                seen += names
                if cursor is None:
                    break
                for what, name in between[step] if step < len(between) else []:
                    if what == "add" and name not in present:
                        add(server, "tools", name)
                        present.add(name)
                        added.add(name)
                    elif what == "remove" and name in present:
                        server.remove_tool(name)
                        present.discard(name)
                        stayed.discard(name)
        assert cursor is None
        once = [name for name in seen if name not in added]
        assert len(once) == len(set(once))
        assert stayed <= set(seen)

    asyncio.run(walk())


# --- added and removed at any time ---


@every_revision
@each_list
async def test_what_is_added_later_is_listed(revision: str, kind: str) -> None:
    server = offering(kind, "a")
    async with reading(server, revision) as reader:
        assert await reader.pages(kind) == [["a"]]
        add(server, kind, "b")
        assert await reader.pages(kind) == [["a", "b"]]
        remove(server, kind, "a")
        assert await reader.pages(kind) == [["b"]]


@every_revision
async def test_what_is_removed_is_unknown(revision: str) -> None:
    server = offering("tools", "a")
    server.remove_tool("a")
    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "a"))
        assert answer["error"] == {"code": -32602, "message": "unknown tool: a"}


@every_revision
async def test_a_call_that_is_under_way_goes_on_when_its_tool_is_removed(revision: str) -> None:
    server = Server("lists")
    begun, go = asyncio.Event(), asyncio.Event()

    @server.tool
    async def slow() -> str:
        begun.set()
        await go.wait()
        return "done"

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "slow"))
        await begun.wait()
        server.remove_tool("slow")
        go.set()
        answer = await client.answer(1)
        assert answer["result"]["content"][0]["text"] == "done"


@each_list
def test_the_capability_is_declared_from_the_first_item_on(kind: str) -> None:
    server = Server("lists")
    assert getattr(server.capabilities(), kind) is None
    add(server, kind, "a")
    assert getattr(server.capabilities(), kind).list_changed is True


@each_list
def test_the_capability_may_be_declared_before(kind: str) -> None:
    server = Server("lists", declare=["tools", "prompts"])
    assert getattr(server.capabilities(), kind).list_changed is True


@every_revision
@each_list
async def test_what_is_not_declared_has_no_method(revision: str, kind: str) -> None:
    async with reading(Server("lists"), revision) as reader:
        assert (await reader.ask(kind))["error"]["code"] == -32601


@every_revision
async def test_threads_may_add_and_remove_while_a_client_lists(revision: str) -> None:
    server = offering("tools", "first", page_size=7)
    wrong: list[Exception] = []

    def work(worker: int) -> None:
        try:
            for i in range(100):
                add(server, "tools", f"w{worker}-{i}")
                if i % 2:
                    server.remove_tool(f"w{worker}-{i}")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    async with reading(server, revision) as reader:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            names = [name for page in await reader.pages("tools") for name in page]
            assert len(names) == len(set(names))
        left = {"first"} | {f"w{n}-{i}" for n in range(4) for i in range(0, 100, 2)}
        assert {name for page in await reader.pages("tools") for name in page} == left
    assert wrong == []


# --- encoded once ---


async def described_at(server: Server, revision: str, kind: str, **counted: Any) -> int:
    """Return the number of times items are described while a list is read twice."""
    count = 0
    listing: Any = getattr(server, kind).listing
    page: Callable[..., Any] = listing._page

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return page(*arguments)

    listing._page = counting
    async with reading(server, revision) as reader:
        first = await reader.pages(kind)
        assert await reader.pages(kind) == first
    return count


@every_revision
@each_list
async def test_pages_are_made_once_per_revision(revision: str, kind: str) -> None:
    server = offering(kind, "a", "b", "c", page_size=2)
    assert await described_at(server, revision, kind) == 2


@every_revision
@each_list
async def test_pages_are_made_anew_where_a_filter_looks_on(revision: str, kind: str) -> None:
    server = offering(kind, "a", "b", "c", page_size=2)
    getattr(server, f"filter_{kind}")(lambda ctx, item: True)
    assert await described_at(server, revision, kind) == 4


@every_revision
@each_list
async def test_hooks_see_the_lists_as_types(revision: str, kind: str) -> None:
    server = offering(kind, "a", "b", "c", page_size=2)
    seen: list[str] = []

    def look(ctx: Any, params: Any, result: Any) -> None:
        seen.append(type(result).__name__)

    getattr(server.hooks, f"after_list_{kind}")(look)
    assert await described_at(server, revision, kind) == 4
    assert set(seen) == {f"List{kind.title()}Result"}


@every_revision
async def test_cursors_that_begin_anywhere_do_not_fill_the_memory(revision: str) -> None:
    server = offering("tools", *(f"t{i}" for i in range(40)), page_size=10)
    async with reading(server, revision) as reader:
        for entry in server.tools.listing.items.after(0):
            await reader.ask("tools", cursors.cursor_after("tools", entry.number, entry.name))
    assert len(server.tools.listing.pages) <= 5


# --- filters ---


def by_capability(ctx: Context, item: Any) -> bool:
    """Hide items that begin with r from clients without roots."""
    return not item.name.startswith("r") or ctx.client_capabilities.roots is not None


@every_revision
@each_list
async def test_a_filter_decides_what_is_listed(revision: str, kind: str) -> None:
    server = offering(kind, "a", "r", "b", page_size=1)
    getattr(server, f"filter_{kind}")(by_capability)
    async with reading(server, revision) as reader:
        assert await reader.pages(kind) == [["a"], ["b"]]


@every_revision
async def test_a_filter_guards_the_call(revision: str) -> None:
    server = offering("tools", "a", "r")
    server.filter_tools(by_capability)
    async with talking(server, revision) as client:
        assert "result" in await client.ask(client.speaker.call(1, "a"))
        answer = await client.ask(client.speaker.call(2, "r"))
        assert answer["error"] == {"code": -32602, "message": "unknown tool: r"}


@every_revision
async def test_a_filter_guards_the_prompt(revision: str) -> None:
    server = offering("prompts", "a", "r")
    server.filter_prompts(by_capability)
    async with talking(server, revision) as client:
        assert "result" in await client.ask(client.speaker.request(1, "prompts/get", {"name": "a"}))
        answer = await client.ask(client.speaker.request(2, "prompts/get", {"name": "r"}))
        assert answer["error"] == {"code": -32602, "message": "unknown prompt: r"}


@every_revision
async def test_every_filter_must_let_an_item_pass(revision: str) -> None:
    server = offering("tools", "a", "b", "c")

    @server.filter_tools
    def no_a(ctx: Context, tool: latest.Tool) -> bool:
        return tool.name != "a"

    @server.filter_tools
    def no_c(ctx: Context, tool: latest.Tool) -> bool:
        return tool.name != "c"

    async with reading(server, revision) as reader:
        assert await reader.pages("tools") == [["b"]]


@every_revision
async def test_a_filter_can_be_taken_away(revision: str) -> None:
    server = offering("tools", "a", "r")
    server.filter_tools(by_capability)
    server.tools.listing.filters.remove(by_capability)
    async with reading(server, revision) as reader:
        assert await reader.pages("tools") == [["a", "r"]]


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
def test_a_filter_that_is_async_is_refused(kind: str) -> None:
    async def keep(ctx: Context, item: Any) -> bool:
        return False

    class Keep:
        async def __call__(self, ctx: Context, item: Any) -> bool:
            return False

    add_filter: Any = getattr(Server("lists"), f"filter_{kind}")
    for one in (keep, Keep()):
        with pytest.raises(UsageError, match="expected a function that is not async"):
            add_filter(one)


# --- cache hints ---

DAY = CacheHints(ttl_ms=86_400_000, cache_scope="public")
HOUR = CacheHints(ttl_ms=3_600_000)


async def hints(server: Server, revision: str, method: str) -> tuple[Any, Any]:
    async with talking(server, revision) as client:
        result = (await client.ask(client.speaker.request(1, method)))["result"]
        return result.get("ttlMs"), result.get("cacheScope")


@pytest.mark.parametrize("revision", HINTED)
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "server/discover"])
async def test_without_hints_a_result_is_stale_and_private(revision: str, method: str) -> None:
    assert await hints(offering("tools"), revision, method) == (0, "private")


@pytest.mark.parametrize("revision", HINTED)
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "server/discover"])
async def test_the_servers_hints_are_in_every_result(revision: str, method: str) -> None:
    server = offering("tools", cache_hints=DAY)
    assert await hints(server, revision, method) == (86_400_000, "public")


@pytest.mark.parametrize("revision", HINTED)
async def test_a_method_may_have_hints_of_its_own(revision: str) -> None:
    server = offering("tools", "a", cache_hints=DAY)
    assert await hints(server, revision, "tools/list") == (86_400_000, "public")
    server.cache_hints(list_tools=HOUR, discover=CacheHints(ttl_ms=5))
    assert await hints(server, revision, "tools/list") == (3_600_000, "private")
    assert await hints(server, revision, "server/discover") == (5, "private")
    assert await hints(server, revision, "prompts/list") == (86_400_000, "public")


@pytest.mark.parametrize("revision", UNHINTED)
@each_list
async def test_there_are_no_hints_where_the_revision_has_none(revision: str, kind: str) -> None:
    assert await hints(offering(kind, cache_hints=DAY), revision, f"{kind}/list") == (None, None)


@pytest.mark.parametrize("revision", HINTED)
@each_list
async def test_what_is_filtered_is_private(revision: str, kind: str) -> None:
    server = offering(kind, "a", cache_hints=DAY)
    getattr(server, f"filter_{kind}")(by_capability)
    assert await hints(server, revision, f"{kind}/list") == (86_400_000, "private")


def test_a_time_to_live_below_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="ttl_ms=-1: a time to live is at least 0"):
        CacheHints(ttl_ms=-1)


def test_a_scope_that_there_is_not_is_refused() -> None:
    scope: Any = "secret"
    with pytest.raises(UsageError, match="expected 'public' or 'private'"):
        CacheHints(cache_scope=scope)
