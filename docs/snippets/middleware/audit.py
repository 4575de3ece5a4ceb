"""Hooks: refuse some calls, and note what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen import Context, McpError, Server

if TYPE_CHECKING:
    from mcp_wire.hook_types import CallToolParams

server = Server("bank", "1.0.0")


@server.tool
async def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@server.hooks.before_call_tool
async def limit(ctx: Context, params: CallToolParams) -> None:
    if (params.arguments or {}).get("amount", 0) > 1000:
        raise McpError(-31000, "1000 is the most")


@server.hooks.error_call_tool
async def note(ctx: Context, params: CallToolParams, error: BaseException) -> None:
    print(f"{params.name} was refused: {error}")


if __name__ == "__main__":
    server.run("stdio")
