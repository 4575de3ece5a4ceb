"""The server of these examples."""

from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server
from mcp_gen.types import ToolAnnotations

server = Server("weather", "1.0.0")
stations = ["Oslo"]


@dataclass
class Weather:
    city: str
    celsius: float


@dataclass
class Place:
    city: str


@dataclass
class Found:
    cities: list[str]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def weather(city: str, ctx: Context) -> Weather:
    """Tell the weather of a city."""
    await ctx.log("info", f"measuring in {city}")
    return Weather(city, 21.5)


@server.tool
async def travel(ctx: Context) -> str:
    """Ask the user for a city, and the client's model for a sentence about it."""
    answer = await ctx.elicit("Where do you travel?", Place)
    if not isinstance(answer, Accepted):
        return "you stay here"
    said = await ctx.sample(f"Say something about {answer.content.city}.", max_tokens=100)
    roots = [root.uri for root in await ctx.list_roots()]
    return f"to {answer.content.city}; asked {said.model}; the user works in {roots}"


@server.tool
async def open_station(city: str, ctx: Context) -> None:
    """Open a station, and tell clients about it."""
    stations.append(city)
    server.notify.resource_updated("weather://stations")
    await ctx.client.notify("acme/opened", {"city": city})


@server.resource("weather://stations")
def all_stations() -> str:
    """The stations."""
    return ", ".join(stations)


@server.method("acme/search", params=Place, result=Found)
async def search(ctx: Context, params: Place) -> Found:
    return Found([one for one in stations if params.city in one])
