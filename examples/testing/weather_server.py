"""A server with a tool, a resource and a question to the user."""

from mcp_gen import Context, Server, ToolError
from mcp_gen.types import ToolAnnotations

server = Server("weather", "1.0.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def forecast(city: str, days: int = 1) -> str:
    """Forecast the weather of a city."""
    if days > 7:
        raise ToolError("at most 7 days")
    return f"{days} days of sun in {city}"


@server.tool
async def pack(ctx: Context, items: list[str]) -> int:
    """Pack things for a trip, one after the other."""
    for number, _ in enumerate(items, start=1):
        await ctx.report_progress(number, len(items))
    return len(items)


@server.resource("weather://cities", mime_type="text/plain")
async def cities() -> str:
    """Cities with a forecast."""
    return "Oslo\nRome\n"


if __name__ == "__main__":
    server.run()
