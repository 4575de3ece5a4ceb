"""A server that offers the tools of another one under a prefix."""

from mcp_gen import Server

weather = Server("weather")
mcp = Server("house")


@weather.tool
def forecast(city: str) -> dict[str, str]:
    """Tell the weather of tomorrow."""
    return {"city": city, "sky": "clear"}


@mcp.tool
def doors(floor: int = 0) -> int:
    """Count the doors."""
    return 2 - floor


mcp.mount("weather", weather)

if __name__ == "__main__":
    mcp.run()
