"""Typing of clients, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, assert_type

from mcp_gen import (
    Change,
    Client,
    ClientManager,
    ClientSession,
    Media,
    Server,
    TaskState,
    ToolTask,
    UrlElicitation,
    Violation,
    images_of,
    text_of,
)
from mcp_wire import latest, v2025_06_18


@dataclass
class Point:
    x: int


class Named(TypedDict):
    name: str


async def sessions_and_servers_are_mounted(session: ClientSession, inner: Server) -> None:
    server = Server("outer")
    server.mount("near", inner, separator=".")
    server.mount(None, session)
    server.unmount("near")
    server.unmount(session)


async def results_are_typed(session: ClientSession) -> None:
    assert_type(await session.call_tool("t", {"a": 1}), latest.CallToolResult)
    assert_type(await session.call_tool("t", returns=int), int)
    assert_type(await session.call_tool("t", returns=Point, timeout_s=1, retry=True), Point)
    assert_type(await session.call_tool("t", returns=Named), Named)
    assert_type(await session.call_tool("t", returns=list[Point]), list[Point])
    assert_type(await session.call_tool("t", returns=dict[str, Any]), dict[str, Any])
    assert_type(await session.call_tool("t", returns=None), None)
    assert_type(await session.call_tool("t", returns=int | None), int | None)
    assert_type(await session.call_tool("t", returns=Point | str), Point | str)
    assert_type(await session.call_tool("t", returns=list[Point] | None), list[Point] | None)
    assert_type(await session.call_tool("t", returns=Annotated[int, "unit"]), int)
    assert_type(await session.call_tool("t", returns=Literal["a", "b"]), Literal["a", "b"])
    assert_type(await session.call_tool("t", returns=tuple[int, str]), tuple[int, str])
    async for tool in session.tools():
        assert_type(tool, latest.Tool)
    async for resource in session.resources():
        assert_type(resource, latest.Resource)
    async for template in session.resource_templates():
        assert_type(template, latest.ResourceTemplate)
    assert_type([prompt async for prompt in session.prompts()], list[latest.Prompt])
    assert_type(session.server_info, latest.Implementation | None)
    assert_type(session.server_capabilities, latest.ServerCapabilities)
    called = await session.call_tool("t")
    assert_type(text_of(called), str)
    assert_type(images_of(called), list[Media])
    assert_type(text_of(await session.read_resource("a:b")), str)


async def calls_of_managers_are_typed(manager: ClientManager) -> None:
    assert_type(await manager.call_tool("t"), latest.CallToolResult)
    assert_type(await manager.call_tool("t", returns=None), None)
    assert_type(await manager.call_tool("t", returns=Point, timeout_s=1), Point)
    assert_type(await manager.call_tool("t", returns=list[int] | None), list[int] | None)


async def tasks_are_typed(session: ClientSession) -> None:
    assert_type(await session.call_tool("t", task=True, returns=int), int)
    task = await session.start_tool("t", {"a": 1}, ttl_s=5)
    assert_type(task, ToolTask)
    assert_type(await task.result(), latest.CallToolResult)
    assert_type(await task.result(Point), Point)
    assert_type(await task.result(None), None)
    assert_type(await task.result(int | None), int | None)
    assert_type(await session.task("id").result(int, timeout_s=1), int)
    assert_type(await task.refresh(), TaskState | None)
    async for state in task:
        assert_type(state, TaskState)
    assert_type([one async for one in session.tasks()], list[ToolTask])


async def changes_are_typed(session: ClientSession) -> None:
    async with session.watch("a://b", tools=True) as changes:
        assert_type(changes.honoured, latest.SubscriptionFilter)
        async for change in changes:
            assert_type(change, Change)
            assert_type(change.uri, str | None)


def handlers_keep_their_signatures(client: Client) -> None:
    @client.sampling
    async def sample(
        session: ClientSession, params: latest.CreateMessageRequestParams
    ) -> latest.CreateMessageResult:
        raise NotImplementedError

    @client.sampling(tools=True)
    def with_tools(
        session: ClientSession, params: latest.CreateMessageRequestParams
    ) -> latest.CreateMessageResult | None:
        raise NotImplementedError

    @client.elicitation
    async def fill(
        session: ClientSession, params: latest.ElicitRequestFormParams
    ) -> dict[str, str]:
        raise NotImplementedError

    @client.elicitation
    def answer(
        session: ClientSession, params: latest.ElicitRequestFormParams
    ) -> latest.ElicitResult:
        raise NotImplementedError

    @client.url_elicitation
    async def go(session: ClientSession, page: UrlElicitation) -> Literal["accept", "decline"]:
        raise NotImplementedError

    @client.list_roots
    def roots(session: ClientSession) -> list[Path]:
        raise NotImplementedError

    @client.on_violation
    def report(report: Violation) -> None:
        raise NotImplementedError

    plain: Callable[[ClientSession], list[Path]] = roots
    told: Callable[[Violation], None] = report
    del plain, told, sample, with_tools, fill, answer, go


async def handlers_may_be_given_to_the_client(target: list[str]) -> None:
    async def sample(
        session: ClientSession, params: latest.CreateMessageRequestParams
    ) -> latest.CreateMessageResult:
        return latest.CreateMessageResult(
            role="assistant", content=latest.TextContent(text="a"), model="m"
        )

    client = Client(
        "c",
        sampling=sample,
        elicitation=lambda session, params: {"name": params.message},
        url_elicitation=lambda session, page: "accept" if page.url else "decline",
        roots=["a", Path("b"), latest.Root(uri="file:///c")],
        validation="strict",
        log_level="info",
    )
    Client("c", roots=lambda session: [session.revision])
    session = await client.connect(target, result_revision=v2025_06_18)
    await client.connect(target, result_revision="2025-06-18", revision="2025-11-25")
    assert_type(session, ClientSession)
    assert_type(await client.add_roots("d"), None)
