"""What servers sent and may not: told to whoever listens, or logged."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.core.projection.closed import ClosedViolation
    from mcp_gen.session.duplex.client import ClientConnection

__all__ = ["OnReport", "Violation", "ViolationReporter"]

_log = logging.getLogger("mcp_gen.client")


class Violation(NamedTuple):
    """Something a server sent that the revision which is spoken does not have."""

    session: ClientSession
    method: str
    """The method of the message, or of the request that it answers; empty if it has none."""
    path: str
    """Where it is in the message."""
    what: str


OnReport: TypeAlias = "Callable[[Violation], Any]"
"""Called with each report, async or not."""


class ViolationReporter:
    """Whoever listens to what servers get wrong."""

    def __init__(self) -> None:
        self.handlers: list[OnReport] = []

    def report(
        self,
        session: ClientSession,
        link: ClientConnection,
        method: str,
        violation: ClosedViolation,
    ) -> None:
        """Tell of one thing; what a handler raises is logged."""
        if not self.handlers:
            _log.warning("%s: %s", method or "a message", violation)
        report = Violation(session, method, *violation)
        for handler in self.handlers:
            try:
                answer = handler(report)
            except Exception:
                _log.exception("a report handler failed")
                continue
            if inspect.isawaitable(answer):
                link.run(_finished(answer))


async def _finished(answer: Awaitable[Any]) -> None:
    try:
        await answer
    except Exception:
        _log.exception("a report handler failed")
