"""A server whose tool logs and reports its progress, and whose errors are for the model."""

from mcp_gen import Context, Server, ToolError

mcp = Server("worker")


@mcp.tool
async def process(files: list[str], ctx: Context) -> str:
    """Process files."""
    await ctx.log("info", f"{len(files)} files")
    for number, _ in enumerate(files, 1):
        await ctx.report_progress(number, len(files))
    return f"done: {', '.join(files)}"


@mcp.tool
async def divide(a: float, b: float) -> float:
    """Divide two numbers."""
    if b == 0:
        raise ToolError("b must not be 0")
    return a / b


if __name__ == "__main__":
    mcp.run()
