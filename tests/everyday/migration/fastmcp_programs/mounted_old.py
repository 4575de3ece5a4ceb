"""A server that offers the tools of another one under a prefix."""

from fastmcp import FastMCP

weather = FastMCP("weather")
mcp = FastMCP("house")


@weather.tool
def forecast(city: str) -> dict[str, str]:
    """Tell the weather of tomorrow."""
    return {"city": city, "sky": "clear"}


@mcp.tool
def doors(floor: int = 0) -> int:
    """Count the doors."""
    return 2 - floor


mcp.mount(weather, namespace="weather")

if __name__ == "__main__":
    mcp.run(show_banner=False)
