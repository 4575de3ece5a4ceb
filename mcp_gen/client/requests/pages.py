"""Walks paginated lists, with a limit."""

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
    cursor: str | None = None,
) -> AsyncIterator[T]:
    """Yield the items of all pages.

    Args:
        what: Name of the list for error messages.
        ask: Fetches the page at a pagination cursor; None: the first page.
        items: Returns the items of a page.
        max_pages: Maximum number of pages.
        cursor: Pagination cursor of the first page; None: the beginning of the list.

    Raises:
        ProtocolError: More than `max_pages` pages, or a cursor that was used before.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
    """
    seen: set[str] = set() if cursor is None else {cursor}
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
