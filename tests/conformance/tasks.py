"""The tools of the suite that run as tasks, at the revision with the tasks extension."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from mcp_gen import Accepted, Context, McpError, Server, ToolError
from mcp_gen.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

__all__ = ["task_tools"]

INTERNAL_ERROR = -32603
PAUSE_S = 0.05


@dataclass
class Confirmation:
    confirm: bool


@dataclass
class Name:
    name: str


def task_tools(server: Server) -> None:
    """Add the tools of the scenarios about tasks."""
    _running(server)
    _asking(server)


def _running(server: Server) -> None:
    @server.tool
    async def greet(name: str) -> str:
        """Greet somebody, never as a task."""
        return f"Hello, {name}!"

    @server.tool(task="optional")
    async def slow_compute(seconds: float, label: str = "") -> str:
        """Take some seconds."""
        await asyncio.sleep(seconds)
        return f"{label}: computed for {seconds:g} s"

    @server.tool(task="required")
    async def failing_job() -> str:
        """Fail, after a while."""
        await asyncio.sleep(PAUSE_S)
        raise ToolError("This job always fails")

    @server.tool(task="required")
    async def protocol_error_job() -> str:
        """End with an error of the protocol."""
        await asyncio.sleep(PAUSE_S)
        raise McpError(INTERNAL_ERROR, "This job ends with an error of the protocol")


def _asking(server: Server) -> None:
    @server.tool(task="optional")
    async def confirm_delete(filename: str, ctx: Context) -> str:
        """Ask before something is done."""
        answer = await ctx.elicit(f"Delete {filename}?", Confirmation)
        sure = isinstance(answer, Accepted) and answer.content.confirm
        return f"{filename} is {'deleted' if sure else 'kept'}"

    @server.tool(task="optional")
    async def multi_input(ctx: Context) -> str:
        """Ask two things at once."""
        name, sure = await ctx.ask_all(
            ctx.elicit("What is your name?", Name), ctx.elicit("Are you sure?", Confirmation)
        )
        return f"{name.action}, {sure.action}"

    @server.tool(task="required")
    async def test_tool_with_task(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name before there is a task, and greet in the task."""
        if ctx.input_responses is None:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            form = ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
            return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=form)})
        return f"Hello, {ctx.input_responses['user_name']}!"
