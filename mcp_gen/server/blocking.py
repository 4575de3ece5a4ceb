"""The context for handlers that run in a thread: every call waits for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.server.context import Context

__all__ = ["BlockingContext"]


class BlockingContext:
    """A request being answered in a worker thread."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
