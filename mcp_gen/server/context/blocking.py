"""Context of handlers that run in a worker thread; each call blocks until it is done."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.context import (
    rounds_of,
    runtime_of,
    set_thread_bridge,
    thread_bridge_of,
)
from mcp_gen.server.context.threads import ThreadBridge

if TYPE_CHECKING:
    from mcp_gen.server.context.answers import Answer, Messages
    from mcp_gen.server.context.context import Context
    from mcp_wire import latest

__all__ = ["BlockingContext", "call_in_thread"]

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")


async def call_in_thread(ctx: Context, function: Callable[..., T], arguments: dict[str, Any]) -> T:
    """Call a sync handler in a worker thread, where it may use `ctx.blocking`.

    If the request ends early, the calls that the thread waits for are cancelled. If it ends because
    of input requests of the thread, the thread gets a moment to end too.
    """
    loop = asyncio.get_running_loop()
    bridge = ThreadBridge(loop)
    set_thread_bridge(ctx, bridge)
    call = partial(contextvars.copy_context().run, function, **arguments)
    try:
        return await loop.run_in_executor(None, bridge.run, call)
    except asyncio.CancelledError:
        bridge.release()
        rounds = rounds_of(ctx)
        if rounds is not None and rounds.closed:
            await bridge.end()
        raise


class BlockingContext:
    """`Context` for sync handlers: the same calls, each of which blocks the thread.

    A call raises asyncio.CancelledError when the handler must end: the client cancelled the
    request, or the request ends with an input request. Let the error pass; `finally` blocks run.

    Args:
        ctx: Context of the request.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        bridge = thread_bridge_of(self._ctx)
        if bridge is None:
            call.close()
            raise UsageError("ctx.blocking is for handlers that are not async; await ctx instead")
        return bridge.wait(call)

    def elicit(
        self,
        message: str,
        form: type[T],
        *,
        key: str | None = None,
        timeout_s: float | None = None,
        task: bool = False,
    ) -> Answer[T]:
        """See `Context.elicit`."""
        return self._wait(self._ctx.elicit(message, form, key=key, timeout_s=timeout_s, task=task))

    def elicit_url(
        self,
        message: str,
        url: str,
        *,
        elicitation_id: str | None = None,
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer[None]:
        """See `Context.elicit_url`."""
        return self._wait(
            self._ctx.elicit_url(
                message, url, elicitation_id=elicitation_id, key=key, timeout_s=timeout_s
            )
        )

    def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        key: str | None = None,
        timeout_s: float | None = None,
        **params: Any,
    ) -> latest.CreateMessageResult:
        """See `Context.sample`."""
        return self._wait(
            self._ctx.sample(
                messages, max_tokens=max_tokens, key=key, timeout_s=timeout_s, **params
            )
        )

    def list_roots(
        self, *, key: str | None = None, timeout_s: float | None = None
    ) -> Sequence[latest.Root]:
        """See `Context.list_roots`."""
        return self._wait(self._ctx.list_roots(key=key, timeout_s=timeout_s))

    @overload
    def ask_all(self, a: Awaitable[T1], /) -> tuple[T1]: ...

    @overload
    def ask_all(self, a: Awaitable[T1], b: Awaitable[T2], /) -> tuple[T1, T2]: ...

    @overload
    def ask_all(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], /
    ) -> tuple[T1, T2, T3]: ...

    @overload
    def ask_all(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], /
    ) -> tuple[T1, T2, T3, T4]: ...

    @overload
    def ask_all(
        self,
        a: Awaitable[T1],
        b: Awaitable[T2],
        c: Awaitable[T3],
        d: Awaitable[T4],
        e: Awaitable[T5],
        /,
    ) -> tuple[T1, T2, T3, T4, T5]: ...

    @overload
    def ask_all(self, *requests: Awaitable[T]) -> tuple[T, ...]: ...

    def ask_all(self, *requests: Awaitable[Any]) -> tuple[Any, ...]:
        """Send several input requests at once and wait for all answers; see `Context.ask_all`.

        Pass calls of the async context, not awaited:
        `ctx.blocking.ask_all(ctx.elicit("Name?", Name), ctx.list_roots())`.
        """
        return self._wait(self._ctx.ask_all(*requests))

    def once(self, key: str, make: Callable[[], T]) -> T:
        """See `Context.once`; `make` runs in this thread."""
        values = self._wait(self._values())
        if key not in values:
            values[key] = make()
        made: T = values[key]
        return made

    async def _values(self) -> dict[str, Any]:
        return runtime_of(self._ctx).services(self._ctx).rounds().values

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """See `Context.report_progress`."""
        self._wait(self._ctx.report_progress(progress, total, message))

    def report(self, message: str) -> None:
        """Report the status of the task; see `TaskHandle.report`.

        Does nothing in a handler that does not run as a task.
        """
        if self._ctx.task is not None:
            self._wait(self._ctx.task.report(message))

    def log(self, level: latest.LoggingLevel, data: Any, *, logger: str | None = None) -> None:
        """See `Context.log`."""
        self._wait(self._ctx.log(level, data, logger=logger))

    def elicitation_complete(self, elicitation_id: str) -> None:
        """See `Context.elicitation_complete`."""
        self._wait(self._ctx.elicitation_complete(elicitation_id))
