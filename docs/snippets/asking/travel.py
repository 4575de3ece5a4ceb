from dataclasses import dataclass
from typing import Annotated, Literal

from mcp_gen import Accepted, Context, Server
from msgspec import Meta

server = Server("travel")


@dataclass
class Trip:
    city: Annotated[str, Meta(title="City", min_length=2)]
    seat: Literal["window", "aisle"] = "window"


@server.tool
async def book(ctx: Context) -> str:
    answer = await ctx.elicit("Where to?", Trip)
    if not isinstance(answer, Accepted):
        return f"nothing booked: {answer.action}"
    return f"booked: {answer.content.city}, {answer.content.seat}"


if __name__ == "__main__":
    server.run("stdio")
