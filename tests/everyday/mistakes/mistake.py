"""Something that a user writes wrongly, and the whole message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_gen import Client, Server, UsageError

__all__ = ["Mistake", "add", "called", "greet", "server"]


@dataclass(frozen=True)
class Mistake:
    """Something that a user writes wrongly.

    A new row goes into the module of its area. A new area is a module beside this one, named in
    `AREAS` of tests/everyday/test_mistakes.py.

    Args:
        name: What is wrong, as in `an option of a tool that there is not`.
        do: Does it; a coroutine function is awaited.
        message: The whole message. It names what the user wrote, and the next step.
        error: Type of the error.
        seen: True if a reader of the guides made it, who had not seen the code.
    """

    name: str
    do: Callable[[], Any]
    message: str
    error: type[BaseException] = UsageError
    seen: bool = False


def server(**options: Any) -> Any:
    """Return a server; untyped, as users without a type checker have it."""
    return Server("demo", **options)


async def called(tool: Callable[..., Any], **client: Any) -> Any:
    """Call a tool of a server of its own; its failure is a ToolError.

    Args:
        tool: The tool.
        client: Options of the client.
    """
    one = server()
    one.add_tool(tool)
    async with Client("demo", **client) as caller:
        session = await caller.connect(one)
        return await session.call_tool(one.tools.names[0], returns=Any)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"
