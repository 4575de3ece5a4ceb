"""Follow the progress of a call."""

import asyncio

from mcp_gen import Client

from progress import server


def show(progress: float, total: float | None, message: str | None) -> None:
    print(f"{progress:.0f}/{total:.0f}", message)


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        print(await session.call_tool("print_pages", {"pages": 2}, progress=show, returns=str))


if __name__ == "__main__":
    asyncio.run(main())
