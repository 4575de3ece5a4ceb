"""Calls that stay open at a remote server while their caller comes back with answers.

The remote server asks over its connection and waits; the caller's revision has questions in results
only. So the call goes on between the rounds of the request that it was made for.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Raw

from mcp_gen.core.errors import InvalidParams, InvalidRequest, McpError, ProtocolError

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import InputRequest

__all__ = ["SuspendedCall", "SuspendedCaller", "SuspendedCalls", "over"]

MAX_HELD = 1000
"""How many calls wait for their callers to come back, before the oldest is given up."""

_TURNS = 3
"""How many turns of the loop the remote server has to ask something else in the same round."""


class SuspendedCaller(Protocol):
    """The caller of a suspended call, which comes back with another request."""

    ctx: Context
    """The request that it waits in."""
    held: SuspendedCall | None
    """Takes the questions of the remote server."""


class _OpenRequest(NamedTuple):
    question: InputRequest
    answer: asyncio.Future[Any]


def over() -> McpError:
    """The answer to a question whose call has ended without it."""
    return McpError(InvalidRequest.code, "the call that this was asked for is over")


class SuspendedCall:
    """One call at a remote server, and what it has asked."""

    def __init__(self, caller: SuspendedCaller, call: Coroutine[Any, Any, Raw]) -> None:
        self._loop = asyncio.get_running_loop()
        self._caller = caller
        self._open: dict[str, _OpenRequest] = {}
        self._asked = 0
        self._woken = asyncio.Event()
        caller.held = self
        self._call = self._loop.create_task(call)
        self._call.add_done_callback(self._end)

    def _end(self, call: asyncio.Task[Raw]) -> None:
        self._woken.set()
        for asked in self._open.values():
            if not asked.answer.done():
                asked.answer.set_exception(over())
        if not call.cancelled():
            call.exception()  # it may be that nobody comes to hear of it

    async def ask(self, question: InputRequest) -> Any:
        """The caller's answer, in the next round."""
        self._asked += 1
        key = f"{question.kind}-{self._asked}"
        asked = _OpenRequest(question, self._loop.create_future())
        self._open[key] = asked
        self._woken.set()
        try:
            return await asked.answer
        finally:
            self._open.pop(key, None)

    def resume(self, ctx: Context) -> None:
        """The caller has come back, with answers."""
        self._caller.ctx = ctx
        for key, result in (ctx.input_responses or {}).items():
            asked = self._open.get(key)
            if asked is None or asked.answer.done():
                continue
            if isinstance(result, asked.question.kind.result_type):
                asked.answer.set_result(result)
            else:
                wrong = f"the answer to {key} is a {type(result).__name__}"
                asked.answer.set_exception(InvalidParams(wrong))

    async def outcome(self) -> Raw | None:
        """The result of the call; None if it waits for answers.

        Raises:
            McpError, McpGenError: what the call raises.
        """
        while True:
            waiting = [one for one in self._open.values() if not one.answer.done()]
            if self._call.done():
                return self._call.result()
            if waiting:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                return None
            self._woken.clear()
            await self._woken.wait()

    def input_requests(self) -> dict[str, Any]:
        """What is to be asked of the caller, by key."""
        open_now = {key: one.question for key, one in self._open.items() if not one.answer.done()}
        return {key: one.kind.request_type(params=one.params) for key, one in open_now.items()}

    def give_up(self) -> None:
        """Nobody wants the result any more: the remote server is told."""
        self._call.cancel()


class SuspendedCalls:
    """The calls whose callers are to come back, by a name that nobody can guess."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[SuspendedCall, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: SuspendedCall, ttl_s: float) -> str:
        """Keep a call open for a while."""
        while len(self._calls) >= MAX_HELD:
            self._give_up(next(iter(self._calls)))
        name = secrets.token_urlsafe(16)
        timer = asyncio.get_running_loop().call_later(ttl_s, self._give_up, name)
        self._calls[name] = (call, timer)
        return name

    def take(self, name: str) -> SuspendedCall:
        """The call of that name, which nobody else may go on with.

        Raises:
            McpError: there is none: it was given up, or this is another process.
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

    def _give_up(self, name: str) -> None:
        call, timer = self._calls.pop(name)
        timer.cancel()
        call.give_up()

    def clear(self) -> None:
        """Give up all of them."""
        for name in list(self._calls):
            self._give_up(name)
