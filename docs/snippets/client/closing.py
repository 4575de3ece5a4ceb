"""The open sessions of a client, and the end of one."""

import asyncio

from mcp_gen import Client, ClientSession


async def tell_the_end(session: ClientSession) -> None:
    await session.wait_closed()
    print(f"{session.server_name} was closed")


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect("server.py", server_name="weather")
        waiting = asyncio.create_task(tell_the_end(session))
        print([one.server_name for one in client.sessions()])
        await session.aclose()
        await waiting
        print(client.sessions())


if __name__ == "__main__":
    asyncio.run(main())
