from mcp_gen import Server, user
from mcp_gen.types import PromptMessage

server = Server("shelf", "1.0.0")


@server.tool
def count(item: str) -> int:
    """Count an item on the shelf."""
    return {"bolt": 12, "nut": 3}.get(item, 0)


@server.resource("shelf://settings")
def settings() -> str:
    """The settings of the shelf."""
    return "three boards"


@server.prompt
def order(item: str) -> list[PromptMessage]:
    """Ask for an order."""
    return [user(f"Order 20 {item}s.")]
