import asyncio

from mcp_gen import Client
from mcp_gen.apps import APPS, resource_ui, tool_ui, visible_to

from clock import server


async def main() -> None:
    async with Client("host", "1.0.0", extensions=[APPS]) as client:
        session = await client.connect(server)
        listed = {resource.uri: resource async for resource in session.resources()}
        async for tool in session.tools():
            if not visible_to(tool, "model"):
                continue  # for the app alone
            ui = tool_ui(tool)
            if ui is not None and ui.resource_uri is not None:
                page = (await session.read_resource(ui.resource_uri)).contents[0]
                wants = resource_ui(page, listed.get(ui.resource_uri))
                print(tool.name, page.mime_type, wants.csp, wants.permissions)


if __name__ == "__main__":
    asyncio.run(main())
