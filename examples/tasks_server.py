"""Tasks: a tool that takes its time, says how far it is, and asks before it goes on."""

import asyncio
from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server, Tasks

server = Server("press", "1.0.0", tasks=Tasks(ttl_s=600, poll_interval_s=0.5))


@dataclass
class Approval:
    print_it: bool


@server.tool(task="optional")
async def print_report(ctx: Context, pages: int = 3) -> str:
    """Set a report page by page, and print it once the user agrees."""
    for page in range(1, pages + 1):
        await asyncio.sleep(0.1)
        await ctx.report_progress(page, pages, f"page {page} of {pages} is set")
    answer = await ctx.elicit(f"Print {pages} pages?", Approval)
    if not isinstance(answer, Accepted) or not answer.content.print_it:
        return "nothing was printed"
    return f"{pages} pages were printed"


if __name__ == "__main__":
    server.run("stdio")
