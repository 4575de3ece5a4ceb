"""Middleware that caches the results of read-only tools."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import msgspec
from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import explains_calls, is_above_zero
from mcp_gen.server.context.context import rounds_of
from mcp_gen.server.listing.scopes import granted_scopes
from mcp_gen.server.middleware.cached_results import CachedResults, ResultKey
from mcp_gen.server.middleware.requests import (
    calls_tool,
    client_of,
    find_tool,
    is_tool_result,
    target_of,
    tool_names,
)
from mcp_gen.server.notifications.topics import TOOLS
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.notifications.topics import ChangeTopic
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["ToolCache"]

MAX_ARGUMENT_BYTES = 64 * 1024
"""Bytes of the arguments of a call that is cached; larger ones are passed on."""


class _Flight:
    """Call in progress that equal calls wait for."""

    __slots__ = ("done", "result")

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.result: Any = None
        """Result for all; None if each has to call for itself."""


class ToolCache:
    """Caches results of read-only tools: `server.add_middleware(ToolCache(ttl_s=60))`.

    Only tools with the annotation `readOnlyHint` are cached, and of them results that are no
    errors, of calls that asked the client for no input and are no tasks. Equal calls at the same
    time run the tool once. A cached result is that of the same tool, the same arguments, the same
    protocol revision and the same client: a principal with tokens of the same scopes, or without
    one a session or connection.
    Over HTTP without sessions, clients without a principal cannot be told apart, so nothing is
    cached for them unless `shared`.

    A result from the cache runs neither hooks nor the middleware that was added later; filters of
    the server are asked. Check permissions in a filter or in middleware that was added before.
    Progress is reported to the client of the call that runs. `_meta` is not part of the key.

    All results are dropped when the list of tools changes, or by `drop`.

    Args:
        ttl_s: Seconds that a result is fresh.
        max_entries: Most results; the least recently used is dropped first.
        max_bytes: Most bytes of all results and their arguments. A larger result is not cached.
        tools: Names of the tools that are cached; None for all that are read-only.
        shared: True if results are the same for all clients: for tools that read neither the
            principal nor the session or the headers.

    Raises:
        UsageError: a limit is not above 0.
    """

    @explains_calls("ToolCache", "ToolCache(ttl_s=60)")
    def __init__(
        self,
        ttl_s: float,
        *,
        max_entries: int = 1_000,
        max_bytes: int = 16 * 1024 * 1024,
        tools: Collection[str] | None = None,
        shared: bool = False,
    ) -> None:
        limits = {"ttl_s": ttl_s, "max_entries": max_entries, "max_bytes": max_bytes}
        for name, limit in limits.items():
            if not (is_above_zero(limit) and limit < math.inf):
                raise UsageError(f"ToolCache({name}={limit!r}): expected a number above 0")
        self._results = CachedResults(ttl_s, max_entries, max_bytes)
        self._tools = tool_names("ToolCache", tools)
        self._shared = shared
        self._flights: dict[Any, _Flight] = {}
        self._watched: WeakSet[Notifier] = WeakSet()

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._results)

    @property
    def size_bytes(self) -> int:
        """Bytes of the cached results and their arguments."""
        return self._results.size_bytes

    def drop(self, tool: str | None = None) -> None:
        """Drop cached results, from any thread; results of calls in progress are not cached.

        Args:
            tool: Name of the tool whose results are dropped; None for all.
        """
        self._results.drop(lambda key: tool is None or key.tool == tool)

    async def __call__(self, ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        """Return the cached result of a call, or run the request."""
        key = await self._key(ctx, method, params)
        if key is None:
            return await call_next(params)
        found = self._results.get(key)
        if found is not None:
            return found
        # A result may not be waited for over a `drop`, nor in another event loop.
        changes = self._results.changes
        place = (key, changes, asyncio.get_running_loop())
        flight = self._flights.get(place)
        if flight is not None:
            await flight.done.wait()
            return await call_next(params) if flight.result is None else flight.result
        flight = self._flights[place] = _Flight()
        try:
            result = await call_next(params)
            if _is_cacheable(ctx, result):
                flight.result = result
                self._results.put(key, result, len(encode(result)), changes)
        finally:
            # Also if it was cancelled or failed: then the waiting ones call by themselves.
            del self._flights[place]
            flight.done.set()
        return result

    async def _key(self, ctx: Context, method: str, params: Any) -> ResultKey | None:
        """Return the key of a call; None for a request that is not cached."""
        if not calls_tool(ctx, method) or _is_special(params):
            return None
        name = target_of(method, params)
        if name is None or (self._tools is not None and name not in self._tools):
            return None
        client = None if self._shared else client_of(ctx)
        if client is None and not self._shared:
            return None
        self._watch(ctx)
        tool = await find_tool(ctx, name)
        hints = None if tool is None else tool.described.annotations
        if tool is None or hints is None or hints.read_only_hint is not True:
            return None
        given = None if params.arguments is UNSET else params.arguments
        arguments = msgspec.json.encode(given or {}, order="sorted")
        if len(arguments) > MAX_ARGUMENT_BYTES:
            return None
        # A token that lacks a scope must not get what one that has it has left here.
        reach = client, granted_scopes(ctx)
        return ResultKey(name, arguments, (ctx.server, tool.key, ctx.revision, *reach))

    def _watch(self, ctx: Context) -> None:
        notify = cast("Mounting", ctx.server).notify
        if notify not in self._watched:
            self._watched.add(notify)
            notify.on_change.append(self._on_change)

    def _on_change(self, topic: ChangeTopic) -> None:
        if topic == TOOLS:
            self.drop()


def _is_special(params: Any) -> bool:
    """Return True for a call that asks for a task, or that answers input requests."""
    names = ("task", "input_responses", "request_state")
    return any(getattr(params, name, None) is not None for name in names)


def _is_cacheable(ctx: Context, result: Any) -> bool:
    return is_tool_result(result) and not result.is_error and rounds_of(ctx) is None
