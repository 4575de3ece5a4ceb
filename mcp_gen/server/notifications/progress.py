"""Progress notifications, for requests with a progress token."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.notifications.send import send_notification

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.services import TaskHandle

__all__ = ["report_progress"]


async def report_progress(
    ctx: Context, progress: float, total: float | None, message: str | None
) -> None:
    """Send `notifications/progress`; see `Context.report_progress`."""
    # Yield to the event loop, also if nothing is sent: a handler that only reports progress would
    # block it, and could not be cancelled.
    await asyncio.sleep(0)
    task = ctx.task
    if task is not None:
        if message is not None:
            await _report_to_task(ctx, task, message, whole=total is not None and progress >= total)
        if task.tells_progress and task.is_answer:
            return
    profile = ctx.profile
    token: Any = ctx.meta.get(profile.progress_token_key) if ctx.meta else None
    if token.__class__ not in (str, int) or profile.progress is None:
        return
    last = ctx.last_progress
    # NaN would pass the comparison with `last`, and JSON has neither NaN nor infinity.
    if not math.isfinite(progress) or (last is not None and progress <= last):
        return
    if not ctx.caller.channel.answers(ctx.request_id):
        return
    if not _try_acquire(ctx) and (total is None or progress < total):
        return
    ctx.last_progress = progress
    fields: dict[str, Any] = {"progress_token": token, "progress": progress}
    if total is not None and math.isfinite(total):
        fields["total"] = total
    if message is not None and profile.progress_message:
        fields["message"] = message
    await send_notification(ctx, profile.progress, profile.progress.params(**fields))


async def _report_to_task(ctx: Context, task: TaskHandle, message: str, *, whole: bool) -> None:
    """Set the status message of a task; notify its listeners within the rate limit."""
    if not task.tells_progress:
        await task.report(message, quietly=True)
    elif whole or not task.is_answer or _try_acquire(ctx):
        await task.report(message)


def _try_acquire(ctx: Context) -> bool:
    per_s = ctx.server.runtime.kernel.limits.max_progress_per_s
    if per_s is None:
        return True
    if ctx.reports is None:
        ctx.reports = RateLimiter(per_s)
    return ctx.reports.try_acquire()
