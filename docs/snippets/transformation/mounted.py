"""Tools of mounted servers, offered in another way: one of this process, one behind a session."""

import asyncio

from mcp_gen import Argument, Client, Server, transformed

weather = Server("weather", "1.0.0")
notes = Server("notes", "1.0.0")


@weather.tool
def forecast(city: str) -> str:
    """Forecast the weather of a city, with wind and rain."""
    return f"sun in {city}"


@notes.tool
def delete(name: str) -> str:
    """Delete a note."""
    return f"{name} is gone"


async def main() -> None:
    gateway = Server("gateway", "1.0.0")
    async with Client("gateway", "1.0.0") as client:
        gateway.mount("weather", weather)
        # In front of the mounted tool, under its name, and once more beside it.
        gateway.transform_tool("weather_forecast", description="In short.")
        gateway.transform_tool("weather_forecast", name="forecast", keep=True)

        gateway.mount("notes", await client.connect(notes))
        # A server behind a session is asked what it has.
        found = await gateway.find_tool("notes_delete")
        new = transformed(found, name="forget", arguments={"name": Argument(name="note")})
        gateway.add_tool(new)

        session = await client.connect(gateway)
        print([tool.name async for tool in session.tools()])
        print(await session.call_tool("forget", {"note": "shopping"}, returns=str))


if __name__ == "__main__":
    asyncio.run(main())
