"""Calls to a remote server that stay open between the rounds of a multi round-trip request.

The remote server sends input requests over its connection. The caller's revision has them in
results only (`input_required`), so the remote call waits until the caller sends the responses.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Coroutine, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from msgspec import Raw

from mcp_gen.core.errors import InvalidRequest, InvalidResult, McpError, ProtocolError
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import InputRequest

__all__ = ["SuspendedCall", "SuspendedCaller", "SuspendedCalls", "call_ended_error"]

MAX_HELD = 1000
"""Limit of suspended calls; beyond it the oldest of the client that has most is cancelled."""
MAX_ANSWERED = 1000
"""Limit of rounds whose results are kept for retries that come twice; the oldest is dropped."""
CALL_GONE = "suspended call gone"
"""`data.reason` of the error for a retry whose call is not open in this process."""

RoundResult: TypeAlias = "Raw | latest.InputRequiredResult"
"""Result of one round of a call: the call's own, or its input requests."""

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

    async def outcome(self, settle_s: float = 0.0) -> Raw | None:
        """Wait for the result of the call; None if it waits for input responses.

        Args:
            settle_s: Seconds without a further input request after which it counts as waiting.

        Raises:
            McpError, McpGenError: The error of the call.
        """
        while not self._call.done():
            if any(not entry.answer.done() for entry in self._open.values()):
                if await self._is_settled(settle_s):
                    return None
            else:
                self._changed.clear()
                await self._changed.wait()
        return self._call.result()

    async def _is_settled(self, settle_s: float) -> bool:
        """Return True if no further input request comes in time, nor the end of the call."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        if not settle_s:
            return True
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(settle_s):
                await self._changed.wait()
                return False
        return True

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
    """Registry of suspended calls, by a random name that is sent as `requestState`.

    A retry that comes twice gets the same result twice: the remote call goes on once.

    Args:
        settle_s: Seconds without a further input request after which those that have come are
            sent together.
        max_open: Most calls that wait for a retry; beyond it the oldest of the client that has
            most is cancelled.
        max_answered: Most rounds whose results are kept.
    """

    def __init__(
        self,
        *,
        settle_s: float = 0.0,
        max_open: int = MAX_HELD,
        max_answered: int = MAX_ANSWERED,
    ) -> None:
        self._settle_s = settle_s
        self._max_open = max_open
        self._max_answered = max_answered
        self._calls: dict[str, tuple[SuspendedCall, asyncio.TimerHandle]] = {}
        self._rounds: dict[str, _Round] = {}
        """Rounds that a retry has begun, by the name in that retry, oldest first."""

    def __len__(self) -> int:
        return len(self._calls)

    async def begin(self, call: SuspendedCall, ttl_s: float) -> RoundResult:
        """Return the result of a call's first round: of the call, or its input requests.

        Args:
            call: The call.
            ttl_s: Seconds that it may wait for a retry; then it is cancelled.

        Raises:
            McpError, McpGenError: The error of the call.
        """
        try:
            return await self._result(call, ttl_s)
        except asyncio.CancelledError:
            call.cancel()
            raise

    async def resume(self, name: str, ctx: Context, ttl_s: float) -> RoundResult:
        """Return the result of the round that a retry begins, or that an equal one has begun.

        Args:
            name: Name of the call, from the `requestState` of the retry.
            ctx: The retry.
            ttl_s: Seconds that the call may wait for the next retry.

        Raises:
            McpError: No such call is open in this process; or the error of the call.
            McpGenError: The error of the call.
        """
        found = self._rounds.get(name)
        if found is None:
            call = self.take(name)
            call.resume(ctx)
            found = _Round(call, asyncio.ensure_future(self._result(call, ttl_s)))
            self._rounds[name] = found
            found.result.add_done_callback(lambda _: self._forget_later(name, ttl_s))
        return await found.wait()

    def _forget_later(self, name: str, ttl_s: float) -> None:
        answered = [key for key, one in self._rounds.items() if one.result.done()]
        for key in answered[: len(answered) - self._max_answered]:
            del self._rounds[key]
        if name in self._rounds:
            asyncio.get_running_loop().call_later(ttl_s, self._rounds.pop, name, None)

    async def _result(self, call: SuspendedCall, ttl_s: float) -> RoundResult:
        raw = await call.outcome(self._settle_s)
        if raw is not None:
            return raw
        return latest.InputRequiredResult(
            input_requests=call.input_requests(), request_state=self.put(call, ttl_s)
        )

    def put(self, call: SuspendedCall, ttl_s: float) -> str:
        """Store a call for `ttl_s` seconds and return its name; then it is cancelled."""
        while len(self._calls) >= self._max_open:
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
                {"reason": CALL_GONE},
            )
        call, timer = found
        timer.cancel()
        return call

    def _cancel(self, name: str) -> None:
        call, timer = self._calls.pop(name)
        timer.cancel()
        call.cancel()

    def clear(self) -> None:
        """Cancel all suspended calls, and forget the results of their rounds."""
        for name in list(self._calls):
            self._cancel(name)
        for one in self._rounds.values():
            one.call.cancel()
        self._rounds.clear()


class _Round:
    """One round of a suspended call, for the retry that began it and for those equal to it."""

    def __init__(self, call: SuspendedCall, result: asyncio.Future[RoundResult]) -> None:
        self.call = call
        self.result = result
        self._waiting = 0

    async def wait(self) -> RoundResult:
        """Return the result; cancel the call if nobody waits for it any more."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.result)
        except asyncio.CancelledError:
            if self._waiting == 1 and not self.result.done():
                self.call.cancel()
            raise
        finally:
            self._waiting -= 1
