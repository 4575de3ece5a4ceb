import asyncio

from mcp_gen import Context, Server

server = Server("press", "1.0.0")


@server.tool
async def print_pages(ctx: Context, pages: int = 3) -> str:
    """Print some pages."""
    for page in range(1, pages + 1):
        await asyncio.sleep(0.01)
        await ctx.report_progress(page, pages, f"page {page} of {pages}")
    await ctx.log("info", f"{pages} pages for a client of {ctx.revision}")
    return f"{pages} pages are printed"


if __name__ == "__main__":
    server.run("stdio")
