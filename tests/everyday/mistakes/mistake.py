"""Something that a user writes wrongly, and the whole message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_gen import Server, UsageError

__all__ = ["Mistake", "add", "greet", "server"]


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
        seen: True if a reader of the guides made the mistake.
    """

    name: str
    do: Callable[[], Any]
    message: str
    error: type[BaseException] = UsageError
    seen: bool = False


def server(**options: Any) -> Any:
    """Return a server; untyped, as users without a type checker have it."""
    return Server("demo", **options)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"
