"""Protocols of the server parts that sending uses: outbound hooks, middleware, extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.session.messages.middleware import Middleware
    from mcp_wire.hook_machinery import HookSet

__all__ = ["Outbound", "OutboundHooks"]


class OutboundHooks(Protocol):
    """Hooks of a server, as senders use them."""

    @property
    def outbound(self) -> HookSet:
        """Hooks around messages to clients."""
        ...


class Outbound(Protocol):
    """A server, as its senders use it.

    Its properties are read at each message: hooks and middleware may be added later.
    """

    @property
    def hooks(self) -> OutboundHooks:
        """Hooks of the server."""
        ...

    @property
    def outbound_middleware(self) -> Sequence[Middleware]:
        """Middleware around messages to clients, outermost first."""
        ...

    @property
    def extensions(self) -> Extensions:
        """Protocol extensions that the server offers."""
        ...
