"""Our server over HTTP with more or less of something: `TOOLS HOOKS MIDDLEWARE [TOKEN]`.

`mcp-gen run bench.programs.scaled:server` runs the smallest.
"""

from __future__ import annotations

import sys
from typing import Any

from bench.programs.ours import add
from mcp_gen import CallNext, Context, Server

__all__ = ["server"]

server = Server("add", "1.0.0")
server.add_tool(add, name="add")


@server.tool
async def measure(text: str) -> int:
    """Return the length of a text."""
    return len(text)


@server.tool
async def repeat(length: int) -> str:
    """Return a text of a length."""
    return "x" * length


def scaled(tools: int, hooks: int, middleware: int) -> Server:
    """Add to the server until it has as many."""
    for number in range(len(server.tools), tools):

        async def nothing(text: str, count: int = 1) -> str:
            """Do nothing in particular, one of many tools that do."""
            return text

        server.add_tool(nothing, name=f"nothing_{number}")
    # The last of all is called: it is found among the others.
    server.add_tool(add, name="last")
    for _ in range(hooks):

        async def before(ctx: Context, params: Any) -> None:
            return None

        server.hooks.before_call_tool(before)
    for _ in range(middleware):

        async def around(ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
            return await call_next(params)

        server.add_middleware(around)
    return server


if __name__ == "__main__":
    from bench.programs.http import serve

    tools, hooks, middleware, *token = sys.argv[1:]
    made = scaled(int(tools), int(hooks), int(middleware))
    auth = None
    if token:
        from mcp_gen.auth import ResourceServer, StaticTokens

        verifier = StaticTokens({token[0]: "bench"})
        # Remembered, as the tokens of other verifiers are by themselves.
        auth = ResourceServer(audience="http://127.0.0.1/mcp", verifier=verifier, cache_s=60)
    serve(made.asgi(auth=auth), lifespan="on")
