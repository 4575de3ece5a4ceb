"""Reconnects a session whose server went away; names the requests that are retried then.

Also what connecting gets of a session, so that it can lead it to another connection.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.core.errors import McpGenError, SessionLost
from mcp_wire.callers import ServerCaller

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
"""The requests that change nothing: they may be made again, whatever became of the first."""


class SessionControl(NamedTuple):
    """Methods by which a session is connected; programs that have only the session lack them."""

    bind: Callable[..., None]
    """Uses another connection from now on."""
    begin: Callable[[], Awaitable[None]]
    """Does what is done on a connection that has just been opened."""
    session_recreated: Callable[[Any], Awaitable[None]]
    """Goes on with a new session of the server; gets the server's opening answer."""


class Recovery:
    """The current connection of a session, and the way to another once it was lost."""

    link: ClientConnection

    def __init__(self) -> None:
        self.connect_again: Callable[[], Awaitable[Any]] | None = None
        """Opens a connection and binds the session to it; None if nothing can."""
        self.closed = False
        """True once the program has closed the session: it stays so."""
        self._restarting = asyncio.Lock()

    async def reconnect(self) -> None:
        """Connect anew if the connection was lost.

        Raises:
            SessionLost: it cannot be.
        """
        if self.link.is_lost:
            await self.restart(self.link)

    async def restart(self, lost: ClientConnection) -> None:
        """Go on with a server that was started anew; whoever comes first starts it.

        Raises:
            SessionLost: it cannot be.
        """
        async with self._restarting:
            if self.link is not lost:
                return
            if self.connect_again is None or self.closed or lost.is_closed:
                raise lost.lost_error()
            try:
                await self.connect_again()
            except McpGenError as error:
                why = lost.lost_error()
                raise SessionLost(f"{why}; starting it anew failed: {error}") from error
