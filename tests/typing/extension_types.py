"""Typing of extensions, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from typing import Any, assert_type

from mcp_gen import Client, ClientSession, Context, Server
from mcp_gen.session.duplex.server import ServerConnection
from mcp_wire import latest
from mcp_wire.extensions import tasks


class Handlers(tasks.Handlers[Context]):
    async def cancel_task(
        self, ctx: Context, params: tasks.CancelTaskRequestParams
    ) -> tasks.CancelTaskResult:
        assert_type(params.task_id, str)
        assert_type(ctx.declares(tasks.EXTENSION), dict[str, Any] | None)
        assert_type(ctx.require(tasks.EXTENSION), dict[str, Any])
        return tasks.CancelTaskResult()

    async def agree(
        self, ctx: Context, wanted: tasks.TaskSubscriptionNotifications
    ) -> tasks.TaskSubscriptionAcknowledgedNotifications:
        return tasks.TaskSubscriptionAcknowledgedNotifications(task_ids=wanted.task_ids)


def extensions_are_declared(server: Server) -> None:
    server.add_extension(tasks.EXTENSION, Handlers())
    server.add_extension(tasks.EXTENSION, settings={})
    server.add_extension(tasks.EXTENSION, settings=tasks.TasksExtensionCapability())
    Server("s", extensions=[tasks.EXTENSION, (tasks.EXTENSION, {})])
    Client("c", extensions=[tasks.EXTENSION, (tasks.EXTENSION, tasks.TasksExtensionCapability())])


async def calls_are_typed(session: ClientSession) -> None:
    assert_type(session.declares(tasks.EXTENSION), dict[str, Any] | None)
    server = tasks.ToServer(session)
    assert_type(await server.cancel_task("1", timeout_s=1), tasks.CancelTaskResult)
    found = await server.get_task("1")
    if isinstance(found, tasks.FailedTaskResult):
        assert_type(found.error, latest.Error)
    wanted = tasks.TaskSubscriptionNotifications(task_ids=["1"])
    async with session.watch(also=[wanted]) as changes:
        changes.agreed(tasks.EXTENSION)


async def those_who_can_be_told(
    ctx: Context, server: Server, session: ServerConnection[Context]
) -> None:
    params = tasks.WorkingTaskNotificationParams(
        task_id="1", created_at="", last_updated_at="", ttl_ms=None
    )
    for told in (ctx.client, session.client, server.notify.extension_listeners(task_ids="1")):
        assert_type(await tasks.ToClient(told).notify_task_status(params), None)


def hooks_are_typed(server: Server, client: Client) -> None:
    @tasks.ToServerHooks(server.hooks).before_cancel_task
    async def before(ctx: Any, params: tasks.CancelTaskRequestParams) -> None:
        raise NotImplementedError

    @tasks.ToServerHooks(client.hooks.outbound).after_cancel_task
    def after(
        session: Any, params: tasks.CancelTaskRequestParams, result: tasks.CancelTaskResult
    ) -> tasks.CancelTaskResult:
        return result

    @tasks.ToClientHooks(client.hooks).on_task_status
    def heard(session: Any, params: tasks.TaskStatusNotificationParams) -> None:
        raise NotImplementedError

    del before, after, heard


def tools_may_answer_with_their_results(server: Server) -> None:
    @server.tool
    async def make(ctx: Context) -> str | tasks.CreateTaskResult:
        raise NotImplementedError

    del make
