"""A server that asks the user before it books a table."""

from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server

mcp = Server("tables")


@dataclass
class Choice:
    sure: bool
    day: str = "Monday"


@mcp.tool
async def book(people: int, ctx: Context) -> str:
    """Book a table."""
    answer = await ctx.elicit(f"A table for {people}?", Choice)
    if isinstance(answer, Accepted) and answer.content.sure:
        return f"booked for {people} on {answer.content.day}"
    return "not booked"


if __name__ == "__main__":
    mcp.run()
