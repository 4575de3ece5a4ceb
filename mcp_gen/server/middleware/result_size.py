"""Middleware that limits the size of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

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
    included. Results of tasks are limited when the client fetches them.

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
        name = target_of(method, params)
        limit_bytes = self._max_bytes if name is None else self._tools.get(name, self._max_bytes)
        if is_tool_result(result):
            text = _too_large(name or "the task", len(encode(result)), limit_bytes)
            return error_result(text) if text else result
        return _of_task(result, limit_bytes)


def _too_large(what: str, size_bytes: int, limit_bytes: int) -> str:
    """Return the text of the error; empty if the size is within the limit."""
    if size_bytes <= limit_bytes:
        return ""
    return (
        f"{what}: the result has {size_bytes} bytes, and the limit is {limit_bytes}; "
        "ask for less, such as a part of it"
    )


def _of_task(result: Any, limit_bytes: int) -> Any:
    """Return the result of a request for a task, with a smaller output if it has one."""
    found: Any = getattr(result, "result", result)
    if not isinstance(found, dict) or "content" not in found:
        return result
    output = cast("dict[str, Any]", found)
    text = _too_large("the task", len(encode(output)), limit_bytes)
    if not text:
        return result
    # As JSON: it is of the revision of the request already.
    error: dict[str, Any] = {
        **{name: output[name] for name in ("_meta", "resultType") if name in output},
        "content": [{"type": "text", "text": text}],
        "isError": True,
    }
    return error if output is result else replace(result, result=error)
