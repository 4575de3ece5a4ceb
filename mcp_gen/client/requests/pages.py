"""Lists that come in pages, walked to their end, which must be one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from mcp_gen.core.errors import ProtocolError

__all__ = ["walk_pages"]

T = TypeVar("T")


async def walk_pages(
    what: str,
    ask: Callable[[str | None], Awaitable[Any]],
    items: Callable[[Any], Sequence[T]],
    max_pages: int,
) -> AsyncIterator[T]:
    """The items of all pages. `ask` gets the page at a cursor, `items` what is on it.

    Raises:
        ProtocolError: more than `max_pages` pages, or a cursor that leads back.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(max_pages):
        page = await ask(cursor)
        for item in items(page):
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise ProtocolError(f"{what}: the cursor of a page leads back to an earlier one")
        seen.add(cursor)
    raise ProtocolError(f"{what}: expected at most {max_pages} pages, and there are more")
