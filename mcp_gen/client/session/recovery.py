"""Reconnects a session whose connection was lost; lists the requests that are then retried.

Also holds the control by which `connecting` moves a session to another connection.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.core.errors import McpGenError, SessionLost
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_gen.session.duplex.client import ClientConnection

__all__ = ["READS", "Recovery", "SessionControl"]

READS = frozenset(
    call.__name__
    for call in (
        ServerCaller.complete,
        ServerCaller.discover,
        ServerCaller.get_prompt,
        ServerCaller.list_prompts,
        ServerCaller.list_resource_templates,
        ServerCaller.list_resources,
        ServerCaller.list_tools,
        ServerCaller.ping,
        ServerCaller.read_resource,
    )
)
"""Read-only requests: safe to retry, whether or not the first attempt arrived."""


class SessionControl(NamedTuple):
    """Control of a session by `connecting`; hidden from programs."""

    bind: Callable[..., None]
    """Switches the session to another connection."""
    begin: Callable[[], Awaitable[None]]
    """Initializes a connection that was just opened."""
    session_recreated: Callable[[Any], Awaitable[None]]
    """Continues with a new session of the server; takes its InitializeResult."""


class Recovery:
    """Current connection of a session, and how to replace it after it was lost."""

    connection: ClientConnection

    def __init__(self) -> None:
        self.connect_again: Callable[[], Awaitable[Any]] | None = None
        """Opens a connection and binds the session to it; None if that is impossible."""
        self.closed = False
        """True once the program has closed the session; it is not reconnected then."""
        self._restarting = asyncio.Lock()

    async def reconnect(self) -> None:
        """Reconnect if the connection was lost.

        Raises:
            SessionLost: There is no way to reconnect, or it failed.
        """
        if self.connection.is_lost:
            await self.restart(self.connection)

    async def restart(self, lost: ClientConnection) -> None:
        """Replace a lost connection; concurrent callers share one attempt.

        Raises:
            SessionLost: There is no way to reconnect, or it failed.
        """
        async with self._restarting:
            if self.connection is not lost:
                return
            if self.connect_again is None or self.closed or lost.is_closed:
                raise lost.lost_error()
            try:
                await self.connect_again()
            except McpGenError as error:
                why = lost.lost_error()
                raise SessionLost(f"{why}; starting it anew failed: {error}") from error
