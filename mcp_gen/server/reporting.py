"""Progress: how far a request has come, told to a client that gave a token for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.server.context import Context

__all__ = ["report_progress"]


async def report_progress(
    ctx: Context, progress: float, total: float | None, message: str | None
) -> None:
    """See `Context.report_progress`."""
    raise NotImplementedError
