import asyncio

from mcp_gen import Client, ClientSession, TaskCancelled

from press import server

client = Client("agent", "1.0.0", tasks=True)


async def simply(session: ClientSession) -> str:
    return await session.call_tool("print_report", {"pages": 2}, returns=str)


async def with_a_handle(session: ClientSession) -> str:
    task = await session.start_tool("print_report", {"pages": 3}, ttl_s=600)
    async for state in task:
        print(state.status, state.message)
    return await task.result(str)


async def after_a_restart(session: ClientSession) -> str:
    started = await session.start_tool("print_report", {"pages": 1})
    assert started.id is not None
    return await session.task(started.id, tool="print_report").result(str)


async def given_up(session: ClientSession) -> str:
    task = await session.start_tool("print_report", {"pages": 1000})
    await task.cancel()
    try:
        return await task.result(str)
    except TaskCancelled:
        return "cancelled"


async def main() -> None:
    async with client:
        session = await client.connect(server)
        for use in (simply, with_a_handle, after_a_restart, given_up):
            print(await use(session))


if __name__ == "__main__":
    asyncio.run(main())
