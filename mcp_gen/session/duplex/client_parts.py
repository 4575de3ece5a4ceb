"""Parts of a client that all its connections share: hooks, middleware, custom notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.session.messages.middleware import MiddlewareChain

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.session.messages.notifications import UnknownHandler
    from mcp_wire.hooks import ClientHooks
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["DEFAULT_MAX_VALUES", "ClientParts"]

DEFAULT_MAX_VALUES = 100_000
"""Default of the most keys and items of one result of a server."""


class ClientParts:
    """Parts of a client that its connections share: they see what is added later.

    Args:
        hooks: Hooks of the client.
        middleware: Middleware of the client; None: none.
        max_values: The most keys and items of one result of a server.
    """

    def __init__(
        self,
        hooks: ClientHooks,
        middleware: MiddlewareChain | None = None,
        max_values: int = DEFAULT_MAX_VALUES,
    ) -> None:
        self.hooks = hooks
        self.middleware = middleware or MiddlewareChain([], [], hooks.changed)
        self.max_values = max_values
        self.notifications: dict[str, Callable[[Profile], Method[Any, None] | None]] = {}
        """Method rows of custom notifications by name: each is made for a revision."""
        self.unknown: list[UnknownHandler] = []
        """Handlers of notifications that are unknown at the negotiated revision."""
