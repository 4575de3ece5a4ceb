"""Context of handlers that run in a worker thread; each call blocks until it is done."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial, update_wrapper
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.context import (
    Context,
    rounds_of,
    runtime_of,
    set_thread_bridge,
    thread_bridge_of,
)
from mcp_gen.server.context.threads import ThreadBridge

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from mcp_gen.core.transport.access_token import AccessToken
    from mcp_wire import latest

__all__ = ["BlockingContext", "call_in_thread"]

P = ParamSpec("P")
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


def _wait(ctx: Context, call: Coroutine[Any, Any, T]) -> T:
    bridge = thread_bridge_of(ctx)
    if bridge is None:
        call.close()
        raise UsageError("ctx.blocking is for handlers that are not async; await ctx instead")
    return bridge.wait(call)


def _blocking(
    call: Callable[Concatenate[Context, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingContext, P], T]:
    """Return the method that makes a call of `Context` and blocks until it is done."""

    def method(self: BlockingContext, /, *args: P.args, **options: P.kwargs) -> T:
        ctx = _context_of(self)
        return _wait(ctx, call(ctx, *args, **options))

    update_wrapper(method, call)
    return method


class BlockingContext:
    """`Context` for sync handlers: the same calls, each of which blocks the thread.

    A call raises asyncio.CancelledError when the handler must end: the client cancelled the
    request, or the request ends with an input request. Let the error pass; `finally` blocks run.

    Args:
        ctx: Context of the request.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    elicit = _blocking(Context.elicit)
    elicit_url = _blocking(Context.elicit_url)
    elicitation_complete = _blocking(Context.elicitation_complete)
    sample = _blocking(Context.sample)
    list_roots = _blocking(Context.list_roots)
    report_progress = _blocking(Context.report_progress)
    log = _blocking(Context.log)
    read_resource = _blocking(Context.read_resource)

    @overload
    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> latest.CallToolResult: ...

    @overload
    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: None
    ) -> None: ...

    # Checkers without TypeForm understand classes.

    @overload
    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: type[T]
    ) -> T: ...

    @overload
    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: TypeForm[T]
    ) -> T: ...

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: Any = UNSET
    ) -> Any:
        """Call a tool of the server of this request; see `Context.call_tool`.

        Args:
            name: Name of the tool.
            arguments: Arguments by name.
            returns: Type of the result; None for a tool that gives nothing.
        """
        return _wait(self._ctx, self._ctx.call_tool(name, arguments, returns=returns))

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
        return _wait(self._ctx, self._ctx.ask_all(*requests))

    def once(self, key: str, make: Callable[[], T]) -> T:
        """See `Context.once`; `make` runs in this thread."""
        values = _wait(self._ctx, self._values())
        if key not in values:
            values[key] = make()
        made: T = values[key]
        return made

    @property
    def principal(self) -> str | None:
        """See `Context.principal`."""
        return self._ctx.principal

    @property
    def token(self) -> AccessToken | None:
        """See `Context.token`."""
        return self._ctx.token

    @property
    def state(self) -> BlockingState:
        """See `Context.state`; each call blocks the thread."""
        return BlockingState(self._ctx)

    async def _values(self) -> dict[str, Any]:
        return runtime_of(self._ctx).services(self._ctx).rounds().values

    def report(self, message: str) -> None:
        """Report the status of the task; see `TaskHandle.report`.

        Does nothing in a handler that does not run as a task.
        """
        if self._ctx.task is not None:
            _wait(self._ctx, self._ctx.task.report(message))


class BlockingState:
    """`ctx.blocking.state`: `State` for sync handlers.

    Args:
        ctx: Context of the request.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = ctx.state

    @overload
    def get(self, name: str, /) -> Any: ...

    @overload
    def get(self, name: str, type: type[T], /) -> T | None: ...

    @overload
    def get(self, name: str, type: type[T], default: T, /) -> T: ...

    def get(self, name: str, type: Any = Any, default: Any = None, /) -> Any:
        """Return a value; see `State.get`.

        Args:
            name: Name of the value.
            type: Type to decode it as; left out, it is plain JSON.
            default: Returned if there is no value.
        """
        return _wait(self._ctx, self._state.get(name, type, default))

    def set(self, name: str, value: Any, /) -> None:
        """Store a value; see `State.set`."""
        _wait(self._ctx, self._state.set(name, value))

    def delete(self, name: str, /) -> None:
        """Delete a value; see `State.delete`."""
        _wait(self._ctx, self._state.delete(name))

    def clear(self) -> None:
        """Delete all values of this client."""
        _wait(self._ctx, self._state.clear())


_context_of: Callable[[BlockingContext], Context] = attrgetter("_ctx")
