"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from typing import Any

from mcp_gen import Client, ClientSession, Context, Server
from mcp_wire.extensions import tasks


class OfOtherParams(tasks.Handlers[Context]):
    async def cancel_task(self, ctx: Context, params: int) -> tasks.CancelTaskResult:  # refused
        raise NotImplementedError


class OfAnotherResult(tasks.Handlers[Context]):
    async def cancel_task(self, ctx: Context, params: Any) -> int:  # refused
        raise NotImplementedError


def wrong_declarations(server: Server) -> None:
    server.add_extension(tasks)  # refused
    server.add_extension(tasks.EXTENSION, object())  # refused
    server.add_extension(tasks.EXTENSION, tasks.Handlers)  # refused
    Client("c", extensions=tasks.EXTENSION)  # refused


async def wrong_calls(session: ClientSession) -> None:
    server = tasks.ToServer(session)
    await server.cancel_task(3)  # refused
    await server.cancel_task()  # refused
    await server.cancel_task("1", task="1")  # refused
    print((await server.cancel_task("1")).state)  # refused


def wrong_hooks(server: Server) -> None:
    def of_other_params(ctx: Any, params: int) -> None:
        raise NotImplementedError

    tasks.ToServerHooks(server.hooks).before_cancel_task(of_other_params)  # refused
    tasks.ToClientHooks(server.hooks).on_task_status(of_other_params)  # refused
