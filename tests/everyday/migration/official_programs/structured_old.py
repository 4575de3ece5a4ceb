"""A server whose tools return structured content: a model, a dict and a list."""

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

mcp = MCPServer("weather")


class Weather(BaseModel):
    temperature: float = Field(description="Degrees Celsius")
    sky: str


@mcp.tool()
def weather(city: str) -> Weather:
    """Tell the weather of a city."""
    return Weather(temperature=21.5, sky=f"clear over {city}")


@mcp.tool()
def cities() -> list[str]:
    """List the cities."""
    return ["Oslo", "Rome"]


@mcp.tool()
def heights(cities: list[str]) -> dict[str, int]:
    """Tell how high cities are."""
    return {city: len(city) for city in cities}


if __name__ == "__main__":
    mcp.run()
