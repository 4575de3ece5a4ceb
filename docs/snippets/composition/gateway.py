import asyncio

from mcp_gen import Client, Server

weather = Server("weather", "1.0.0")
notes = Server("notes", "1.0.0")
gateway = Server("gateway", "1.0.0")


@weather.tool
async def forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return f"sun in {city}"


@notes.tool
async def delete(name: str) -> str:
    """Delete a note."""
    return f"{name} is gone"


async def main() -> None:
    gateway.mount("weather", weather)
    async with Client("gateway", "1.0.0", forward_requests=True) as client:
        # A server anywhere: a URL, a command, or one of this process, as here.
        session = await client.connect(notes)
        gateway.mount("notes", session)
        agent = await client.connect(gateway)
        print([tool.name async for tool in agent.tools()])
        print(await agent.call_tool("weather_forecast", {"city": "Oslo"}, returns=str))
        gateway.unmount("notes")
        print([tool.name async for tool in agent.tools()])


if __name__ == "__main__":
    asyncio.run(main())
