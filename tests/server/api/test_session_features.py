"""SessionFeatures: items of one session, listed, callable and notified there alone."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from mcp_gen import Context, Server, UsageError
from mcp_gen.server.listing import registry
from tests.support.frames import HANDSHAKE, PER_REQUEST, with_handshake
from tests.support.peers.raw import RawClient, talking

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"


def unlocking(*features: Any, **options: Any) -> Server:
    """Return a server whose tools `unlock` and `lock` add and remove session-local items."""
    server = Server("own", declare=features or ("tools", "prompts"), **options)

    @server.tool
    async def unlock(name: str, ctx: Context) -> str:
        mine = server.for_session(ctx.session)

        @mine.tool(name=name)
        def tool() -> str:
            return f"the session's {name}"

        @mine.prompt(name=name)
        def prompt() -> str:
            return f"the session's {name}"

        return "unlocked"

    @server.tool
    async def lock(name: str, ctx: Context) -> str:
        mine = server.for_session(ctx.session)
        mine.remove_tool(name)
        mine.remove_prompt(name)
        return "locked"

    return server


async def names(client: RawClient, kind: str = "tools") -> list[str]:
    found: list[str] = []
    params: dict[str, Any] = {}
    while True:
        answer = await client.ask(client.speaker.request("names", f"{kind}/list", params))
        found += [one["name"] for one in answer["result"][kind]]
        if "nextCursor" not in answer["result"]:
            return found
        params = {"cursor": answer["result"]["nextCursor"]}


async def call(client: RawClient, tool: str, **arguments: Any) -> Any:
    answer = await client.ask(client.speaker.call("call", tool, **arguments))
    return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]


async def get(client: RawClient, prompt: str) -> Any:
    answer = await client.ask(client.speaker.request("get", "prompts/get", {"name": prompt}))
    result = answer.get("result")
    return result["messages"][0]["content"]["text"] if result else answer["error"]


def told(client: RawClient) -> list[str]:
    """Return the notifications that have not been read yet."""
    return [frame["method"] for frame in client.came]


@with_handshake
async def test_what_a_session_has_is_used_there_and_unknown_elsewhere(revision: str) -> None:
    server = unlocking()
    async with talking(server, revision) as one, talking(server, revision) as other:
        await call(one, "unlock", name="secret")
        assert await call(one, "secret") == "the session's secret"
        assert await get(one, "secret") == "the session's secret"
        assert await call(other, "secret") == {"code": -32602, "message": "unknown tool: secret"}
        assert await get(other, "secret") == {"code": -32602, "message": "unknown prompt: secret"}


@with_handshake
async def test_what_a_session_has_is_listed_there_alone(revision: str) -> None:
    server = unlocking()
    async with talking(server, revision) as one, talking(server, revision) as other:
        for _ in range(2):
            # Again: the cached bytes of all sessions do not apply to this one.
            await names(other)
            await call(one, "unlock", name="secret")
            assert await names(one) == ["unlock", "lock", "secret"]
            assert await names(one, "prompts") == ["secret"]
            assert await names(other) == ["unlock", "lock"]
            assert await names(other, "prompts") == []
            await call(one, "lock", name="secret")
            assert await names(one) == ["unlock", "lock"]


@with_handshake
async def test_a_template_that_is_the_first_item_of_all_is_read(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("own", declare=["resources"])

    def read_at(x: str) -> str:
        return x

    @server.hooks.session_opened
    async def offer(session: Any) -> None:
        # As in a new process: the items of all servers are numbered together.
        monkeypatch.setattr(registry, "_numbers", count(1))
        server.for_session(session).add_resource_template("a://{x}", read_at, name="a")

    async with talking(server, revision) as client:
        listed = await client.ask(client.speaker.request(1, "resources/templates/list"))
        read = await client.ask(client.speaker.request(2, "resources/read", {"uri": "a://b"}))
    assert [one["name"] for one in listed["result"]["resourceTemplates"]] == ["a"]
    assert read["result"]["contents"][0]["text"] == "b"


@with_handshake
async def test_only_that_session_is_told(revision: str) -> None:
    server = unlocking()
    async with talking(server, revision) as one, talking(server, revision) as other:
        await call(one, "unlock", name="secret")
        await names(one)
        await names(other)
        assert (told(one), told(other)) == ([TOOLS, PROMPTS], [])


@with_handshake
async def test_two_sessions_may_use_the_same_name(revision: str) -> None:
    server = unlocking()
    async with talking(server, revision) as one, talking(server, revision) as other:
        await call(one, "unlock", name="secret")
        await call(other, "unlock", name="secret")
        await call(one, "lock", name="secret")
        assert await call(other, "secret") == "the session's secret"


@with_handshake
@pytest.mark.parametrize("page_size", [None, 1, 2])
async def test_the_sessions_own_stands_before_what_the_server_has(
    revision: str, page_size: int | None
) -> None:
    server = unlocking(page_size=page_size)
    server.add_tool(lambda: "the server's", name="shared")
    async with talking(server, revision) as client:
        assert await call(client, "shared") == "the server's"
        await call(client, "unlock", name="shared")
        assert await call(client, "shared") == "the session's shared"
        assert await names(client) == ["unlock", "lock", "shared"]
        await call(client, "lock", name="shared")
        assert await call(client, "shared") == "the server's"


@with_handshake
@pytest.mark.parametrize("page_size", [1, 2, 3])
async def test_pages_hold_both_in_the_order_in_which_they_were_added(
    revision: str, page_size: int
) -> None:
    server = unlocking(page_size=page_size)
    async with talking(server, revision) as client:
        await call(client, "unlock", name="b")
        server.add_tool(lambda: "", name="c")
        await call(client, "unlock", name="d")
        assert await names(client) == ["unlock", "lock", "b", "c", "d"]


@with_handshake
async def test_filters_see_what_a_session_has(revision: str) -> None:
    server = unlocking()
    server.filter_tools(lambda ctx, tool: tool.name != "secret")
    async with talking(server, revision) as client:
        await call(client, "unlock", name="secret")
        assert await names(client) == ["unlock", "lock"]
        assert await call(client, "secret") == {"code": -32602, "message": "unknown tool: secret"}


@with_handshake
async def test_a_name_that_the_session_has_already_is_refused(revision: str) -> None:
    server = unlocking()
    async with talking(server, revision) as client:
        await call(client, "unlock", name="secret")
        text = await call(client, "unlock", name="secret")
        assert text.startswith("tool 'secret' is there already")


@with_handshake
async def test_items_can_be_given_when_a_session_opens(revision: str) -> None:
    server = unlocking()

    @server.hooks.session_opened
    async def welcome(session: Any) -> None:
        server.for_session(session).add_tool(lambda: "hello", name="welcome")

    async with talking(server, revision) as client:
        assert await call(client, "welcome") == "hello"


@with_handshake
async def test_what_the_session_was_not_told_of_cannot_be_added(revision: str) -> None:
    server = unlocking("tools")
    async with talking(server, revision) as client:
        text = await call(client, "unlock", name="secret")
        assert text == (
            "this session was told at its beginning that there are no prompts: "
            'declare them with Server(declare=["prompts"])'
        )


async def test_without_sessions_there_is_nothing_to_add_to() -> None:
    async with talking(unlocking(), PER_REQUEST) as client:
        text = await call(client, "unlock", name="secret")
        assert text.startswith("there is no session here: each request stands for itself")


async def test_a_connection_without_a_handshake_is_no_session_to_add_to() -> None:
    server = unlocking()
    async with talking(server, PER_REQUEST) as client:
        await names(client)
        (connection,) = server.sessions()
        with pytest.raises(UsageError, match="there is no session here"):
            server.for_session(connection)


async def test_what_is_no_feature_is_no_attribute() -> None:
    server = unlocking()
    async with talking(server, HANDSHAKE):
        await asyncio.sleep(0)
        (session,) = server.sessions()
        mine: Any = server.for_session(session)
        with pytest.raises(AttributeError, match="SessionFeatures has no attribute 'completions'"):
            _ = mine.completions
