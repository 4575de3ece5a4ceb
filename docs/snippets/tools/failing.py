"""Two ways to fail: for the model to read, and for the program."""

from mcp_gen import McpError, Server, ToolError

server = Server("library", "1.0.0")
shelf = {"Emma": 2, "Ulysses": 0}


@server.tool
def borrow(title: str) -> str:
    """Borrow a book."""
    if title not in shelf:
        raise ToolError(f"There is no {title!r}. Books: {', '.join(shelf)}.")
    if not shelf[title]:
        raise McpError(-31001, "not in stock", {"title": title})
    shelf[title] -= 1
    return f"{title} is yours for two weeks"


if __name__ == "__main__":
    server.run("stdio")
