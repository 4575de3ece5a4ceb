"""Middleware that limits the rate of requests, for each client and tool."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp_gen.core.errors import InvalidRequest, McpError, UsageError
from mcp_gen.core.mistakes.checks import explains_calls, is_above_zero
from mcp_gen.core.peer_values import shortened
from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.middleware.requests import (
    calls_tool,
    client_of,
    find_tool,
    target_of,
    tool_names,
)

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["RateLimit"]

Counted: TypeAlias = Literal["each_tool", "tools", "requests"]
ClientKey: TypeAlias = "Callable[[Context], Hashable]"


class RateLimit:
    """Limits how often a client may call tools: `server.add_middleware(RateLimit(5, burst=20))`.

    A call beyond the limit is answered with a JSON-RPC error, and no tool runs. Its code is that
    of an invalid request at every revision, as for other limits of a server: no revision has a
    code for rates. Its text says when to try again, and `data` holds `retryAfterMs`.

    A client is its principal; without one, its session or connection, and over HTTP without
    sessions all clients without a principal together. A client without a principal may open
    another session: add a second limit with `client=lambda ctx: None`, which counts all clients
    together, where that matters. Each round of a multi round-trip request is a request.

    Args:
        per_s: Most requests per second in the long run, such as 0.5 or 10.
        burst: Most requests at once; None for those of one second, at least one.
        count: `"each_tool"` counts the calls of each tool by itself, `"tools"` the calls of all
            tools together, `"requests"` all requests but pings and handshakes.
        tools: Names of the tools that are limited; None for all.
        client: Returns the key of the client of a request: those with one key share a limit.
        max_clients: Most pairs of a client and a tool that are remembered. Of more, the one that
            has been silent for longest starts anew.

    Raises:
        UsageError: a limit is not above 0, or `tools` are given where all requests are counted.
    """

    @explains_calls("RateLimit", "RateLimit(5, burst=20)")
    def __init__(
        self,
        per_s: float,
        *,
        burst: float | None = None,
        count: Counted = "each_tool",
        tools: Collection[str] | None = None,
        client: ClientKey = client_of,
        max_clients: int = 10_000,
    ) -> None:
        limits = {"per_s": per_s, "burst": burst, "max_clients": max_clients}
        for name, limit in limits.items():
            if limit is not None and not (is_above_zero(limit) and limit < math.inf):
                raise UsageError(f"RateLimit({name}={limit!r}): expected a number above 0")
        if count not in ("each_tool", "tools", "requests"):
            raise UsageError(
                f"RateLimit(count={count!r}): expected 'each_tool', 'tools' or 'requests'"
            )
        if tools is not None and count == "requests":
            raise UsageError("RateLimit: `tools` limits calls of tools; leave out count='requests'")
        self._per_s = per_s
        self._burst = burst
        self._count = count
        self._tools = tool_names("RateLimit", tools)
        self._client = client
        self._max_clients = max_clients
        self._limiters: OrderedDict[Hashable, RateLimiter] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many pairs of a client and a tool are remembered."""
        return len(self._limiters)

    async def __call__(self, ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        """Run the request, unless its client has to wait.

        Raises:
            McpError: the limit is reached.
        """
        if self._is_counted(ctx, method, params):
            tool = target_of(method, params) if self._count == "each_tool" else None
            # Names that a client makes up share one limit: it could make up any number.
            known = tool if tool is None or await find_tool(ctx, tool) else None
            wait_s = self._wait_s((self._client(ctx), known))
            if wait_s:
                raise _too_many(method, tool, wait_s)
        return await call_next(params)

    def _is_counted(self, ctx: Context, method: str, params: Any) -> bool:
        if self._count == "requests":
            profile = ctx.profile
            free = (profile.ping, profile.handshake)
            return ctx.request_id is not None and all(
                row is None or row.name != method for row in free
            )
        if not calls_tool(ctx, method):
            return False
        return self._tools is None or target_of(method, params) in self._tools

    def _wait_s(self, key: Hashable) -> float:
        """Count a request; return the seconds to wait if there are too many, else 0."""
        with self._lock:
            limiter = self._limiters.get(key)
            if limiter is None:
                limiter = self._limiters[key] = RateLimiter(self._per_s, self._burst)
                if len(self._limiters) > self._max_clients:
                    self._limiters.popitem(last=False)
            else:
                self._limiters.move_to_end(key)
            return 0.0 if limiter.try_acquire() else max(limiter.wait_s, 0.001)


def _too_many(method: str, tool: str | None, wait_s: float) -> McpError:
    what = method if tool is None else f"{method} {shortened(tool, 128)}"
    # Rounded up: whoever waits exactly as long is served.
    wait_ms = math.ceil(wait_s * 1000)
    return McpError(
        InvalidRequest.code,
        f"{what}: too many requests of this client; try again in {wait_ms / 1000:g} s",
        {"retryAfterMs": wait_ms},
    )
