"""Registers middleware around messages from clients and to clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.session.messages.middleware import CallNext, Middleware, validate_middleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["CallNext", "Middleware", "MiddlewareChain"]

M = TypeVar("M", bound=Middleware)


class MiddlewareChain:
    """Middleware of a server, for messages from clients and for messages to clients.

    A middleware is `async def mw(ctx, method, params, call_next)`; see `Server.middleware`.

    Args:
        kernel: Kernel that runs the middleware.
        changed: Called after a middleware for messages from clients has been added.
    """

    def __init__(self, kernel: Kernel[Any], changed: Callable[[], None]) -> None:
        self._kernel = kernel
        self._changed = changed

    def add(self, middleware: M) -> M:
        """Add a middleware around messages from clients; see `Server.middleware`."""
        self._kernel.middleware.append(validate_middleware(middleware))
        self._changed()
        return middleware

    def add_sending(self, middleware: M) -> M:
        """Add a middleware around messages to clients; see `Server.sending_middleware`."""
        self._kernel.outbound_middleware.append(validate_middleware(middleware))
        return middleware
