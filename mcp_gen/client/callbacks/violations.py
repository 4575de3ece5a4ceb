"""Reports protocol violations of servers to handlers, or logs them."""

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
    """A part of a server message that the session's revision does not define."""

    session: ClientSession
    """The session that received the message."""
    method: str
    """Method of the message, or of the request it answers; empty if there is none."""
    path: str
    """JSON path of the violation in the message."""
    what: str
    """Description of the violation."""


OnReport: TypeAlias = "Callable[[Violation], Any]"
"""Violation handler: `handler(violation)`, sync or async."""


class ViolationReporter:
    """Registry of violation handlers."""

    def __init__(self) -> None:
        self.handlers: list[OnReport] = []

    def report(
        self,
        session: ClientSession,
        connection: ClientConnection,
        method: str,
        violation: ClosedViolation,
    ) -> None:
        """Call the handlers with one violation; without handlers, log a warning.

        An exception of a handler is logged.
        """
        if not self.handlers:
            _log.warning("%s: %s", method or "a message", violation)
        report = Violation(session, method, *violation)
        for handler in self.handlers:
            try:
                answer = handler(report)
            except Exception:
                _log.exception("a report handler failed")
                continue
            if answer is not None and inspect.isawaitable(answer):
                connection.run(_await_handler(answer))


async def _await_handler(answer: Awaitable[Any]) -> None:
    try:
        await answer
    except Exception:
        _log.exception("a report handler failed")
