"""Notifications to the client, log levels, and the revision of results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Context, McpError, Server, UsageError
from mcp_wire import v2025_06_18
from tests.client.using import declaring, using
from tests.support.frames import ALL, every_revision, with_handshake
from tests.support.peers.scripted import MemoryPeer, opening

WAIT_S = 30.0


def logging_server() -> Server:
    server = declaring()

    @server.tool
    async def work(ctx: Context) -> None:
        for level in ("debug", "info", "error"):
            await ctx.log(level, level)  # type: ignore[arg-type]

    return server


class Told:
    """Records the notifications that hooks of a client received."""

    def __init__(self, client: Client) -> None:
        self.levels: list[str] = []
        client.hooks.on_logging_message(self._logged)

    async def _logged(self, session: ClientSession, params: Any) -> None:
        await asyncio.sleep(0)
        self.levels.append(params.level)


@every_revision
@pytest.mark.parametrize(("level", "heard"), [("info", ["info", "error"]), ("error", ["error"])])
async def test_a_client_says_how_severe_messages_must_be(
    revision: str, level: Any, heard: list[str]
) -> None:
    client = Client("c", log_level=level)
    told = Told(client)
    async with using(client, logging_server(), revision) as session:
        await session.call_tool("work")
        await session.call_tool("work")
    assert told.levels == heard * 2


@every_revision
async def test_a_session_may_say_so_later(revision: str) -> None:
    client = Client("c")
    told = Told(client)
    async with using(client, logging_server(), revision) as session:
        await session.set_level("error")
        await session.call_tool("work")
        await session.set_level("info")
        await session.call_tool("work")
    assert told.levels == ["error", "info", "error"]


@every_revision
async def test_a_server_without_messages_is_not_told_how_severe(revision: str) -> None:
    async with using(
        Client("c", log_level="info"), Server("mute", declare=[]), revision
    ) as session:
        assert session.revision == revision


@with_handshake
async def test_a_server_that_does_not_take_the_level_is_used_without(
    revision: str, caplog: Any
) -> None:
    answers = opening(revision)
    shake = answers["initialize"]
    answers["initialize"] = lambda params: {**shake(params), "capabilities": {"logging": {}}}
    answers["logging/setLevel"] = lambda params: {"error": {"code": -32602, "message": "no"}}
    client = Client("c", log_level="info")
    async with using(client, await MemoryPeer(answers).start(), revision) as session:
        assert session.revision == revision
    assert "does not take the log level info" in caplog.text


@every_revision
async def test_what_a_handler_of_messages_raises_is_logged(revision: str, caplog: Any) -> None:
    client = Client("c", log_level="info")

    @client.hooks.on_logging_message
    def fail(session: ClientSession, params: Any) -> None:
        raise ZeroDivisionError

    async with using(client, logging_server(), revision) as session:
        await session.call_tool("work")
        assert not (await session.call_tool("work")).is_error
    assert "ZeroDivisionError" in caplog.text


@every_revision
async def test_changes_are_told_to_hooks(revision: str) -> None:
    server = declaring()
    client = Client("c")
    told: list[str] = []
    done = asyncio.Event()
    client.hooks.on_tool_list_changed(lambda session, params: told.append("tools"))

    @client.hooks.on_resource_updated
    async def updated(session: ClientSession, params: Any) -> None:
        told.append(params.uri)
        done.set()

    async with using(client, server, revision) as session, session.watch("a://1", tools=True):
        server.notify.tool_list_changed()
        server.notify.resource_updated("a://1")
        async with asyncio.timeout(WAIT_S):
            await done.wait()
    assert sorted(told) == ["a://1", "tools"]


# --- the revision of results ---


def described() -> Server:
    server = declaring()

    @server.tool(title="A tool", meta={"a": 1})
    def t() -> dict[str, int]:
        return {"x": 1}

    return server


@every_revision
@pytest.mark.parametrize("results", ALL)
async def test_results_come_at_the_revision_that_was_asked_for(revision: str, results: str) -> None:
    async with using(Client("c"), described(), revision, result_revision=results) as session:
        types = mcp_wire.types(results)
        listed = await session.list_tools()
        assert (type(listed), type(listed.tools[0])) == (types.ListToolsResult, types.Tool)
        called = await session.call_tool("t")
        assert (type(called), type(called.content[0])) == (types.CallToolResult, types.TextContent)
        assert type(await session.read_resource("a://1")) is types.ReadResourceResult


@every_revision
async def test_the_revision_may_be_given_as_its_module(revision: str) -> None:
    async with using(Client("c"), described(), revision, result_revision=v2025_06_18) as session:
        assert type((await session.list_tools()).tools[0]) is v2025_06_18.Tool


@every_revision
async def test_data_does_not_depend_on_the_revision_of_results(revision: str) -> None:
    async with using(Client("c"), described(), revision, result_revision=ALL[0]) as session:
        assert await session.call_tool("t", returns=dict[str, int]) == {"x": 1}


async def test_there_must_be_such_a_revision() -> None:
    async with Client("c") as client:
        with pytest.raises(UsageError, match="no revision 'yesterday'"):
            await client.connect(described(), result_revision="yesterday")


# --- errors ---


@every_revision
async def test_an_error_of_the_server_is_one_error_and_no_group(revision: str) -> None:
    async with using(Client("c"), described(), revision) as session:
        with pytest.raises(McpError) as caught:
            await session.get_prompt("no such prompt")
    assert type(caught.value) is McpError
