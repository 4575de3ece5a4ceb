"""Servers with task tools, and client helpers for both task protocols."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from mcp_gen import Accepted, Context, McpError, Server, Tasks, ToolError
from mcp_gen.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from tests.support.peers.asked import WAIT_S, Asked
from tests.support.peers.conversation import Conversation

__all__ = [
    "ASK",
    "BLUE",
    "ENDED",
    "RED",
    "RELATED",
    "TASKS",
    "TASK_CLIENT",
    "arrives",
    "begun",
    "forgotten",
    "names_of",
    "start",
    "state",
    "working",
]

TASKS = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
ENDED = ("completed", "failed", "cancelled")
ASK = "elicitation/create"
RED = {"action": "accept", "content": {"colour": "red"}}
BLUE = {"action": "accept", "content": {"colour": "blue"}}

TASK_CLIENT: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}
"""Capabilities of a client with the tasks extension and elicitation."""


@dataclass
class Choice:
    colour: Literal["red", "blue"]


@dataclass
class Size:
    size: int


def working(**options: Any) -> Server:
    """Return a server with tools whose task support is optional, required (`only_…`), or none."""
    server = Server("working", "1.0.0", tasks=Tasks(grace_s=0), **options)
    released, stopped = asyncio.Event(), asyncio.Event()

    @server.tool
    async def plain(text: str) -> str:
        """Return a text, never as a task."""
        return text

    async def echo(text: str) -> str:
        """Return a text."""
        return text

    async def fail(reason: str) -> str:
        """Fail in a way that a model can read."""
        raise ToolError(reason)

    async def refuse() -> str:
        """Answer with an error of the protocol."""
        raise McpError(-1, "not today", {"until": "tomorrow"})

    for tool in (echo, fail, refuse):
        server.add_tool(tool, task="optional")
        server.add_tool(tool, name=f"only_{tool.__name__}", task="required")

    @server.tool(task="optional")
    async def hold(ctx: Context) -> str:
        """Report progress before and after waiting for `release`; record the cancellation."""
        await ctx.report_progress(1, 2)
        try:
            await released.wait()
        except asyncio.CancelledError:
            stopped.set()
            raise
        await ctx.report_progress(2, 2)
        return "held"

    @server.tool(task="optional")
    async def insist() -> str:
        """Wait for `release`, and ignore cancellation."""
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                stopped.set()
        return "insisted"

    @server.tool
    async def release() -> str:
        """Release the waiting handlers."""
        released.set()
        return "released"

    @server.tool
    async def until_stopped() -> str:
        """Wait until `hold` or `insist` was cancelled."""
        await stopped.wait()
        return "stopped"

    @server.tool(task="optional")
    async def choose(ctx: Context) -> str:
        """Ask the user once."""
        return _said(await ctx.elicit("Which colour?", Choice))

    @server.tool(task="optional")
    async def choose_at_once(ctx: Context) -> str:
        """Ask the user the same twice, at once."""
        first, second = await ctx.ask_all(
            ctx.elicit("Which colour?", Choice), ctx.elicit("Which colour?", Choice)
        )
        return f"{_said(first)} {_said(second)}"

    @server.tool(task="optional")
    async def choose_twice(ctx: Context) -> str:
        """Ask the user the same twice, one after the other."""
        first = await ctx.elicit("Which colour?", Choice)
        second = await ctx.elicit("Which colour?", Choice)
        return f"{_said(first)} {_said(second)}"

    @server.tool(task="required")
    async def ask_first(ctx: Context) -> Any:
        """Return input requests before there is a task, and then their answers."""
        if ctx.input_responses is None:
            schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
            form = ElicitRequestFormParams(message="Which colour?", requested_schema=schema)
            return InputRequiredResult(input_requests={"first": ElicitRequest(params=form)})
        answer: Any = ctx.input_responses["first"]
        return str(answer.content["colour"])

    @server.tool
    async def choose_later(ctx: Context) -> str:
        """Ask the user, as a task of the client's if it wants one."""
        return _said(await ctx.elicit("Which colour?", Choice, task=True))

    return server


def _said(answer: Any) -> str:
    return answer.content.colour if isinstance(answer, Accepted) else str(answer.action)


def begun(client: Conversation, tool: str, /, *, ttl: Any = None, **arguments: Any) -> Asked:
    """Return a call as a task, requested where the client decides."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if client.profile.handshake is not None:
        params["task"] = {} if ttl is None else {"ttl": ttl}
    return client.begin("tools/call", params)


async def start(
    client: Conversation, tool: str, /, *, ttl: Any = None, **arguments: Any
) -> dict[str, Any]:
    """Return the task of a call."""
    result = await begun(client, tool, ttl=ttl, **arguments).result()
    if client.profile.handshake is not None:
        assert result.keys() <= {"task", "_meta"}, result
        task: dict[str, Any] = result["task"]
        return task
    assert result["resultType"] == "task", result
    return result


async def state(client: Conversation, id: str) -> dict[str, Any]:
    """Return the task from `tasks/get`."""
    return await client.request("tasks/get", {"taskId": id})


async def arrives(client: Conversation, id: str, *statuses: str) -> dict[str, Any]:
    """Return the task once it has one of these statuses, or has ended."""
    wanted = {*statuses, *ENDED}
    async with asyncio.timeout(WAIT_S):
        while (found := await state(client, id))["status"] not in wanted:
            pass
    assert not statuses or found["status"] in statuses, found
    return found


async def forgotten(client: Conversation, id: str) -> None:
    """Wait until a task is no longer known."""
    async with asyncio.timeout(WAIT_S):
        while (await client.begin("tasks/get", {"taskId": id}).answer).get("result"):
            pass


def names_of(frame: dict[str, Any]) -> Any:
    """Return the task named in the metadata of a message."""
    about = frame.get("params") or frame.get("result") or {}
    return about.get("_meta", {}).get(RELATED, {}).get("taskId")
