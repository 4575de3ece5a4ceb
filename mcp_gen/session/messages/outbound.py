"""Protocol of what sending needs: outbound hooks, middleware, extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.session.messages.middleware import Middleware
    from mcp_wire.hook_points import HookSet

__all__ = ["Outbound", "OutboundHooks"]


class OutboundHooks(Protocol):
    """The hooks of a server, as far as sending calls them."""

    @property
    def outbound(self) -> HookSet:
        """The hooks of what is sent."""
        ...


class Outbound(Protocol):
    """A server as its senders see it. Read at each message: hooks may be added later."""

    @property
    def hooks(self) -> OutboundHooks:
        """The hooks around messages."""
        ...

    @property
    def outbound_middleware(self) -> Sequence[Middleware]:
        """The middleware around what is sent, outermost first."""
        ...

    @property
    def extensions(self) -> Extensions:
        """The protocol extensions that are offered."""
        ...
