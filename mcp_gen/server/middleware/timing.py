"""Middleware that times requests, for a callback and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.core.redaction import shown_url
from mcp_gen.server.middleware.records import RequestRecord, observe

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["Timing"]

_log = logging.getLogger("mcp_gen.server")


class Timing:
    """Times each request: `server.add_middleware(Timing(lambda record: histogram.observe(...)))`.

    The duration is that of the handler with its hooks and the middleware that was added later.
    The log has it at level DEBUG, and at level WARNING from `slow_s` on.

    Args:
        report: Called with the record of each request, also of one that fails: its method, its
            target such as the tool's name, `duration_s`, `outcome`. It must not block. An
            exception that it raises is logged.
        slow_s: Seconds from which the log warns; None never warns.

    Raises:
        UsageError: `slow_s` is below 0.
    """

    def __init__(
        self,
        report: Callable[[RequestRecord], object] | None = None,
        *,
        slow_s: float | None = None,
    ) -> None:
        if slow_s is not None and not slow_s >= 0:
            raise UsageError(f"Timing(slow_s={slow_s}): expected seconds, at least 0")
        self._report = report
        self._slow_s = slow_s

    async def __call__(self, ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        """Run the request and time it."""
        return await observe(ctx, method, params, call_next, self._emit)

    def _emit(self, record: RequestRecord, params: Any) -> None:
        slow = self._slow_s is not None and record.duration_s >= self._slow_s
        level = logging.WARNING if slow else logging.DEBUG
        if _log.isEnabledFor(level):
            target = "" if record.target is None else shown_target(record.target)
            _log.log(
                level,
                "%s %s took %.3f s: %s",
                record.method,
                target,
                record.duration_s,
                record.outcome,
            )
        if self._report is None:
            return
        try:
            self._report(record)
        except Exception:
            _log.exception("Timing: the report of %s failed", record.method)


def shown_target(target: str) -> str:
    """Return a name, or a URI without its secrets, for the log."""
    return shown_url(target) if "://" in target else target
