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
    MessageTooLarge,
    Retry,
    Server,
    TaskState,
    ToolTask,
    TransportError,
    UrlElicitation,
    Violation,
    images_of,
    text_of,
)
from mcp_gen.session.messages.middleware import CallNext
from mcp_wire import latest, v2025_06_18


@dataclass
class Point:
    x: int


class Named(TypedDict):
    name: str


async def targets_are_connected_to_and_servers_run_in_a_loop(client: Client) -> None:
    server = Server("here")
    for target in (server, Server.per_connection(lambda: server), Path("server.py")):
        assert_type(await client.connect(target), ClientSession)
    assert_type(await client.connect("server.py:server"), ClientSession)
    assert_type(await client.connect(["uvx", "a-server"]), ClientSession)
    assert_type(await server.run_async("http", port=0, announce=False), None)


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


def notifications_keep_the_types_of_their_handlers(client: Client) -> None:
    @client.notification("acme/moved", params=Point)
    async def moved(session: ClientSession, params: Point) -> None:
        raise NotImplementedError

    @client.notification("acme/named", params=Named, revisions=["2025-11-25"])
    def named(session: ClientSession, params: Named) -> None:
        raise NotImplementedError

    @client.on_unknown_notification
    async def unknown(session: ClientSession, method: str, params: Any) -> None:
        raise NotImplementedError

    @client.on_unknown_notification
    def also_unknown(session: ClientSession, method: str, params: Any) -> None:
        raise NotImplementedError

    count: Callable[[ClientSession, str, Any], None] = also_unknown
    del moved, named, unknown, count


def middleware_keeps_its_signature(client: Client) -> None:
    @client.middleware
    async def logged(session: Any, method: str, params: Any, call_next: CallNext) -> Any:
        return await call_next(params)

    @client.sending_middleware
    async def timed(
        session: ClientSession | None, method: str, params: Any, call_next: CallNext
    ) -> Any:
        return await call_next(params)

    class Counted:
        async def __call__(
            self, session: Any, method: str, params: Any, call_next: CallNext
        ) -> Any:
            return await call_next(params)

    assert_type(client.add_middleware(Counted()), None)
    assert_type(client.add_sending_middleware(Counted()), None)
    assert_type(client.add_sending_middleware(Retry()), None)
    client.add_sending_middleware(Retry(5, first_delay_s=0.1, max_delay_s=2, tools=True))
    assert_type(client.sending_middleware(Retry()), Retry)
    again: Callable[[Any, str, Any, CallNext], Any] = logged
    del again, timed


async def custom_messages_are_typed(client: Client) -> None:
    assert_type(client.sessions(), list[ClientSession])
    for session in client.sessions():
        assert_type(await session.request("acme/at", returns=Point), Point)
        assert_type(await session.request("acme/at", {"x": 1}, returns=Named), Named)
        assert_type(await session.request("acme/at", Point(1), timeout_s=2), dict[str, Any])
        assert_type(await session.notify("acme/moved", {"x": 1}), None)
        assert_type(await session.notify("acme/moved"), None)


async def errors_are_told_apart(session: ClientSession) -> None:
    try:
        await session.read_resource("a:b")
    except MessageTooLarge as error:
        whole: TransportError = error
        del whole
