"""Our client uses a server made with the official SDK: real processes, real pipes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS

from mcp_gen import (
    Client,
    ClientSession,
    McpError,
    MethodNotFound,
    ProtocolError,
    RequestTimeout,
)
from mcp_wire import REVISIONS, latest
from tests.peers.command import Command

OFFICIAL = Path(__file__).with_name("programs") / "official_server.py"
WAIT_S = 30.0

each_revision = pytest.mark.parametrize("revision", KNOWN_PROTOCOL_VERSIONS)
each_handshake = pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
each_lifecycle = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
# Each case starts a server of the official SDK, which takes more than a second.
few = pytest.mark.few_cases(2)

Commands = Callable[..., Command]


@asynccontextmanager
async def connected(
    server: Command, revision: str | None = None
) -> AsyncGenerator[ClientSession, None]:
    async with asyncio.timeout(WAIT_S), Client("agent", "1.0.0") as client:
        yield await client.connect(server.words, revision=revision)


def read(result: Any) -> tuple[str, Any]:
    """Return a result's text and structured content."""
    (block,) = result.content
    return block.text, result.structured_content


def test_the_official_sdk_speaks_every_revision_that_we_do() -> None:
    assert KNOWN_PROTOCOL_VERSIONS == REVISIONS


async def test_our_client_finds_the_newest_revision_by_asking(command: Commands) -> None:
    async with connected(command(OFFICIAL)) as session:
        assert session.revision == "2026-07-28"
        assert (session.server_info.name, session.server_info.version) == ("official", "2.3.0")
        assert session.instructions == "Answers our client."


async def test_our_client_falls_back_to_the_handshake(command: Commands) -> None:
    async with connected(command(OFFICIAL, "--handshake")) as session:
        assert session.revision == "2025-11-25"
        assert read(await session.call_tool("add", {"a": 1, "b": 2})) == ("3", {"result": 3})


async def test_a_pinned_revision_that_the_server_does_not_speak_is_a_protocol_error(
    command: Commands,
) -> None:
    server = command(OFFICIAL, "--handshake")
    with pytest.raises(ProtocolError, match="2026-07-28, which the server does not speak"):
        async with connected(server, "2026-07-28"):
            pass
    assert server.exit_status == 0


@each_revision
async def test_our_client_gets_the_revision_that_it_pins(command: Commands, revision: str) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        assert session.revision == revision
        assert session.server_info.name == "official"
        assert session.instructions == "Answers our client."
        assert session.server_capabilities.tools is not None


@few
@each_revision
async def test_tools_are_listed_by_the_page_and_one_by_one(
    command: Commands, revision: str
) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        page = await session.list_tools()
        walked = [tool async for tool in session.tools()]
    assert page.tools == walked
    assert page.next_cursor is None
    add, *_ = walked
    assert isinstance(add, latest.Tool)
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.input_schema["required"] == ["a", "b"]


@each_revision
async def test_a_call_returns_text_and_structured_content(command: Commands, revision: str) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        number, three = read(await session.call_tool("add", {"a": 1, "b": 2}))
        _, point = read(await session.call_tool("mirror", {"x": 1, "y": 2}))
    assert number == "3"
    # The official server sends it at revisions without it, too; `validation="report"` tells.
    assert (three, point) == ({"result": 3}, {"x": 2, "y": 1})


@pytest.mark.few_cases(5)
@each_revision
@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("fail", {"reason": "out of paper"}, "out of paper"),
        ("add", {"a": "one", "b": 2}, "valid integer"),
        ("nope", {}, "Unknown tool: nope"),
    ],
)
async def test_a_tool_error_is_a_result_that_says_so(
    command: Commands, revision: str, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        result = await session.call_tool(tool, arguments)
    assert result.is_error
    assert message in read(result)[0]


@each_lifecycle
async def test_a_protocol_error_is_raised_with_its_code_and_data(
    command: Commands, revision: str
) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        with pytest.raises(McpError, match="not today") as caught:
            await session.call_tool("refuse", {"reason": "not today"})
        assert read(await session.call_tool("add", {"a": 1, "b": 2}))[0] == "3"
    assert (caught.value.code, caught.value.data) == (-32050, {"retry": False})


@few
@each_handshake
async def test_our_client_answers_a_ping(command: Commands, revision: str) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        assert read(await session.call_tool("ping_client"))[0] == "answered"


async def test_our_client_refuses_what_it_does_not_offer_and_the_session_goes_on(
    command: Commands,
) -> None:
    async with connected(command(OFFICIAL), "2025-11-25") as session:
        # The official server returns the client's error as its own.
        with pytest.raises(McpError, match="does not offer `roots/list`") as caught:
            await session.call_tool("ask_for_roots")
        assert read(await session.call_tool("add", {"a": 1, "b": 2}))[0] == "3"
    assert caught.value.code == MethodNotFound.code


@few
@each_revision
async def test_notifications_do_not_disturb_our_client(
    command: Commands, caplog: pytest.LogCaptureFixture, revision: str
) -> None:
    caplog.set_level(logging.WARNING)
    # Without these the official server sends no progress, and at 2026-07-28 no log messages.
    meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
    async with connected(command(OFFICIAL), revision) as session:
        assert read(await session.call_tool("notify", meta=meta))[0] == "notified"
        assert read(await session.call_tool("add", {"a": 1, "b": 2}))[0] == "3"
    assert not caplog.records


@each_lifecycle
async def test_a_call_that_times_out_is_stopped_and_the_session_goes_on(
    command: Commands, revision: str
) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        with pytest.raises(RequestTimeout):
            await session.call_tool("hang", timeout_s=0.3)
        await session.call_tool("until_stopped")
        assert read(await session.call_tool("add", {"a": 1, "b": 2}))[0] == "3"


@each_lifecycle
async def test_a_call_that_is_cancelled_is_stopped_and_the_session_goes_on(
    command: Commands, revision: str
) -> None:
    async with connected(command(OFFICIAL), revision) as session:
        call = asyncio.create_task(session.call_tool("hang"))
        await session.call_tool("until_hanging")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await session.call_tool("until_stopped")
        assert read(await session.call_tool("add", {"a": 1, "b": 2}))[0] == "3"


@each_lifecycle
async def test_the_official_server_exits_by_itself_when_our_client_closes(
    command: Commands, revision: str
) -> None:
    server = command(OFFICIAL)
    async with connected(server, revision) as session:
        await session.call_tool("add", {"a": 1, "b": 2})
        assert server.exit_status is None
    assert server.exit_status == 0
