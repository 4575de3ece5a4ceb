import asyncio

from mcp_gen import Context, Server, Tasks

server = Server("press", "1.0.0", tasks=Tasks(ttl_s=600, poll_interval_s=0.1))


@server.tool(task="optional")
async def print_report(ctx: Context, pages: int) -> str:
    """Set a report page by page, and print it."""
    for page in range(1, pages + 1):
        await asyncio.sleep(0.1)
        await ctx.report_progress(page, pages, f"page {page} of {pages} is set")
    return f"{pages} pages were printed"


if __name__ == "__main__":
    server.run("stdio")
