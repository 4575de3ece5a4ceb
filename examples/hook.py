"""A hook that refuses calls: a server whose tool may be called three times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen import Context, McpError, Server

if TYPE_CHECKING:
    from mcp_wire.hook_types import CallToolParams

server = Server("limited", "1.0.0")
calls: list[str] = []


@server.tool
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.hooks.before_call_tool
async def limit(ctx: Context, params: CallToolParams) -> None:
    if len(calls) == 3:
        raise McpError(-31000, "three calls are enough")
    calls.append(params.name)


if __name__ == "__main__":
    server.run("stdio")
