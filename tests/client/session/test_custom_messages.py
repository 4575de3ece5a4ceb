"""Custom messages: requests by name, and notifications of servers beside the protocol."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from msgspec import Struct

import mcp_wire
from mcp_gen import Client, ClientSession, Context, InvalidResult, McpError, Server, UsageError
from tests.client.using import using
from tests.support.frames import ALL, STREAMABLE, every_revision
from tests.support.http.loopback import serving

pytestmark = pytest.mark.unchecked("no revision names custom messages")

WAIT_S = 30.0


class Query(Struct, rename="camel"):
    text: str
    at_most: int = 2


@dataclass
class Found:
    items: list[str]


class Counted(TypedDict):
    items: int


class Moved(Struct):
    to: str


def searching(**options: Any) -> Server:
    server = Server("custom", **options)

    @server.method("acme/search", params=Query, result=Found)
    async def search(ctx: Context, params: Query) -> Found:
        await ctx.report_progress(1, 2)
        return Found([params.text] * params.at_most)

    @server.method("acme/fail", params=dict, result=dict)
    async def fail(ctx: Context, params: Any) -> Any:
        raise McpError(-31000, "not here")

    @server.tool
    async def move(ctx: Context, to: str) -> None:
        await ctx.client.notify("acme/moved", {"to": to})

    return server


def ignore(done: float, total: float | None, message: str | None) -> None:
    """Ignore progress."""


class Heard:
    """Handler that records what it is called with, and waits for it."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []
        self._news = asyncio.Event()

    async def __call__(self, session: ClientSession, *said: Any) -> None:
        self.said.append(said)
        self._news.set()

    async def next(self) -> tuple[Any, ...]:
        """Wait for the first call."""
        async with asyncio.timeout(WAIT_S):
            await self._news.wait()
        return self.said[0]


# --- requests ---


@every_revision
async def test_a_custom_request_returns_the_json_object(revision: str) -> None:
    async with using(Client("test"), searching(), revision) as session:
        found = await session.request("acme/search", {"text": "tea"})
        assert found["items"] == ["tea", "tea"]


@every_revision
async def test_a_custom_request_returns_a_typed_value(revision: str) -> None:
    async with using(Client("test"), searching(), revision) as session:
        found = await session.request("acme/search", Query("tea", 1), returns=Found)
        assert found == Found(["tea"])


@every_revision
async def test_a_custom_request_reports_progress(revision: str) -> None:
    reports: list[Any] = []

    async with using(Client("test"), searching(), revision) as session:
        await session.request(
            "acme/search",
            {"text": "tea"},
            progress=lambda done, total, message: reports.append((done, total)),
        )
    assert reports == [(1, 2)]


@every_revision
async def test_a_custom_request_raises_the_error_of_the_server(revision: str) -> None:
    async with using(Client("test"), searching(), revision) as session:
        with pytest.raises(McpError, match="not here"):
            await session.request("acme/fail")


@every_revision
async def test_a_custom_result_that_does_not_fit_names_the_method_and_the_path(
    revision: str,
) -> None:
    async with using(Client("test"), searching(), revision) as session:
        with pytest.raises(InvalidResult, match=r"acme/search.*int.*\$\.items"):
            await session.request("acme/search", {"text": "tea"}, returns=Counted)


async def test_a_custom_result_stands_in_strict_validation_and_older_results() -> None:
    client = Client("test", validation="strict")
    async with using(client, searching(), None, result_revision=ALL[0]) as session:
        found = await session.request("acme/search", Query("tea", 1), returns=Found)
        assert found == Found(["tea"])


async def test_hooks_and_middleware_see_custom_requests() -> None:
    client, seen = Client("test"), list[str]()

    @client.hooks.outbound.before_any
    def before(session: Any, method: str, params: Any) -> None:
        seen.append(f"hook {method}")

    @client.sending_middleware
    async def around(session: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append(f"middleware {method}")
        return await call_next(params)

    async with using(client, searching(), None) as session:
        await session.request("acme/search", {"text": "tea"})
    assert seen[-2:] == ["middleware acme/search", "hook acme/search"]


async def test_a_method_of_the_protocol_is_no_custom_request() -> None:
    async with using(Client("test"), searching(), None) as session:
        with pytest.raises(UsageError, match="tools/list"):
            await session.request("tools/list")


async def test_params_that_are_no_object_are_refused() -> None:
    async with using(Client("test"), searching(), None) as session:
        with pytest.raises(UsageError, match="acme/search: expected params that are a JSON object"):
            await session.request("acme/search", [1])


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_custom_messages_go_over_http_too(revision: str) -> None:
    client, heard = Client("test"), Heard()
    client.notification("acme/moved", params=Moved)(heard)
    async with serving(searching().asgi()) as web, using(client, web.url, revision) as session:
        assert await session.request("acme/search", Query("tea", 1), returns=Found) == Found(
            ["tea"]
        )
        await session.call_tool("move", {"to": "Oslo"})
        assert await heard.next() == (Moved("Oslo"),)


# --- notifications ---


@every_revision
async def test_a_server_hears_a_custom_notification_by_name(revision: str) -> None:
    server, heard = searching(), Heard()

    @server.notification("acme/left", params=Moved)
    async def left(ctx: Context, params: Moved) -> None:
        await heard(None, params)  # type: ignore[arg-type]

    async with using(Client("test"), server, revision) as session:
        await session.notify("acme/left", Moved("Oslo"))
        assert await heard.next() == (Moved("Oslo"),)


@every_revision
async def test_a_client_hears_a_custom_notification_by_name(revision: str) -> None:
    client, heard = Client("test"), Heard()
    client.notification("acme/moved", params=Moved)(heard)
    async with using(client, searching(), revision) as session:
        await session.call_tool("move", {"to": "Oslo"})
        assert await heard.next() == (Moved("Oslo"),)


async def test_a_handler_of_a_notification_that_is_added_later_hears_the_next_one() -> None:
    client, heard = Client("test"), Heard()
    async with using(client, searching(), None) as session:
        client.notification("acme/moved", params=Moved)(heard)
        await session.call_tool("move", {"to": "Oslo"})
        assert await heard.next() == (Moved("Oslo"),)


async def test_a_handler_hears_only_at_the_revisions_it_is_for() -> None:
    client, never, heard = Client("test"), Heard(), Heard()
    client.notification("acme/moved", params=Moved, revisions=[ALL[0]])(never)
    client.on_unknown_notification(heard)
    async with using(client, searching(), ALL[-1]) as session:
        await session.call_tool("move", {"to": "Oslo"})
        await heard.next()
    assert never.said == []


@every_revision
async def test_unknown_notifications_go_to_the_catch_all_with_plain_params(revision: str) -> None:
    client, heard = Client("test"), Heard()
    client.on_unknown_notification(heard)
    async with using(client, searching(), revision) as session:
        await session.call_tool("move", {"to": "Oslo"})
        assert await heard.next() == ("acme/moved", {"to": "Oslo"})


async def test_the_catch_all_may_be_sync_and_hears_no_notification_that_is_known() -> None:
    client, heard, unknown = Client("test"), Heard(), list[str]()
    client.notification("acme/moved", params=Moved)(heard)

    @client.on_unknown_notification
    def catch_all(session: ClientSession, method: str, params: Any) -> None:
        unknown.append(method)

    async with using(client, searching(), None) as session:
        await session.call_tool("move", {"to": "Oslo"}, progress=ignore)
        await heard.next()
    assert unknown == []


async def test_a_custom_notification_with_a_handler_is_no_violation() -> None:
    client, heard, violations = Client("test", validation="report"), Heard(), list[Any]()
    client.notification("acme/moved", params=Moved)(heard)
    client.on_violation(violations.append)
    async with using(client, searching(), None) as session:
        await session.call_tool("move", {"to": "Oslo"})
        await heard.next()
    assert violations == []


@pytest.mark.parametrize("name", ["", "rpc.x", "notifications/progress"])
async def test_a_name_of_the_protocol_is_no_custom_notification(name: str) -> None:
    client = Client("test")
    with pytest.raises(UsageError):
        client.notification(name, params=Moved)
    async with using(client, searching(), None) as session:
        with pytest.raises(UsageError):
            await session.notify(name)


def test_a_second_handler_of_one_notification_is_refused() -> None:
    client = Client("test")
    client.notification("acme/moved", params=Moved)(Heard())
    with pytest.raises(UsageError, match="acme/moved"):
        client.notification("acme/moved", params=Moved)


@pytest.mark.parametrize("revision", [one for one in ALL if mcp_wire.profile(one).handshake])
async def test_a_server_sends_custom_notifications_outside_of_requests(revision: str) -> None:
    server, client, heard = searching(), Client("test"), Heard()
    client.notification("acme/moved", params=Moved)(heard)
    sessions: list[Any] = []
    server.hooks.session_opened(sessions.append)
    async with using(client, server, revision) as session:
        await session.list_tools()
        await sessions[0].client.notify("acme/moved", Moved("Oslo"))
        assert await heard.next() == (Moved("Oslo"),)
