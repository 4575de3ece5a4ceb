"""Questions that a client answers as tasks of its own: asked, looked at, fetched, taken back.

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
from mcp_gen.server.context.context import origin_of, runtime_of
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

__all__ = ["ask_as_task", "takes_tasks"]

R = TypeVar("R")

POLL_S = 1.0
"""How long to wait between two looks where the client does not say."""
CANCEL_S = 5.0
"""How long a client has to say that it has heard that nobody waits any more."""

_PATHS: dict[InputKind, tuple[str, str]] = {
    InputKind.ELICIT: ("elicitation", "create"),
    InputKind.CREATE_MESSAGE: ("sampling", "create_message"),
}
_RUNS = frozenset({"working", "input_required"})


def takes_tasks(ctx: Context, question: InputRequest) -> bool:
    """Whether the client has declared that it answers this as a task, where that is said."""
    path = _PATHS.get(question.kind)
    if ctx.profile.tasks != "core" or path is None:
        return False
    return declared(ctx, "tasks", "requests", *path)


async def ask_as_task(
    ctx: Context,
    question: InputRequest,
    ask: Callable[[SessionClient, dict[str, Any], float | None], Awaitable[Any]],
    timeout_s: float,
) -> Any:
    """The answer to a question, which the client may take its time for.

    `ask(client, more, timeout_s)` sends it with more fields. Raises RequestTimeout, and what the
    client answers.
    """
    extensions = runtime_of(ctx).kernel.extensions
    client = SessionClient(ctx.profile, _Asking(ctx), extensions)
    limited = not math.isinf(timeout_s)
    types: Any = mcp_wire.types(ctx.revision)
    wish = types.TaskMetadata(ttl=math.ceil(timeout_s * 1000) if limited else None)
    limit = asyncio.timeout(timeout_s if limited else None)
    try:
        async with limit:
            made = await ask(client, {"task": wish}, math.inf)
            if not isinstance(made, types.CreateTaskResult):
                return made
            return await _fetched(client, question, made.task)
    except TimeoutError:
        if not limit.expired():
            raise
        raise RequestTimeout(f"{question.kind}: no answer within {timeout_s:g} s") from None


async def _fetched(client: SessionClient, question: InputRequest, task: Any) -> Any:
    """What a task of the client's ends with."""
    id: str = task.task_id
    over = False
    try:
        while task.status in _RUNS:
            every_ms = task.poll_interval
            await asyncio.sleep(POLL_S if every_ms is None else every_ms / 1000)
            task = await client.get_task(id)
        over = True
        payload = await client.get_task_payload(id)
    finally:
        if not over:
            # Nobody waits: the user need not be bothered any longer.
            with contextlib.suppress(McpGenError, TimeoutError):
                await asyncio.wait_for(client.cancel_task(id), CANCEL_S)
    method: Method[Any, Any] = getattr(mcp_wire.profile(mcp_wire.LATEST), question.kind)
    return method.decode_result(encode(payload))


class _Asking(RequestSender):
    """Sends to the client, and lets it answer with a task."""

    def __init__(self, ctx: Context) -> None:
        hooks = ctx.server.hooks.outbound
        super().__init__(origin_of(ctx).channel, ctx.profile, hooks, ctx, peer="client")
        self._made: Any = mcp_wire.types(ctx.revision).CreateTaskResult

    def _read(self, method: Method[Any, R], raw: Raw) -> R:
        if self._made in method.results:
            with contextlib.suppress(msgspec.ValidationError):
                made: R = mcp_wire.decode(self._made, raw)
                return made
        return super()._read(method, raw)
