"""Development mode: warns of async handlers that block the event loop."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["BLOCKED_MS", "BlockingWatch"]

BLOCKED_MS = 100.0
"""Milliseconds that one step of a handler may take by default."""

_NOUNS = {
    "CallToolRequestParams": "tool",
    "GetPromptRequestParams": "prompt",
    "ReadResourceRequestParams": "resource",
}
"""Words for what a request is about, by its wire type; the method for the others."""

_log = logging.getLogger("mcp_gen.server")


class BlockingWatch:
    """Middleware that measures each step of a handler, from one `await` to the next.

    A step that takes too long is logged as a warning, once for each tool, prompt or resource.

    Args:
        limit_ms: Milliseconds that a step may take.
    """

    def __init__(self, limit_ms: float = BLOCKED_MS) -> None:
        self._limit_s = limit_ms / 1000
        self._warned: set[str] = set()

    async def __call__(self, ctx: Any, method: str, params: Any, call_next: CallNext) -> Any:
        """Handle one message, and warn of each step that was too long."""
        return await _Steps(call_next(params), self, method, params)

    def measured(self, elapsed_s: float, method: str, params: Any) -> None:
        """Warn of a step that took too long."""
        if elapsed_s <= self._limit_s:
            return
        name = getattr(params, "name", None) or getattr(params, "uri", None)
        what = f"{_NOUNS.get(type(params).__name__, method)} {name!r}" if name else method
        if what in self._warned:
            return
        self._warned.add(what)
        _log.warning(
            "%s blocked the event loop for %.0f ms, and no other request was answered meanwhile: "
            "await what it waits for (as `asyncio.sleep` for `time.sleep`), or write it as a plain "
            "`def`, which runs in a thread",
            what,
            elapsed_s * 1000,
        )


class _Steps:
    """Awaitable that measures each step of another."""

    def __init__(
        self, inner: Awaitable[Any], watch: BlockingWatch, method: str, params: Any
    ) -> None:
        self._inner = inner
        self._watch = watch
        self._about = method, params

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._inner.__await__()
        step: Callable[..., Any] = steps.__next__
        given: tuple[BaseException, ...] = ()
        while True:
            begun = time.perf_counter()
            try:
                yielded = step(*given)
            except StopIteration as ended:
                return ended.value
            finally:
                self._watch.measured(time.perf_counter() - begun, *self._about)
            step, given = steps.__next__, ()
            try:
                yield yielded
            except GeneratorExit:
                self._close(steps)
                raise
            except BaseException as error:
                # A cancellation: the handler decides what becomes of it.
                step, given = _thrower(steps), (error,)

    def _close(self, steps: Any) -> None:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def _thrower(steps: Any) -> Any:
    throw = getattr(steps, "throw", None)
    if throw is not None:
        return throw

    def raise_it(error: BaseException) -> Any:
        raise error

    return raise_it
