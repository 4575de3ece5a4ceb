"""Program with our own client: lists what a server has, and uses all of it once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import Any

from mcp_gen import Client, ClientSession
from mcp_gen.compat.scenarios.tasks.receiving import CANCELLED_MESSAGE
from mcp_gen.core.errors import RequestTimeout
from mcp_gen.types import (
    CompletionArgument,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    PromptReference,
    TextContent,
)

__all__ = ["use_everything"]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "echo": {"text": "Zoë"},
    "count": {"steps": 3},
    "slow_failing": {"how": "tool"},
    "route": {"region": "eu west", "note": "Grüße", "size": 7},
}
FOLLOWED = "slow"
"""The tool that is called as a task, where there are tasks."""
GIVE_UP_S = 0.1


async def _answer(
    session: ClientSession, params: CreateMessageRequestParams
) -> CreateMessageResult:
    text = TextContent(text="an answer")
    return CreateMessageResult(role="assistant", content=text, model="none")


async def _fill_in(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, str]:
    if params.message == CANCELLED_MESSAGE:
        await asyncio.Event().wait()
    return {"name": "Ada"}


def _reported(progress: float, total: float | None, message: str | None) -> None:
    """Take a progress notification, as programs do that show it."""


async def use_everything(target: Any, revision: str | None = None, timeout_s: float = 60.0) -> None:
    """Connect and use everything that the server declares.

    Args:
        target: The server; see `Client.connect`.
        revision: The revision to pin; None: what both sides speak.
        timeout_s: Longest wait for an answer, in seconds.

    Raises:
        McpGenError: something went wrong.
    """
    client = Client(
        "own",
        "1.0.0",
        sampling=_answer,
        elicitation=_fill_in,
        roots=["/tmp"],
        tasks=True,
        timeout_s=timeout_s,
    )
    async with client:
        session = await client.connect(target, revision=revision)
        declared = session.server_capabilities
        if declared.prompts is not None:
            await _use_prompts(session, completes=declared.completions is not None)
        if declared.resources is not None:
            await _use_resources(session)
        if declared.tools is not None:
            await _use_tools(session)


async def _use_prompts(session: ClientSession, *, completes: bool) -> None:
    for prompt in [one async for one in session.prompts()]:
        names = [one.name for one in prompt.arguments or []]
        await session.get_prompt(prompt.name, dict.fromkeys(names, "Ada"))
        for name in names if completes else ():
            argument = CompletionArgument(name=name, value="A")
            await session.complete(PromptReference(name=prompt.name), argument)


async def _use_resources(session: ClientSession) -> None:
    _ = [one async for one in session.resource_templates()]
    for resource in 2 * [one async for one in session.resources()]:
        await session.read_resource(resource.uri)


async def _use_tools(session: ClientSession) -> None:
    _ = [one async for one in session.tools()]
    for tool in [one async for one in session.tools()]:
        arguments = ARGUMENTS.get(tool.name, {})
        if tool.name == "wait":
            with contextlib.suppress(RequestTimeout):
                await session.call_tool(tool.name, arguments, timeout_s=GIVE_UP_S)
        elif tool.name == FOLLOWED:
            await _follow(session, tool.name)
        elif tool.output_schema is not None:
            await session.call_tool(tool.name, arguments, returns=dict[str, Any])
        else:
            await session.call_tool(tool.name, arguments, progress=_reported)
    if "list" in session.server_capabilities.extra.get("tasks", {}):
        _ = [one async for one in session.tasks()]


async def _follow(session: ClientSession, name: str) -> None:
    """Call a tool as a task, follow it to its end, and cancel another."""
    task = await session.start_tool(name)
    if task.id is not None:
        _ = [state async for state in task]
    await task.result()
    await (await session.start_tool(name)).cancel()


if __name__ == "__main__":
    asyncio.run(use_everything(sys.argv[1], os.environ.get("OWN_CLIENT_REVISION")))
