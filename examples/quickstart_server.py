"""A server with one tool and two hooks. `mcp-gen demo` talks to it at every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen import Context, Server

if TYPE_CHECKING:
    from mcp_wire.hook_types import CallToolParams, CallToolResults

server = Server("quickstart", "1.0.0", instructions="Adds numbers.")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.hooks.before_call_tool
async def before(ctx: Context, params: CallToolParams) -> None:
    # A print is safe: it goes to stderr, and never into the protocol's stream.
    print(f"hook: before {params.name}")


@server.hooks.after_call_tool
async def after(ctx: Context, params: CallToolParams, result: CallToolResults) -> None:
    print(f"hook: after {params.name}")


if __name__ == "__main__":
    server.run("stdio")
