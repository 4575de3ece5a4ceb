"""Sending middleware that repeats requests which failed for a reason that may pass."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import (
    HttpError,
    MessageTooLarge,
    RequestTimeout,
    TransportError,
    UsageError,
)
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["Retry"]

_READS = frozenset(
    one.__name__
    for one in (
        latest.CompleteResult,
        latest.DiscoverResult,
        latest.GetPromptResult,
        latest.ListPromptsResult,
        latest.ListResourceTemplatesResult,
        latest.ListResourcesResult,
        latest.ListToolsResult,
        latest.ReadResourceResult,
    )
)
"""Results of the requests that only read."""
_PASSING_STATUSES = (408, 429)
"""HTTP statuses below 500 that may pass: timeout, and too many requests."""


class Retry:
    """Sending middleware that repeats requests: `client.add_sending_middleware(Retry())`.

    Requests that only read are repeated after a timeout, a transport error, and the HTTP statuses
    408, 429 and from 500 on. An error that the server answered with (McpError) is final, and so is
    an answer over `max_message_bytes`. A tool is called again only with `tools=True`, and only if
    the server lists it with `idempotentHint`. A request that was cancelled is never repeated, nor
    are requests of the handshake. A session that lost its connection reconnects by itself, as
    without this middleware.

    Each pause is twice as long as the one before, times a random factor from 0.5 to 1.

    Args:
        attempts: The most times that a request is sent, the first included.
        first_delay_s: Seconds of the first pause.
        max_delay_s: Seconds of the longest pause.
        tools: True repeats calls of idempotent tools, too.

    Raises:
        UsageError: Less than one attempt, or a negative delay.
    """

    def __init__(
        self,
        attempts: int = 3,
        *,
        first_delay_s: float = 0.2,
        max_delay_s: float = 5.0,
        tools: bool = False,
    ) -> None:
        if attempts < 1 or min(first_delay_s, max_delay_s) < 0:
            raise UsageError("Retry: expected at least 1 attempt, and delays of at least 0 s")
        self._attempts = attempts
        self._first_delay_s = first_delay_s
        self._max_delay_s = max_delay_s
        self._tools = tools

    async def __call__(self, session: Any, method: str, params: Any, call_next: CallNext) -> Any:
        """Send the request, again if it may be repeated; see the class."""
        for attempt in range(1, self._attempts):
            try:
                return await call_next(params)
            except (TransportError, RequestTimeout) as error:
                if not _may_pass(error) or session is None or session.is_lost:
                    raise
                if not await self._may_repeat(session, method, params):
                    raise
            delay_s = min(self._first_delay_s * 2.0 ** (attempt - 1), self._max_delay_s)
            await asyncio.sleep(delay_s * random.uniform(0.5, 1.0))
        return await call_next(params)

    async def _may_repeat(self, session: Any, method: str, params: Any) -> bool:
        row = session.profile.methods.get(method)
        if row is None or not row.results:
            return False
        if row is not session.profile.call_tool:
            return row.results[0].__name__ in _READS
        if not self._tools:
            return False
        async for tool in session.tools():
            if tool.name == params.name:
                hints = getattr(tool, "annotations", None)
                return getattr(hints, "idempotent_hint", None) is True
        return False


def _may_pass(error: Exception) -> bool:
    if isinstance(error, HttpError):
        return error.status >= 500 or error.status in _PASSING_STATUSES
    return not isinstance(error, MessageTooLarge)
