"""Progress notifications, for requests with a progress token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_gen.core.peer_values import MAX_ID_LENGTH, is_finite_number
from mcp_gen.server.context.context import (
    last_progress_of,
    origin_of,
    progress_limiter_of,
    runtime_of,
    set_last_progress,
    set_progress_limiter,
)
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
    if token.__class__ is str and len(token) > MAX_ID_LENGTH:
        return  # it would be repeated with each notification
    last = last_progress_of(ctx)
    # NaN would pass the comparison with `last`, and JSON has neither NaN nor infinity.
    if not is_finite_number(progress) or (last is not None and progress <= last):
        return
    if not origin_of(ctx).channel.answers(ctx.request_id):
        return
    if not _try_acquire(ctx) and (total is None or progress < total):
        return
    set_last_progress(ctx, progress)
    fields: dict[str, Any] = {"progress_token": token, "progress": progress}
    if total is not None and is_finite_number(total):
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
    per_s = runtime_of(ctx).kernel.limits.max_progress_per_s
    if per_s is None:
        return True
    limiter = progress_limiter_of(ctx)
    if limiter is None:
        limiter = RateLimiter(per_s)
        set_progress_limiter(ctx, limiter)
    return limiter.try_acquire()
