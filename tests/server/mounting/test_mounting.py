"""Mounting and unmounting: names, conflicts, and errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen import Client, Server, UsageError
from tests.server.mounting.gateway import weather
from tests.support.frames import each_lifecycle, every_revision
from tests.support.loop import until
from tests.support.peers.connect import talk


def named(*tools: str, name: str = "inner") -> Server:
    server = Server(name)
    for tool in tools:
        server.add_tool(lambda: "x", name=tool)
    return server


def outer_with(*mounts: tuple[str | None, Server], separator: str = "_") -> Server:
    server = Server("outer")
    for prefix, inner in mounts:
        server.mount(prefix, inner, separator=separator)
    return server


@every_revision
async def test_tools_and_prompts_get_the_prefix_and_uris_stay(revision: str) -> None:
    server = outer_with(("w", weather()))
    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == [
            "w_forecast",
            "w_ask",
            "w_think",
            "w_look",
        ]
        assert await client.names("prompts/list", "prompts") == ["w_report"]
        assert await client.names("resources/list", "resources", "uri") == ["weather:///today"]
        templates = await client.names(
            "resources/templates/list", "resourceTemplates", "uriTemplate"
        )
        assert templates == ["weather://{city}/now"]


@every_revision
async def test_names_of_resources_and_templates_stay(revision: str) -> None:
    server = outer_with(("w", weather()))
    async with talk(lambda: server, revision) as client:
        assert await client.names("resources/list", "resources") == ["today"]
        templates = await client.names("resources/templates/list", "resourceTemplates")
        assert templates == ["now"]


@every_revision
async def test_the_separator_is_what_the_program_says(revision: str) -> None:
    server = outer_with(("w", named("a")), separator=".")
    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == ["w.a"]
        assert await client.text("w.a") == "x"


@every_revision
async def test_without_a_prefix_names_stay(revision: str) -> None:
    server = outer_with((None, named("a")))
    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == ["a"]
        assert await client.text("a") == "x"


@pytest.mark.parametrize("prefix", ["", "two words", "ü", "a" * 128])
def test_a_prefix_that_no_tool_may_begin_with_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match="a prefix with its separator"):
        Server("outer").mount(prefix, named("a"))


def test_a_tool_whose_name_would_be_too_long_is_refused_with_its_name() -> None:
    with pytest.raises(UsageError, match="has 131 characters"):
        Server("outer").mount("www", named("a" * 127))


def test_a_name_that_is_there_already_is_refused() -> None:
    server = named("w_a")
    with pytest.raises(UsageError, match="'w_a' is there already among the tools; take another"):
        server.mount("w", named("a"))
    assert not list(server.mounts)


def test_a_name_of_an_earlier_mount_is_refused() -> None:
    server = outer_with((None, named("a")))
    with pytest.raises(UsageError, match="'a' is there already among the tools; give a prefix"):
        server.mount(None, named("a"))


def test_a_uri_that_is_there_already_is_refused() -> None:
    server = outer_with(("one", weather()))
    with pytest.raises(UsageError, match=r"'weather:///today' .* needs another URI"):
        server.mount("two", weather())


def test_two_mounts_have_two_prefixes() -> None:
    server = outer_with(("w", named("a")))
    with pytest.raises(UsageError, match="there is a mount of that prefix"):
        server.mount("w", named("b"))


def test_a_server_is_not_mounted_in_itself() -> None:
    inner, middle = named("a"), Server("middle")
    middle.mount("m", inner)
    with pytest.raises(UsageError, match="mounted in itself"):
        inner.mount("x", middle)
    with pytest.raises(UsageError, match="mounted in itself"):
        inner.mount("x", inner)


@pytest.mark.parametrize("other", ["https://example.org/mcp", None, Client("c")])
def test_what_is_neither_server_nor_session_is_refused(other: object) -> None:
    with pytest.raises(UsageError, match="expected a Server, or the session"):
        Server("outer").mount("w", other)


@every_revision
async def test_what_clashes_later_is_used_from_where_it_was_first(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    inner = named("a")
    server = outer_with(("w", inner))
    async with talk(lambda: server, revision) as client:
        server.add_tool(lambda: "the outer one", name="w_b")
        inner.add_tool(lambda: "the inner one", name="b")
        with caplog.at_level(logging.WARNING, "mcp_gen.server"):
            assert sorted(await client.names("tools/list", "tools")) == ["w_a", "w_b"]
        assert "'w_b' is there already" in caplog.text
        assert await client.text("w_b") == "the outer one"
        server.remove_tool("w_b")
        assert await client.text("w_b") == "the inner one"


@every_revision
async def test_a_tool_whose_name_becomes_too_long_later_is_left_out(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    inner = named("a")
    server = outer_with(("www", inner))
    inner.add_tool(lambda: "x", name="b" * 127)
    async with talk(lambda: server, revision) as client:
        with caplog.at_level(logging.WARNING, "mcp_gen.server"):
            assert await client.names("tools/list", "tools") == ["www_a"]
        assert "no name for a tool" in caplog.text


@every_revision
@pytest.mark.parametrize("by", ["prefix", "server"])
async def test_what_is_unmounted_is_gone(revision: str, by: str) -> None:
    inner = named("a")
    server = outer_with(("w", inner), ("other", named("b")))
    async with talk(lambda: server, revision) as client:
        await client.names("tools/list", "tools")
        server.unmount("w" if by == "prefix" else inner)
        assert await client.names("tools/list", "tools") == ["other_b"]
        assert "unknown tool" in str((await client.refusal("tools/call", {"name": "w_a"})).error)


def test_unmounting_what_is_not_mounted_says_what_is() -> None:
    server = outer_with(("w", named("a")))
    with pytest.raises(UsageError, match="there are: 'w'"):
        server.unmount("v")


@every_revision
async def test_mounts_nest(revision: str) -> None:
    middle = outer_with(("w", weather()))
    server = outer_with(("m", middle))
    async with talk(lambda: server, revision) as client:
        assert "m_w_forecast" in await client.names("tools/list", "tools")
        assert await client.text("m_w_forecast", city="Rome") == "Rome: sun, says weather"
        read = await client.request("resources/read", {"uri": "weather://Rome/now"})
        assert read["contents"][0]["text"] == "now in Rome"


@every_revision
async def test_a_server_without_anything_of_its_own_declares_what_is_mounted(revision: str) -> None:
    server = outer_with(("w", weather()))
    async with talk(lambda: server, revision) as client:
        declared = (await client.server())["capabilities"]
    assert {"tools", "prompts", "resources"} <= declared.keys()


@every_revision
async def test_when_the_last_is_unmounted_its_lists_are_empty(revision: str) -> None:
    server = outer_with(("w", named("a")))
    async with talk(lambda: server, revision) as client:
        await client.listen(toolsListChanged=True)
        server.unmount("w")
        await client.hears("notifications/tools/list_changed")
        assert await client.names("tools/list", "tools") == []


@each_lifecycle
async def test_calls_that_are_open_end_before_the_lifespan_of_what_is_unmounted(
    revision: str,
) -> None:
    happened: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[None]:
        yield
        happened.append("left")

    inner, outer = Server("inner", lifespan=lifespan), Server("outer")
    started, go = asyncio.Event(), asyncio.Event()

    @inner.tool
    async def slow() -> str:
        started.set()
        await go.wait()
        happened.append("done")
        return "ok"

    outer.mount("w", inner)
    async with talk(lambda: outer, revision) as client, asyncio.TaskGroup() as group:
        call = group.create_task(client.text("w_slow"))
        await started.wait()
        outer.unmount("w")
        for _ in range(20):
            await asyncio.sleep(0)
        go.set()
        assert await call == "ok"
        await until(lambda: len(happened) == 2)
    assert happened == ["done", "left"]
