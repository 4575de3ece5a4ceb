"""Arguments with descriptions and bounds, and a structured result."""

from dataclasses import dataclass
from typing import Annotated, Literal

from mcp_gen import Server
from mcp_gen.types import ToolAnnotations
from msgspec import Meta

server = Server("weather", "1.0.0")


@dataclass
class Day:
    sky: Literal["clear", "clouds", "rain"]
    celsius: float


@server.tool(title="Forecast", annotations=ToolAnnotations(read_only_hint=True))
async def forecast(city: str, days: Annotated[int, Meta(ge=1, le=7)] = 1) -> list[Day]:
    """Forecast the weather of a city.

    Args:
        city: Name of the city, in English.
        days: Number of days, from today on.
    """
    return [Day("clear", 20.5 + day) for day in range(days)]


if __name__ == "__main__":
    server.run("stdio")
