from mcp_gen import Context, Server, SessionState


def owner(ctx: Context) -> str:
    """Return the key of the client: its principal, or one for all clients of this machine."""
    return ctx.principal or "local"


server = Server("shop", "1.0.0", session_state=SessionState(key=owner))


@server.tool
async def add(ctx: Context, item: str) -> list[str]:
    """Put an item into the cart, and return the cart."""
    cart = await ctx.state.get("cart", list[str], [])
    cart.append(item)
    await ctx.state.set("cart", cart)
    return cart


@server.tool
async def check_out(ctx: Context) -> str:
    """Order what is in the cart."""
    cart = await ctx.state.get("cart", list[str], [])
    await ctx.state.delete("cart")
    return f"ordered: {', '.join(cart)}"


if __name__ == "__main__":
    server.run("stdio")
