"""Server of ours whose tools run as tasks, for the clients of others."""

import asyncio
from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server, Tasks, ToolError

server = Server("tasks", "1.0.0", tasks=Tasks(poll_interval_s=0.05))


@dataclass
class Name:
    name: str


@server.tool(task="optional")
async def work() -> str:
    """Take a moment."""
    await asyncio.sleep(0.01)
    return "worked"


@server.tool(task="required")
async def ask(ctx: Context) -> str:
    """Ask the user while the task runs."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else answer.action


@server.tool(task="optional")
async def fail() -> str:
    """Fail."""
    raise ToolError("out of paper")


@server.tool(task="required")
async def hang() -> None:
    """Never return."""
    await asyncio.Event().wait()


if __name__ == "__main__":
    server.run("stdio")
