"""Limits on what one client of a server can cause: work per message, and what is kept for it."""

from __future__ import annotations

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["PeerLimits"]


class PeerLimits(Struct, frozen=True, kw_only=True):
    """Limits on what one client of a server can cause.

    Args:
        max_values: Keys and items in one message; arrays and objects count with all they hold.
        max_listen_uris: Resource URIs in one `subscriptions/listen`.
        max_listen_tasks: Task ids in one `subscriptions/listen`.
        max_listens: `subscriptions/listen` requests of one client that may be open.
        max_subscriptions: Resources that one session may be subscribed to.

    Raises:
        UsageError: A limit is below 1.
    """

    max_values: int = 20_000
    max_listen_uris: int = 1_000
    max_listen_tasks: int = 1_000
    max_listens: int = 100
    max_subscriptions: int = 10_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit: int = getattr(self, name)
            if limit < 1:
                raise UsageError(f"{name}={limit}: expected at least 1")
