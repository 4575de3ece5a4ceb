"""A function in a thread reports progress, too: `ctx.blocking` has the same calls."""

from mcp_gen import Context, Server

server = Server("count", "1.0.0")


@server.tool
def count(ctx: Context, to: int) -> int:
    """Count, slowly."""
    for number in range(1, to + 1):
        ctx.blocking.report_progress(number, to)
    return to


if __name__ == "__main__":
    server.run("stdio")
