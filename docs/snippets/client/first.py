import asyncio
from dataclasses import dataclass

from mcp_gen import Client, text_of


@dataclass
class Weather:
    city: str
    celsius: float


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect("server.py")
        print(session.revision, [tool.name async for tool in session.tools()])
        result = await session.call_tool("weather", {"city": "Oslo"}, timeout_s=10)
        print(text_of(result), result.structured_content)
        print(await session.call_tool("weather", {"city": "Oslo"}, returns=Weather))
        print(text_of(await session.read_resource("weather://stations")))


if __name__ == "__main__":
    asyncio.run(main())
