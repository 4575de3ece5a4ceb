"""Task-augmented requests to the client: sent, polled, fetched and cancelled.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.core.errors import McpGenError, RequestTimeout
from mcp_gen.core.peer_values import seconds_within
from mcp_gen.server.context.context import origin_of, outer_layers, runtime_of
from mcp_gen.server.input_requests.capabilities import declared
from mcp_gen.server.input_requests.rounds import InputKind
from mcp_gen.session.messages.sender import RequestSender
from mcp_gen.session.peer.session import SessionClient
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from msgspec import Raw

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import InputRequest
    from mcp_wire.method import Method

__all__ = ["request_as_task", "supports_tasks"]

R = TypeVar("R")

MIN_POLL_S, MAX_POLL_S = 0.01, 60.0
"""Bounds of the poll interval in seconds, whatever the client wants."""
POLL_S = 1.0
"""Default poll interval, in seconds, if the client does not give one."""
CANCEL_S = 5.0
"""Timeout of `tasks/cancel`, in seconds."""

_PATHS: dict[InputKind, tuple[str, str]] = {
    InputKind.ELICIT: ("elicitation", "create"),
    InputKind.CREATE_MESSAGE: ("sampling", "create_message"),
}
_RUNNING = frozenset({"working", "input_required"})


def supports_tasks(ctx: Context, request: InputRequest) -> bool:
    """Return True if the client declared that it answers such requests as tasks."""
    path = _PATHS.get(request.kind)
    if ctx.profile.tasks != "core" or path is None:
        return False
    return declared(ctx, "tasks", "requests", *path)


async def request_as_task(
    ctx: Context,
    request: InputRequest,
    ask: Callable[[SessionClient, dict[str, Any], float | None], Awaitable[Any]],
    timeout_s: float,
) -> Any:
    """Send a task-augmented request and wait for its result.

    Args:
        ctx: The request that is being answered.
        request: The input request.
        ask: `ask(client, more, timeout_s)` sends the request with the fields `more` added.
        timeout_s: Seconds for all of it, also sent as the `ttl` of the task; may be infinite.

    Raises:
        RequestTimeout: No result in time; the task is cancelled.
        McpError: The client answered with an error.
    """
    extensions = runtime_of(ctx).kernel.extensions
    client = SessionClient(ctx.profile, _TaskAwareSender(ctx), extensions)
    is_limited = not math.isinf(timeout_s)
    types: Any = mcp_wire.types(ctx.revision)
    metadata = types.TaskMetadata(ttl=math.ceil(timeout_s * 1000) if is_limited else None)
    limit = asyncio.timeout(timeout_s if is_limited else None)
    try:
        async with limit:
            answer = await ask(client, {"task": metadata}, math.inf)
            if not isinstance(answer, types.CreateTaskResult):
                return answer
            return await _poll_result(client, request, answer.task)
    except TimeoutError:
        if not limit.expired():
            raise
        raise RequestTimeout(f"{request.kind}: no answer within {timeout_s:g} s") from None


async def _poll_result(client: SessionClient, request: InputRequest, task: Any) -> Any:
    """Poll a task of the client and return its result; cancel it on timeout or cancellation."""
    id: str = task.task_id
    ended = False
    try:
        while task.status in _RUNNING:
            every_ms = task.poll_interval
            wait_s = POLL_S
            if every_ms is not None:
                wait_s = seconds_within(every_ms, least_s=MIN_POLL_S, most_s=MAX_POLL_S)
            await asyncio.sleep(wait_s)
            task = await client.get_task(id)
        ended = True
        payload = await client.get_task_payload(id)
    finally:
        if not ended:
            # Cancel, so that the client stops asking its user.
            with contextlib.suppress(McpGenError, TimeoutError):
                async with asyncio.timeout(CANCEL_S):
                    await client.cancel_task(id)
    method: Method[Any, Any] = getattr(mcp_wire.profile(mcp_wire.LATEST), request.kind)
    return method.decode_result(encode(payload))


class _TaskAwareSender(RequestSender):
    """Sender that also accepts a CreateTaskResult as the response."""

    def __init__(self, ctx: Context) -> None:
        kernel = runtime_of(ctx).kernel
        super().__init__(
            origin_of(ctx).channel,
            ctx.profile,
            kernel.hooks.outbound,
            ctx,
            middleware=kernel.outbound_middleware,
            outer=outer_layers(ctx),
            peer="client",
        )
        self._create_task_type: Any = mcp_wire.types(ctx.revision).CreateTaskResult

    def _read(self, method: Method[Any, R], raw: Raw) -> R:
        if self._create_task_type in method.results:
            with contextlib.suppress(msgspec.DecodeError):
                answer: R = mcp_wire.decode(self._create_task_type, raw)
                return answer
        return super()._read(method, raw)
