import logging

from mcp_gen import Context, Server

log = logging.getLogger("kitchen")
log.setLevel(logging.INFO)

server = Server("kitchen", "1.0.0", declare=["logging"])
log.addHandler(server.logs.handler())


@server.tool
async def cook(ctx: Context, dish: str) -> str:
    """Cook a dish."""
    log.info("cooking %s", dish)
    await ctx.log("warning", {"oven": "hot", "celsius": 220}, logger="oven")
    return f"{dish} is ready"


if __name__ == "__main__":
    server.run("stdio")
