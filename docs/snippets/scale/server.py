"""A server that any number of processes serve together."""

from mcp_gen import Context, Server

server = Server("counter", "1.0.0")


@server.tool
async def count(ctx: Context) -> str:
    """Count the calls of a session, whichever process answers."""
    if ctx.session is None:
        return "no sessions at this protocol version"
    calls = ctx.session.state.get("calls", 0) + 1
    ctx.session.state["calls"] = calls
    return f"call {calls}"
