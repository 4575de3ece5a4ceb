"""Middleware of a server: around what comes from clients, and around what goes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.session.messages.middleware import CallNext, Middleware, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["CallNext", "Middleware", "MiddlewareChain"]

M = TypeVar("M", bound=Middleware)


class MiddlewareChain:
    """Middleware of a server: around what comes from clients, and around what goes to them.

    A middleware is `async def mw(ctx, method, params, call_next)`. It runs around every message of
    a known method, hooks and all, and gives the result that `await call_next(params)` gave, or
    another one; it may also pass on other params, answer without calling, or raise McpError. What
    was added first is outermost. Of a notification there is no result.
    """

    def __init__(self, kernel: Kernel[Any], changed: Callable[[], None]) -> None:
        self._kernel = kernel
        self._changed = changed

    def add(self, middleware: M) -> M:
        """Add a middleware around what comes from clients; see `Server.middleware`."""
        self._kernel.middleware.append(checked(middleware))
        self._changed()
        return middleware

    def add_sending(self, middleware: M) -> M:
        """Add a middleware around what goes to clients; see `Server.sending_middleware`."""
        self._kernel.outbound_middleware.append(checked(middleware))
        return middleware
