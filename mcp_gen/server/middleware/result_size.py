"""Middleware that limits the size of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.server.content.results import error_result
from mcp_gen.server.middleware.requests import is_tool_result, target_of
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["ResultSizeLimit"]


class ResultSizeLimit:
    """Limits the size of tool results: `server.add_middleware(ResultSizeLimit(100_000))`.

    A larger result becomes an error result (`isError`), whose text names the size and the limit:
    a model may then ask for less. The size is that of the whole result as JSON in UTF-8, images
    included. Results that a tool has as a task are limited where the client fetches the result as
    such, until 2025-11-25.

    Args:
        max_bytes: Most bytes of a result.
        tools: Other limits in bytes, by name of the tool.

    Raises:
        UsageError: a limit is not above 0.
    """

    def __init__(self, max_bytes: int, *, tools: Mapping[str, int] | None = None) -> None:
        self._max_bytes = max_bytes
        self._tools = dict(tools or {})
        for limit in (max_bytes, *self._tools.values()):
            if limit < 1:
                raise UsageError(f"ResultSizeLimit: {limit} bytes: expected at least 1")

    async def __call__(self, ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        """Run the request; replace a tool result that is too large."""
        result = await call_next(params)
        if not is_tool_result(result):
            return result
        name = target_of(method, params)
        limit_bytes = self._max_bytes if name is None else self._tools.get(name, self._max_bytes)
        size_bytes = len(encode(result))
        if size_bytes <= limit_bytes:
            return result
        return error_result(
            f"{name or method}: the result has {size_bytes} bytes, and the limit is "
            f"{limit_bytes}; ask for less, such as a part of it"
        )
