"""Record of one answered request: what it was for, how it ended, how long it took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import McpError, ProtocolError, ResourceNotFound
from mcp_gen.server.content.results import is_alternative_result
from mcp_gen.server.middleware.requests import target_of

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["Outcome", "RequestRecord", "observe"]

Outcome: TypeAlias = Literal["ok", "tool_error", "input_required", "task", "error", "cancelled"]
"""End of a request: a result, or a JSON-RPC error, or a cancellation.

A `"tool_error"` is a result with `isError`, an `"input_required"` one asks the client, and a
`"task"` one is delivered later.
"""


class RequestRecord(Struct, frozen=True, kw_only=True):
    """One answered request.

    Args:
        method: The method.
        target: Name of the tool or prompt, or URI of the resource; None for other methods.
        outcome: How the request ended.
        code: JSON-RPC error code; None unless the outcome is `"error"`.
        duration_s: Seconds that the handler took, inner middleware and hooks included.
        server: Name of the server that answered: a mounted one has records of its own.
        revision: Protocol revision of the request.
        principal: Authenticated principal; None without one.
    """

    method: str
    target: str | None
    outcome: Outcome
    code: int | None
    duration_s: float
    server: str
    revision: str
    principal: str | None


async def observe(
    ctx: Context,
    method: str,
    params: Any,
    call_next: CallNext,
    report: Callable[[RequestRecord, Any], None],
) -> Any:
    """Run a request, and report its record with its params; notifications are not reported."""
    if ctx.request_id is None:
        return await call_next(params)
    begun_s = time.perf_counter()
    outcome: Outcome = "cancelled"
    code: int | None = None
    try:
        result = await call_next(params)
        outcome = _outcome(result)
    except BaseException as error:
        if not isinstance(error, asyncio.CancelledError):
            outcome, code = "error", _code(ctx, error)
        raise
    finally:
        record = RequestRecord(
            method=method,
            target=target_of(method, params),
            outcome=outcome,
            code=code,
            duration_s=time.perf_counter() - begun_s,
            server=ctx.server.name,
            revision=ctx.revision,
            principal=ctx.principal,
        )
        report(record, params)
    return result


def _outcome(result: Any) -> Outcome:
    if getattr(result, "is_error", None):
        return "tool_error"
    if is_alternative_result(type(result)):
        return "input_required" if hasattr(result, "input_requests") else "task"
    return "task" if getattr(result, "task", None) is not None else "ok"


def _code(ctx: Context, error: BaseException) -> int:
    primary = primary_error(error)
    if isinstance(primary, McpError | ProtocolError):
        return primary.code
    if isinstance(primary, ResourceNotFound):
        return ctx.profile.resource_not_found_code
    return ProtocolError.code
