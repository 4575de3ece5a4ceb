"""Continues a stream of requests that another node runs, or has run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_gen.core import envelope
from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import ProtocolError
from mcp_gen.core.stores.failures import NodeGone, NodeSilent, StoreDown
from mcp_gen.core.transport import sse
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import StreamStatus
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.cluster.link import ClusterLink

__all__ = ["NODE_LOST", "Following", "node_lost"]

LOOKS_EVERY_S = 0.5
"""Seconds after which the store is asked, whatever the node says that runs the stream."""


NODE_LOST = ErrorObject(
    ProtocolError.code,
    "the node that handled the request is gone; it may have taken effect",
    {"reason": "node_lost"},
)
"""Error of a request whose node has lost its lease."""


def node_lost(status: StreamStatus) -> bytes:
    """Return the last message of a stream whose node is gone: an error for each request."""
    failures = [envelope.failure(id, NODE_LOST) for id in status.request_ids]
    return failures[0] if len(failures) == 1 else b"[" + b",".join(failures) + b"]"


class Following:
    """One response that carries the stream of another node.

    Args:
        node: This node.
        session_id: The session id.
        name: Name of the stream.
        reply: HTTP response that carries it.
    """

    def __init__(self, node: ClusterLink, session_id: str, name: str, reply: Reply) -> None:
        self._node = node
        self._session_id = session_id
        self._name = name
        self._reply = reply
        self._more = asyncio.Event()
        self._is_asked = False
        self._is_due = True
        """True if the node that runs the stream is to be asked, for the first time or again."""

    def wake(self) -> None:
        """Look for more messages: the node that runs the stream has stored one."""
        self._more.set()

    def end(self) -> None:
        """End the response: the client continues the stream elsewhere."""
        self._reply.end()
        self._more.set()

    async def run(self, number: int) -> None:
        """Send what follows a message, until the stream ends or the client disconnects.

        Raises:
            StoreDown: the store fails before anything was sent.
        """
        reply = self._reply
        sending: asyncio.Task[None] | None = None
        try:
            while not reply.over:
                self._more.clear()
                try:
                    is_over, number = await self._send_more(number)
                except StoreDown:
                    if sending is None:
                        raise
                    is_over = False
                if sending is None:
                    reply.begin()
                    sending = asyncio.get_running_loop().create_task(reply.attach_stream())
                if is_over:
                    break
                await self._wait(sending)
            reply.end()
            if sending is not None:
                await sending
        finally:
            if sending is not None:
                sending.cancel()

    async def _wait(self, sending: asyncio.Task[None]) -> None:
        """Wait for more messages, for a moment, or for the end of the response."""
        more = asyncio.get_running_loop().create_task(self._more.wait())
        try:
            done, _ = await asyncio.wait(
                [more, sending], timeout=LOOKS_EVERY_S, return_when=asyncio.FIRST_COMPLETED
            )
            self._is_due = not done
        finally:
            more.cancel()

    async def _send_more(self, number: int) -> tuple[bool, int]:
        """Send what is stored; return True if it was all, and the number of the last message."""
        events = self._node.cluster.events
        # Before the messages: at the end of the stream they are complete.
        status = await events.status(self._session_id, self._name)
        if status is not None and not status.is_over and not await self._is_run(status):
            await self._end_lost(status)
            status = await events.status(self._session_id, self._name)
        for event in await events.after(self._session_id, self._name, number) or ():
            number = event.number
            self._reply.send(sse.event(event.message, f"{self._name}-{number}"))
        return status is None or status.is_over, number

    async def _is_run(self, status: StreamStatus) -> bool:
        """Return False if the node of a stream is gone, or does not know the stream."""
        node = self._node
        if status.node == node.id:
            return False
        if not self._is_due:
            return True
        try:
            about = About(self._session_id, self._name, number=int(self._is_asked))
            answer = await node.ask(status.node, bodies.FOLLOW, about)
        except NodeGone:
            return False
        except NodeSilent:
            return True
        if answer == bodies.YES:
            self._is_asked, self._is_due = True, False
            return True
        if answer == bodies.GONE:
            self.end()
            return True
        # It may have just ended.
        now = await node.cluster.events.status(self._session_id, self._name)
        return now is not None and now.is_over

    async def _end_lost(self, status: StreamStatus) -> None:
        stored = self._node.cluster.events.end(
            self._session_id, self._name, status.last + 1, node_lost(status)
        )
        if stored is not None:
            await stored
