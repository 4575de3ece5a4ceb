"""Middleware of a server: around what comes from clients, and around what goes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.session.messages.middleware import CallNext, Middleware, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["CallNext", "Middleware", "OffersMiddleware"]

M = TypeVar("M", bound=Middleware)


class OffersMiddleware:
    """The part of a server that takes middleware.

    A middleware is `async def mw(ctx, method, params, call_next)`. It runs around every message of
    a known method, hooks and all, and gives the result that `await call_next(params)` gave, or
    another one; it may also pass on other params, answer without calling, or raise McpError. What
    was added first is outermost. Of a notification there is no result.
    """

    kernel: Kernel[Any]
    _rewrapped: Callable[[], None]

    def middleware(self, middleware: M) -> M:
        """Add a middleware around what comes from clients; usable as a decorator.

        `ctx` is the Context of the request, `params` the wire type of the revision it is made at.

        Raises:
            UsageError: it is not async, or takes something else.
        """
        self.kernel.middleware.append(checked(middleware))
        self._rewrapped()
        return middleware

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around what comes from clients; see `middleware`."""
        self.middleware(middleware)

    def sending_middleware(self, middleware: M) -> M:
        """Add a middleware around what goes to clients; usable as a decorator.

        It runs around requests and notifications alike. `ctx` is the Context of the request that
        they belong to, or the Session. Cancelling a request that was sent is not wrapped: whoever
        cancels it is not made to wait.

        Raises:
            UsageError: it is not async, or takes something else.
        """
        self.kernel.sending.append(checked(middleware))
        return middleware

    def add_sending_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around what goes to clients; see `sending_middleware`."""
        self.sending_middleware(middleware)
