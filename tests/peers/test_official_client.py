"""The official client uses our servers: real processes, real pipes and sockets."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, ClientSession, MCPError
from mcp_types import TextContent

import mcp_wire
from mcp_gen import InvalidParams, InvalidRequest, MethodNotFound
from tests.peers.command import Command
from tests.peers.official import reaching
from tests.peers.web import Served, serving

QUICKSTART = Path(__file__).parents[2] / "examples/quickstart_server.py"
OURS = Path(__file__).with_name("programs") / "our_server.py"
WAIT_S = 30.0

each_mode = pytest.mark.parametrize(
    ("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")]
)
STRUCTURED: dict[str, Any] = {
    "2024-11-05": None,
    "2025-03-26": None,
    "2025-06-18": {"result": 3},
    "2025-11-25": {"result": 3},
    "2026-07-28": 3,
}
REFUSES_BAD_ARGUMENTS = {"2024-11-05", "2025-03-26", "2025-06-18"}

OLDEST = ("2024-11-05",)

Commands = Callable[..., Command]
Serve = Callable[..., Command | Served]


@pytest.fixture(params=["stdio", "http"])
def serve(request: pytest.FixtureRequest, command: Commands) -> Iterator[Serve]:
    """Makes a server script and its arguments a server that must end well."""
    servers: list[Command | Served] = []
    with ExitStack() as running:

        def serve(script: Path, *arguments: str) -> Command | Served:
            if request.param == "stdio":
                server: Command | Served = command(script, *arguments)
            else:
                # Before Streamable HTTP there was HTTP+SSE.
                transport = "sse" if arguments == OLDEST else "http"
                server = running.enter_context(serving(script, *arguments, transport=transport))
            servers.append(server)
            return server

        yield serve
        assert [server.end() for server in servers] == [0] * len(servers)
        assert not [server.stderr for server in servers if "Traceback" in server.stderr]


@asynccontextmanager
async def connected(
    server: Command | Served, mode: str = "auto", **options: Any
) -> AsyncGenerator[Client, None]:
    with anyio.fail_after(WAIT_S):
        async with Client(reaching(server), mode=mode, **options) as client:
            yield client


def text(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


# --- the example that users see first ---


@each_mode
async def test_the_official_client_negotiates_the_newest_revision_of_its_mode(
    command: Commands, mode: str, revision: str
) -> None:
    async with connected(command(QUICKSTART), mode) as client:
        assert client.protocol_version == revision
        assert client.server_info
        assert client.server_info.name == "quickstart"
        assert client.instructions == "Adds numbers."
        assert client.server_capabilities.tools is not None


@each_mode
async def test_the_official_client_lists_the_quickstart_tool(
    command: Commands, mode: str, revision: str
) -> None:
    async with connected(command(QUICKSTART), mode) as client:
        (tool,) = (await client.list_tools()).tools
    assert (tool.name, tool.description) == ("add", "Add two numbers.")
    assert tool.input_schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }


@each_mode
async def test_a_call_returns_text_and_the_structured_content_of_its_revision(
    command: Commands, mode: str, revision: str
) -> None:
    async with connected(command(QUICKSTART), mode) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert (text(result), result.structured_content) == ("3", STRUCTURED[revision])
    assert not result.is_error


@each_mode
async def test_a_bad_argument_is_an_error_that_the_model_can_read(
    command: Commands, mode: str, revision: str
) -> None:
    async with connected(command(QUICKSTART), mode) as client:
        result = await client.call_tool("add", {"a": "one", "b": 2})
    assert result.is_error
    assert text(result) == "add: Expected `int`, got `str` - at `$.arguments.a`"


@each_mode
async def test_an_unknown_tool_is_a_protocol_error(
    command: Commands, mode: str, revision: str
) -> None:
    async with connected(command(QUICKSTART), mode) as client:
        with pytest.raises(MCPError, match="unknown tool: nope") as caught:
            await client.call_tool("nope", {})
    assert caught.value.code == InvalidParams.code


@each_mode
async def test_our_server_exits_with_0_by_itself_when_its_stdin_closes(
    command: Commands, mode: str, revision: str
) -> None:
    server = command(QUICKSTART)
    async with connected(server, mode) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        assert server.exit_status is None
    assert server.exit_status == 0


# --- one revision at a time ---


@pytest.mark.few_cases(5)
@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_the_official_client_finds_the_one_revision_that_our_server_offers(
    serve: Serve, revision: str
) -> None:
    async with connected(serve(OURS, revision)) as client:
        assert client.protocol_version == revision
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert (text(result), result.structured_content) == ("3", STRUCTURED[revision])


@pytest.mark.few_cases(5)
@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_a_bad_argument_is_answered_as_the_revision_says(serve: Serve, revision: str) -> None:
    async with connected(serve(OURS, revision)) as client:
        if revision in REFUSES_BAD_ARGUMENTS:
            with pytest.raises(MCPError, match="Expected `int`") as caught:
                await client.call_tool("add", {"a": "one", "b": 2})
            assert caught.value.code == InvalidParams.code
        else:
            assert (await client.call_tool("add", {"a": "one", "b": 2})).is_error


async def test_a_server_without_a_handshake_names_its_revisions_to_a_client_that_wants_one(
    command: Commands,
) -> None:
    with anyio.fail_after(WAIT_S):
        async with (
            reaching(command(OURS, "2026-07-28")) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            with pytest.raises(MCPError, match="2026-07-28") as caught:
                await session.initialize()
    assert caught.value.data["supported"] == ["2026-07-28"]


async def test_a_server_with_a_handshake_refuses_a_client_that_starts_without_one(
    command: Commands,
) -> None:
    async with connected(command(OURS, "2025-11-25"), "2026-07-28") as client:
        with pytest.raises(MCPError, match="`initialize` first") as caught:
            await client.list_tools()
    assert caught.value.code == InvalidRequest.code


# --- stray output ---


@each_mode
async def test_whatever_our_server_prints_goes_to_stderr_and_never_to_the_client(
    command: Commands, caplog: pytest.LogCaptureFixture, mode: str, revision: str
) -> None:
    server = command(OURS)
    disturbances: list[Exception] = []

    async def note(message: Any) -> None:
        if isinstance(message, Exception):
            disturbances.append(message)

    async with connected(server, mode, message_handler=note) as client:
        assert text(await client.call_tool("shout")) == "shouted"
        assert text(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
    assert sorted(server.stderr.splitlines()) == [
        "echoed by a child",
        "printed before serving",
        "printed by a tool",
        "written by a tool",
    ]
    assert not disturbances
    # The official client logs a line that is no message, also while it closes.
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@each_mode
async def test_a_call_that_times_out_is_stopped_and_the_session_goes_on(
    serve: Serve, mode: str, revision: str
) -> None:
    server = serve(OURS)
    async with connected(server, mode) as client:
        with pytest.raises(MCPError, match="timed out"):
            await client.call_tool("hang", read_timeout_seconds=0.3)
        await client.call_tool("until_stopped")
        assert text(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@each_mode
async def test_a_call_that_is_cancelled_is_stopped_and_the_session_goes_on(
    serve: Serve, mode: str, revision: str
) -> None:
    server = serve(OURS)
    async with connected(server, mode) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "hang")
            await client.call_tool("until_hanging")
            calls.cancel_scope.cancel()
        await client.call_tool("until_stopped")
        assert text(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@each_mode
async def test_a_server_with_a_call_in_flight_still_ends_well(
    serve: Serve, mode: str, revision: str
) -> None:
    server = serve(OURS)
    async with connected(server, mode) as client, anyio.create_task_group() as calls:
        calls.start_soon(client.call_tool, "hang")
        await client.call_tool("until_hanging")
        calls.cancel_scope.cancel()


@each_mode
async def test_many_calls_in_flight_each_get_their_own_answer(
    serve: Serve, mode: str, revision: str
) -> None:
    answers: dict[int, str] = {}

    async with connected(serve(OURS), mode) as client:

        async def call(number: int) -> None:
            answers[number] = text(await client.call_tool("add", {"a": number, "b": 1}))

        async with anyio.create_task_group() as calls:
            for number in range(50):
                calls.start_soon(call, number)
    assert answers == {number: str(number + 1) for number in range(50)}


async def test_a_ping_is_answered_in_a_session(serve: Serve) -> None:
    async with connected(serve(OURS), "legacy") as client:
        assert await client.session.send_ping() == mcp_types.EmptyResult()


async def test_a_ping_is_an_unknown_method_where_there_are_no_sessions(serve: Serve) -> None:
    async with connected(serve(OURS), "auto") as client:
        with pytest.raises(MCPError) as caught:
            await client.session.send_ping()
        assert text(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
    assert caught.value.code == MethodNotFound.code


class UnheardOf(mcp_types.Notification[mcp_types.NotificationParams, str]):
    method: str = "notifications/unheard_of"
    params: mcp_types.NotificationParams = mcp_types.NotificationParams()


NOTIFICATIONS: list[Any] = [
    mcp_types.InitializedNotification(),
    mcp_types.RootsListChangedNotification(),
    mcp_types.ProgressNotification(
        params=mcp_types.ProgressNotificationParams(progress_token="none", progress=1)
    ),
    mcp_types.CancelledNotification(
        params=mcp_types.CancelledNotificationParams(request_id="none", reason="no such request")
    ),
    UnheardOf(),
]


@each_mode
@pytest.mark.few_cases(3)
@pytest.mark.parametrize("notification", NOTIFICATIONS, ids=lambda value: type(value).__name__)
async def test_a_notification_that_means_nothing_here_is_ignored(
    command: Commands, mode: str, revision: str, notification: Any
) -> None:
    server = command(QUICKSTART)
    async with connected(server, mode) as client:
        await client.session.send_notification(notification)
        assert (await client.list_tools()).tools
    assert (server.stderr, server.exit_status) == ("", 0)
