"""A tool that calls another tool and reads a resource of its own server."""

from dataclasses import dataclass

from mcp_gen import Context, Server, text_of

server = Server("travel", "1.0.0")


@dataclass
class Forecast:
    sky: str
    celsius: float


@server.tool
def forecast(city: str) -> Forecast:
    """Forecast the weather of a city."""
    return Forecast("clear", 20.5)


@server.resource("guide://{city}")
def guide(city: str) -> str:
    """A guide to a city."""
    return f"{city} has a harbour."


@server.tool
async def advise(ctx: Context, city: str) -> str:
    """Advise on a trip."""
    weather = await ctx.call_tool("forecast", {"city": city}, returns=Forecast)
    page = await ctx.read_resource(f"guide://{city}")
    return f"{weather.sky}, {weather.celsius} degrees. {text_of(page)}"


if __name__ == "__main__":
    server.run("stdio")
