from mcp_gen import Server, ToolError

server = Server("weather", "1.0.0")


@server.tool
async def forecast(city: str, days: int = 1) -> str:
    """Forecast the weather of a city."""
    if days > 7:
        raise ToolError("at most 7 days")
    return f"{days} days of sun in {city}"


if __name__ == "__main__":
    server.run("stdio")
