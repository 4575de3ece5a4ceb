import asyncio

from mcp_gen import Client, Context, Server
from mcp_wire.extensions import tasks


class Tasks(tasks.Handlers[Context]):
    async def cancel_task(
        self, ctx: Context, params: tasks.CancelTaskRequestParams
    ) -> tasks.CancelTaskResult:
        print("wanted to end:", params.task_id)
        return tasks.CancelTaskResult()


server = Server("shop", "1.0.0")
server.add_extension(tasks.EXTENSION, Tasks())


async def use() -> tasks.CancelTaskResult:
    async with Client("agent", "1.0.0", extensions=[tasks.EXTENSION]) as client:
        session = await client.connect(server)
        if session.declares(tasks.EXTENSION) is None:
            raise SystemExit("the server knows nothing of tasks")
        return await tasks.ToServer(session).cancel_task("42")


if __name__ == "__main__":
    print(asyncio.run(use()))
