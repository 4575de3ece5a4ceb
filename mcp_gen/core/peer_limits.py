"""Limits on what one client of a server can cause: work per message, and what is kept for it."""

from __future__ import annotations

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["PeerLimits", "text_bytes"]


class PeerLimits(Struct, frozen=True, kw_only=True):
    """Limits on what one client of a server can cause.

    Args:
        max_values: Keys and items in one message; arrays and objects count with all they hold.
        max_listen_uris: Resource URIs in one `subscriptions/listen`.
        max_listen_tasks: Items of each list that an extension adds to one `subscriptions/listen`,
            such as task ids.
        max_listens: `subscriptions/listen` requests of one client that may be open.
        max_subscriptions: Resources, and items of extensions such as tasks, that one client may be
            subscribed to.
        max_subscription_bytes: Bytes of their URIs and ids.
        anonymous_clients: Over HTTP without sessions, clients without a principal cannot be told
            apart: together they may hold as many listens and subscriptions as this many clients.

        max_declared_bytes: Bytes that a client may declare about itself, capabilities and
            `clientInfo` together: in the handshake, or in `_meta` of a request. For a request that
            stays open to listen, it is the limit of the whole `_meta`.

        max_hook_tasks: Tasks in which hooks and middleware of notifications and `on_error` hooks of
            one client run. Hooks of further messages are left out, with a warning. Over HTTP
            without sessions ten times as many, for all clients together.

        max_nested_calls: Calls of handlers to their own server, one within the other, in one
            request: `ctx.call_tool` and `ctx.read_resource`.

    Raises:
        UsageError: A limit is below 1.
    """

    max_values: int = 50_000
    max_listen_uris: int = 1_000
    max_listen_tasks: int = 1_000
    max_listens: int = 100
    max_subscriptions: int = 10_000
    max_subscription_bytes: int = 1024 * 1024
    anonymous_clients: int = 100
    max_declared_bytes: int = 64 * 1024
    max_hook_tasks: int = 1_000
    max_nested_calls: int = 16

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit: int = getattr(self, name)
            if limit < 1:
                raise UsageError(f"{name}={limit}: expected at least 1")


def text_bytes(text: str) -> int:
    """Return the bytes that a text takes; 4 for each character if one is not ASCII."""
    return len(text) if text.isascii() else 4 * len(text)
