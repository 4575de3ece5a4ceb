"""Server of the manifest: three pods serve it, and any of them answers any request."""

from __future__ import annotations

import platform

from mcp_gen import Context, Server

server = Server("counter", "1.0.0")


@server.tool
async def count(ctx: Context) -> str:
    """Count the calls of a session, whichever pod answers."""
    if ctx.session is None:
        return f"{platform.node()} knows no sessions"
    calls = ctx.session.state.get("calls", 0) + 1
    ctx.session.state["calls"] = calls
    return f"call {calls}, answered by {platform.node()}"
