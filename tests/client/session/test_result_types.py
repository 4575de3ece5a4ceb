"""Types of what a program gets: the newest ones at every revision, unless it asks for others."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, Context, InvalidResult, Server
from mcp_gen.core.projection.project import restate
from mcp_wire import UNSET, latest, v2025_11_25
from tests.client.scripted import CannedServer
from tests.client.using import declaring, live, using
from tests.core.test_projection import made
from tests.support.frames import ALL, PER_REQUEST, every_revision, with_handshake
from tests.support.peers.raw import talking

ROUNDS = 40

each_way = pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "negotiated"])


def offering(revision: str) -> Server:
    """Return a server of one revision with something of each kind."""
    server = declaring(revisions=[revision])

    @server.tool
    def t() -> dict[str, int]:
        return {"x": 1}

    @server.tool
    def plain() -> latest.TextContent:
        return latest.TextContent(text="text")

    @server.prompt
    def p() -> str:
        return "Hello"

    return server


READS: dict[str, Any] = {
    "ListToolsResult": lambda session: session.list_tools(),
    "CallToolResult": lambda session: session.call_tool("t"),
    "ListResourceTemplatesResult": lambda session: session.list_resource_templates(),
    "ReadResourceResult": lambda session: session.read_resource("a://1"),
    "ListPromptsResult": lambda session: session.list_prompts(),
    "GetPromptResult": lambda session: session.get_prompt("p"),
}


@every_revision
@each_way
@pytest.mark.parametrize("name", READS)
async def test_a_result_is_of_the_newest_type(revision: str, pinned: bool, name: str) -> None:
    async with using(Client("c"), offering(revision), revision if pinned else None) as session:
        result = await READS[name](session)
    assert (session.revision, type(result)) == (revision, getattr(latest, name))


@with_handshake
async def test_a_method_that_the_newest_lacks_has_its_newest_type(revision: str) -> None:
    async with using(Client("c"), offering(revision), revision) as session:
        results = [await session.ping(), await session.set_level("info")]
    assert {type(one) for one in results} == {v2025_11_25.EmptyResult}


@live
async def test_what_a_client_answers_is_of_the_newest_type(revision: str) -> None:
    server, seen = Server("asking"), list[Any]()

    @server.tool
    async def ask(ctx: Context) -> None:
        seen.append(await ctx.client.list_roots())
        seen.append(await ctx.client.ping())

    async with using(Client("c", roots=["/a"]), server, revision) as session:
        assert not (await session.call_tool("ask")).is_error
    assert [type(one) for one in seen] == [latest.ListRootsResult, v2025_11_25.EmptyResult]


@every_revision
async def test_absent_structured_content_is_the_same_at_every_revision(revision: str) -> None:
    async with using(Client("c"), offering(revision), revision) as session:
        result = await session.call_tool("plain")
    # Null is data here, so absence has a value of its own, which is false.
    assert result.structured_content is UNSET


def shared_rows() -> list[tuple[str, str]]:
    """Return each older revision with the methods whose results the newest has, too."""
    newest = mcp_wire.profile(mcp_wire.LATEST).methods
    return [
        (revision, name)
        for revision in ALL[:-1]
        for name, row in mcp_wire.profile(revision).methods.items()
        if row.results and name in newest
    ]


@pytest.mark.parametrize(("revision", "name"), shared_rows())
def test_reading_with_the_newest_type_is_the_projection(revision: str, name: str) -> None:
    older = mcp_wire.profile(revision).methods[name].results[0]
    newest = mcp_wire.profile(mcp_wire.LATEST).methods[name]
    for number in range(ROUNDS):
        value = made(revision, older.__name__, f"{revision} {name} {number}")
        projected = restate(value, mcp_wire.LATEST).value
        assert newest.decode_result(mcp_wire.encode(value)) == projected


LATER: list[tuple[str, str, Any]] = [
    ("2024-11-05", "title", 5),
    ("2024-11-05", "outputSchema", "none"),
    ("2025-03-26", "title", ["a"]),
    ("2025-06-18", "icons", 7),
]
"""Members of a tool that a later revision names: here they are the server's own, and may be any."""


@pytest.mark.parametrize(("revision", "member", "value"), LATER)
@each_way
async def test_a_member_that_only_a_later_revision_names_spoils_no_result(
    revision: str, pinned: bool, member: str, value: Any
) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, member: value}
    unknown = {"error": {"code": -32601, "message": "no such method"}}
    server = CannedServer(revision).on("server/discover", unknown)
    server.on("tools/list", {"result": {"tools": [tool]}})
    async with using(Client("c"), server, revision if pinned else None) as session:
        (read,) = (await session.list_tools()).tools
    assert read == latest.Tool(name="t", input_schema={"type": "object"})


async def test_a_result_that_fits_no_revision_is_refused() -> None:
    server = CannedServer("2024-11-05").on("tools/list", {"result": {"tools": [{"name": 5}]}})
    async with using(Client("c"), server, "2024-11-05") as session:
        with pytest.raises(InvalidResult, match=r"tools/list: .* at `\$\.tools\[0\]\.name`"):
            await session.list_tools()


# --- what the peers say of themselves ---


@every_revision
@each_way
async def test_what_a_server_says_of_itself_is_of_the_newest_types(
    revision: str, pinned: bool
) -> None:
    async with using(Client("c"), offering(revision), revision if pinned else None) as session:
        told = (session.server_info, session.server_capabilities)
    assert [type(one) for one in told] == [latest.Implementation, latest.ServerCapabilities]
    assert told[0] == latest.Implementation(name="declaring", version="0.0.0")
    assert told[1].tools == latest.ToolsCapability(list_changed=True)
    assert told[1].logging == {}


def introduced() -> tuple[Server, list[Any]]:
    """Return a server whose tool keeps what the client says of itself."""
    server, seen = Server("curious"), list[Any]()

    @server.tool
    def look(ctx: Context) -> None:
        seen.extend((ctx.client_info, ctx.client_capabilities))

    return server, seen


@every_revision
async def test_what_a_client_says_of_itself_is_of_the_newest_types(revision: str) -> None:
    server, seen = introduced()
    client = Client("c", "1.0", roots=["/a"], elicitation=lambda session, params: None)
    async with using(client, server, revision) as session:
        await session.call_tool("look")
    info, declared = seen
    assert info == latest.Implementation(name="c", version="1.0")
    assert type(declared) is latest.ClientCapabilities
    assert (declared.roots is not None, declared.sampling, declared.extensions) == (
        True,
        None,
        None,
    )


@with_handshake
async def test_a_session_says_the_same_of_its_client(revision: str) -> None:
    server, seen = Server("curious"), list[Any]()

    @server.tool
    def look(ctx: Context) -> None:
        assert ctx.session is not None
        seen.extend((ctx.session.client_info, ctx.session.client_capabilities))

    async with using(Client("c", "1.0"), server, revision) as session:
        await session.call_tool("look")
    assert seen == [latest.Implementation(name="c", version="1.0"), latest.ClientCapabilities()]


@with_handshake
async def test_before_the_handshake_nothing_is_declared(revision: str) -> None:
    server, seen = Server("curious"), list[Any]()

    @server.hooks.before_initialize
    def before(ctx: Context, params: Any) -> None:
        seen.extend((ctx.client_info, ctx.client_capabilities))

    async with using(Client("c", roots=["/a"]), server, revision):
        pass
    assert seen == [None, latest.ClientCapabilities()]


MALFORMED: list[tuple[Any, Any, latest.Implementation | None, latest.ClientCapabilities]] = [
    (None, {}, None, latest.ClientCapabilities()),
    ("me", {"roots": None}, None, latest.ClientCapabilities()),
    (
        {"name": "n", "title": 5},
        {"roots": 5, "sampling": {}},
        latest.Implementation(name="n", version=""),
        latest.ClientCapabilities(sampling=latest.SamplingCapability()),
    ),
]


@pytest.mark.parametrize(("info", "declared", "read", "capabilities"), MALFORMED)
async def test_of_what_is_malformed_the_members_that_fit_are_kept(
    info: Any, declared: Any, read: Any, capabilities: Any
) -> None:
    server, seen = introduced()
    async with talking(server, PER_REQUEST) as client:
        profile = mcp_wire.profile(PER_REQUEST)
        meta = {profile.client_info_key: info, profile.client_capabilities_key: declared}
        call = {"name": "look", "arguments": {}, "_meta": meta}
        await client.ask(client.speaker.request(1, "tools/call", call))
    assert seen == [read, capabilities]


async def test_of_malformed_capabilities_the_unknown_ones_are_kept() -> None:
    server, seen = introduced()
    async with talking(server, PER_REQUEST) as client:
        key = mcp_wire.profile(PER_REQUEST).client_capabilities_key
        meta = {key: {"roots": 5, "com.example/x": {"a": 1}}}
        call = {"name": "look", "arguments": {}, "_meta": meta}
        await client.ask(client.speaker.request(1, "tools/call", call))
    assert seen[1].extra == {"com.example/x": {"a": 1}}
