"""Hands messages of no request to the node that has a stream for them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Protocol

from mcp_gen.core.stores.failures import BusDown, NodeGone, NodeSilent, StoreDown
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About
from mcp_gen.session.http_server.streams import MAX_PENDING

if TYPE_CHECKING:
    from mcp_gen.session.cluster.claims import Claims
    from mcp_gen.session.cluster.link import ClusterLink

__all__ = ["MessageForwarder", "StreamsHere"]

TRIES = 3
"""Times that a node that does not answer is asked to send a message."""


class StreamsHere(Protocol):
    """Streams of a session at this node."""

    claims: Claims

    @property
    def has_listeners_here(self) -> bool:
        """True if a stream for messages of no request is open at this node."""
        ...

    def send_here(self, message: bytes) -> None:
        """Send a message on one stream of this node, or queue it for the next one here."""
        ...


class MessageForwarder:
    """Queue of the messages of one session that another node sends.

    They wait while no node is known to have a stream. A node that does not answer is asked again
    with the same number, so that it sends a message once.

    Args:
        link: Link to the other nodes.
        session_id: The session id.
        here: Streams of the session at this node.
    """

    def __init__(self, link: ClusterLink, session_id: str, here: StreamsHere) -> None:
        self._link = link
        self._session_id = session_id
        self._here = here
        self._queue: deque[bytes] = deque(maxlen=MAX_PENDING)
        self._running: asyncio.Task[None] | None = None
        self._sent = 0
        self.is_seeking = False
        """True if nodes with a stream have been asked to claim the messages."""

    def send(self, message: bytes) -> None:
        """Queue a message."""
        self._queue.append(message)
        self.run_soon()

    def run_soon(self) -> None:
        """Send what is queued, if there is a node for it."""
        if self._running is None and self._queue:
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        tries, here = 0, self._here
        try:
            while self._queue:
                owner = here.claims.owner
                if owner is None:
                    await self._seek()
                    if here.claims.owner is None:
                        return
                    continue
                message = self._queue[0]
                if owner == self._link.id:
                    if not here.has_listeners_here:
                        return
                    self._queue.popleft()
                    here.send_here(message)
                    continue
                answer = await self._ask(owner, message)
                tries = tries + 1 if answer is None else 0
                if answer == bodies.YES:
                    self._sent += 1
                    if self._queue and self._queue[0] is message:
                        self._queue.popleft()
                elif answer is not None or tries == TRIES:
                    tries = 0
                    here.claims.drop(owner)
        finally:
            self._running = None

    async def _ask(self, owner: str, message: bytes) -> bytes | None:
        """Ask another node to send a message; None if it may be asked again."""
        body = About(self._session_id, number=self._sent + 1, message=bodies.raw(message))
        try:
            return await self._link.ask(owner, bodies.SEND, body)
        except NodeGone:
            return bodies.NO
        except NodeSilent:
            return None
        except BusDown:
            await self._link.wait_up()
            return None

    async def _seek(self) -> None:
        if not self.is_seeking:
            self.is_seeking = True
            try:
                await self._link.publish(bodies.SEEKS, About(self._session_id))
            except StoreDown:
                self.is_seeking = False
