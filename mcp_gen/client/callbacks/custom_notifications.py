"""Registers handlers of notifications that servers send beside the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select
from mcp_gen.session.messages.custom_methods import check_name, notification_row
from mcp_wire.hook_machinery import NoticePoint

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.session.duplex.client_parts import ClientParts

__all__ = ["CustomNotifications", "NotificationHandler"]

N = TypeVar("N")

NotificationHandler: TypeAlias = "Callable[[ClientSession, N], Awaitable[None] | None]"
"""Handler of a notification, sync or async: takes the session and the params."""


class CustomNotifications:
    """Registry of notifications of servers beside the protocol.

    Args:
        parts: Parts that the connections of the client share; the method rows are kept there.
        changed: Called after a notification was added.
    """

    def __init__(self, parts: ClientParts, changed: Callable[[], None]) -> None:
        self._parts = parts
        self._changed = changed

    def notification(
        self, name: str, params: type[N], revisions: Sequence[str]
    ) -> Callable[[NotificationHandler[N]], NotificationHandler[N]]:
        """Return the decorator of a notification handler; see `Client.notification`."""
        check_name(name)
        known = self._parts.notifications
        if name in known:
            raise UsageError(f"notification {name!r} has a handler already; do both in one")
        rows = dict.fromkeys(select(revisions), notification_row(name, params, "server_to_client"))

        def add(handler: NotificationHandler[N]) -> NotificationHandler[N]:
            known[name] = lambda profile: rows.get(profile.revision)
            self._changed()
            return NoticePoint[N](self._parts.hooks, name).add(handler)

        return add
