"""Server whose tool asks for a name; a process that tests end."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server

server = Server("asking")


@dataclass
class Named:
    name: str


@server.tool
async def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("Your name?", Named)
    return answer.content.name if isinstance(answer, Accepted) else "nobody"


if __name__ == "__main__":
    server.run("http", port=0, health=True)
