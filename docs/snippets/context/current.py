"""A function that handlers call gets the context without an argument."""

from mcp_gen import Server, current_context

server = Server("press", "1.0.0")


async def step(done: int, total: int) -> None:
    await current_context().report_progress(done, total)


@server.tool
async def print_pages(pages: int = 3) -> str:
    """Print some pages."""
    for page in range(1, pages + 1):
        await step(page, pages)
    return f"{pages} pages are printed"


if __name__ == "__main__":
    server.run("stdio")
