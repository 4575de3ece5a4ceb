"""Calls to a remote server that stay open between the rounds of a multi round-trip request.

The remote server sends input requests over its connection. The caller's revision has them in
results only (`input_required`), so the remote call waits until the caller sends the responses.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Coroutine, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Raw

from mcp_gen.core.errors import InvalidRequest, InvalidResult, McpError, ProtocolError

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import InputRequest

__all__ = ["SuspendedCall", "SuspendedCaller", "SuspendedCalls", "call_ended_error"]

MAX_HELD = 1000
"""Limit of suspended calls; beyond it the oldest of the client that has most is cancelled."""

_TURNS = 3
"""Event loop turns in which further input requests join the same round."""


class SuspendedCaller(Protocol):
    """Caller of a suspended call, which continues with another request."""

    ctx: Context
    """Current request of the caller."""

    @property
    def client(self) -> Hashable:
        """Identity of the client."""
        ...

    held: SuspendedCall | None
    """Suspended call that takes the input requests of the remote server."""


class _OpenRequest(NamedTuple):
    request: InputRequest
    answer: asyncio.Future[Any]


def call_ended_error() -> McpError:
    """Return the error for an input request whose call has ended without a response."""
    return McpError(InvalidRequest.code, "the call that this was asked for is over")


class SuspendedCall:
    """Call to a remote server, and its open input requests.

    Args:
        caller: The caller; its `held` is set to this call.
        call: Coroutine of the call, which is started at once.
    """

    def __init__(self, caller: SuspendedCaller, call: Coroutine[Any, Any, Raw]) -> None:
        self._loop = asyncio.get_running_loop()
        self._caller = caller
        self._open: dict[str, _OpenRequest] = {}
        self._request_count = 0
        self._changed = asyncio.Event()
        self.client = caller.client
        """Client that made the call."""
        caller.held = self
        self._call = self._loop.create_task(call)
        self._call.add_done_callback(self._end)

    def _end(self, call: asyncio.Task[Raw]) -> None:
        self._changed.set()
        for entry in self._open.values():
            if not entry.answer.done():
                entry.answer.set_exception(call_ended_error())
        if not call.cancelled():
            call.exception()  # mark as retrieved: the caller may never come back

    async def ask(self, request: InputRequest) -> Any:
        """Return the caller's response, which comes in a later round."""
        self._request_count += 1
        key = f"{request.kind}-{self._request_count}"
        entry = _OpenRequest(request, self._loop.create_future())
        self._open[key] = entry
        self._changed.set()
        try:
            return await entry.answer
        finally:
            self._open.pop(key, None)

    def resume(self, ctx: Context) -> None:
        """Continue with the next request of the caller and its `input_responses`."""
        self._caller.ctx = ctx
        for key, result in (ctx.input_responses or {}).items():
            entry = self._open.get(key)
            if entry is None or entry.answer.done():
                continue
            if isinstance(result, entry.request.kind.result_type):
                entry.answer.set_result(result)
            else:
                message = f"the answer to {key} is a {type(result).__name__}"
                entry.answer.set_exception(InvalidResult(message))

    async def outcome(self) -> Raw | None:
        """Wait for the result of the call; None if it waits for input responses.

        Raises:
            McpError, McpGenError: The error of the call.
        """
        while True:
            unanswered = [entry for entry in self._open.values() if not entry.answer.done()]
            if self._call.done():
                return self._call.result()
            if unanswered:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                return None
            self._changed.clear()
            await self._changed.wait()

    def input_requests(self) -> dict[str, Any]:
        """Return the open input requests as wire types, by key."""
        unanswered = {
            key: entry.request for key, entry in self._open.items() if not entry.answer.done()
        }
        return {
            key: request.kind.request_type(params=request.params)
            for key, request in unanswered.items()
        }

    def cancel(self) -> None:
        """Cancel the call at the remote server."""
        self._call.cancel()


class SuspendedCalls:
    """Registry of suspended calls, by a random name that is sent as `requestState`."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[SuspendedCall, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: SuspendedCall, ttl_s: float) -> str:
        """Store a call for `ttl_s` seconds and return its name; then it is cancelled."""
        while len(self._calls) >= MAX_HELD:
            self._cancel(self._oldest_of_most())
        name = secrets.token_urlsafe(16)
        timer = asyncio.get_running_loop().call_later(ttl_s, self._cancel, name)
        self._calls[name] = (call, timer)
        return name

    def _oldest_of_most(self) -> str:
        """Return the oldest call of the client that has most: others must not lose theirs."""
        clients = {name: call.client for name, (call, _) in self._calls.items()}
        held = Counter(clients.values())
        most = max(held.values())
        return next(name for name, client in clients.items() if held[client] == most)

    def take(self, name: str) -> SuspendedCall:
        """Remove the call with a name and return it.

        Raises:
            McpError: There is none: it has expired, or it belongs to another process.
        """
        found = self._calls.pop(name, None)
        if found is None:
            raise McpError(
                ProtocolError.code,
                "the call that waited for these answers is not open any more: make it anew",
            )
        call, timer = found
        timer.cancel()
        return call

    def _cancel(self, name: str) -> None:
        call, timer = self._calls.pop(name)
        timer.cancel()
        call.cancel()

    def clear(self) -> None:
        """Cancel all suspended calls."""
        for name in list(self._calls):
            self._cancel(name)
