"""A server that asks the user before it books a table."""

from mcp.server.mcpserver import AcceptedElicitation, Context, MCPServer
from pydantic import BaseModel

mcp = MCPServer("tables")


class Choice(BaseModel):
    sure: bool
    day: str = "Monday"


@mcp.tool()
async def book(people: int, ctx: Context) -> str:
    """Book a table."""
    answer = await ctx.elicit(f"A table for {people}?", Choice)
    if isinstance(answer, AcceptedElicitation) and answer.data.sure:
        return f"booked for {people} on {answer.data.day}"
    return "not booked"


if __name__ == "__main__":
    mcp.run()
