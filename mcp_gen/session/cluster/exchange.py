"""HTTP endpoint of one node: any request of a session may arrive here."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.cluster.session import ClusteredSession
from mcp_gen.session.duplex.server import GRACE_S
from mcp_gen.session.http_server.exchange import HttpExchange
from mcp_gen.session.http_server.persistence import SessionPersistence
from mcp_gen.session.http_server.refusals import busy
from mcp_gen.session.http_server.sessions import key_thumbprint_of
from mcp_gen.session.kernel.errors import STORE_DOWN
from mcp_gen.session.messages.gather import wait_or_cancel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.core.stores.sessions import StoredSession
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.cluster.node import ClusterNode
    from mcp_gen.session.http_server.per_request import HeaderParams
    from mcp_gen.session.http_server.session import HttpSession
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["ClusteredExchange"]

C = TypeVar("C")

_log = logging.getLogger("mcp_gen.server")

RETRY_S = 1
"""Seconds after which a client may try again while the cluster is down."""


class ClusteredExchange(HttpExchange[C]):
    """HTTP endpoint of one node of a cluster; see `HttpExchange`.

    Requests of sessions are refused with 503 while the cluster cannot be reached. Those of
    revisions without sessions go on.

    Args:
        kernel: Server that answers the requests.
        node: This node.
        header_params: Returns the tool arguments that HTTP headers repeat.
    """

    def __init__(
        self, kernel: Kernel[C], node: ClusterNode, *, header_params: HeaderParams | None = None
    ) -> None:
        super().__init__(kernel, limits=node.limits, header_params=header_params)
        self._node = node
        self._finds_sessions = True
        self._keeper = SessionPersistence(node.cluster.sessions)
        self._loading: dict[str, asyncio.Future[bool]] = {}
        """Sessions that a request is opening here, by id; False if others have to try as well."""

    # --- the three HTTP methods ---

    def _store_down(self, error: StoreDown, id: RequestId | None) -> Answer:
        return _unavailable(error, id)

    async def listen(self, headers: Headers, reply: Reply) -> Answer | None:
        """Answer a GET; see `HttpExchange.listen`."""
        try:
            return await super().listen(headers, reply)
        except StoreDown as error:
            if reply.streaming:
                # No message of the stream: the client comes back, and hears of the store then.
                _log.debug("a stream ends: %s", error)
                return None
            return _unavailable(error)

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """Answer a DELETE: end the session at all nodes; its requests are still answered."""
        try:
            return await super().end_session(headers, reply)
        except StoreDown as error:
            return _unavailable(error)

    async def _end(self, session: HttpSession) -> None:
        await self._node.end_everywhere(session.id)
        session.end(goes_on=True)

    async def aclose(self) -> None:
        """End the copies of sessions at this node; the sessions go on at others."""
        await self.drain()
        copies = list(self._node.copies.values())

        def sending() -> list[asyncio.Future[Any]]:
            return [task for copy in copies for task in (*copy.requests(), *copy.streams.sending())]

        await wait_or_cancel(sending, GRACE_S)
        for copy in copies:
            copy.end(goes_on=True)
        await super().aclose()

    # --- sessions ---

    async def _find_stored(self, headers: Headers, reply: Reply) -> None:
        """Open the session that the headers name here, or look if it has changed.

        Raises:
            StoreDown: The cluster cannot be reached, or this node is about to end.
        """
        id = self._named_session(headers)
        if not id:
            return
        node, is_settled = self._node, False
        while not is_settled:
            if not node.cluster.is_up:
                raise StoreDown("the sessions cannot be reached now; try again")
            copy = node.copies.get(id)
            if copy is not None:
                if not copy.is_fresh():
                    await copy.refresh()
                return
            opening = self._loading.get(id)
            if opening is None:
                await self._open(id, reply)
                return
            is_settled = await asyncio.shield(opening)

    async def _open(self, id: str, reply: Reply) -> None:
        """Open a session of the store here, for all requests that wait for it."""
        future = self._loading[id] = asyncio.get_running_loop().create_future()
        is_settled = False
        try:
            is_settled = await self._open_copy(id, reply)
        finally:
            del self._loading[id]
            future.set_result(is_settled)

    async def _open_copy(self, id: str, reply: Reply) -> bool:
        """Open a session of the store here; do nothing if it is not there, or another client's.

        Returns:
            False if that says nothing about the requests of other clients.
        """
        node = self._node
        node.opening[id] = False
        try:
            stored = await node.cluster.sessions.load(id)
            if stored is None:
                return True
            if not _belongs_to(stored, reply):
                return False
            if time.time() - stored.began_at >= node.limits.lifetime_s:
                await node.end_everywhere(id)
                return True
            if self._closing:
                raise StoreDown("the server is about to end; try again")
            move = await node.cluster.sessions.enter(id, node.id)
            if move is None:
                return True
            place = self._sessions.take_place()
            if place is None:
                raise StoreDown("this node has too many sessions; try again")
            try:
                made = await self._new_session(stored.principal, place, id)
                if isinstance(made, ClusteredSession):
                    made.open_copy(stored, move)
            finally:
                self._sessions.give_back(place)
        finally:
            changed = node.opening.pop(id)
        copy = node.copies.get(id)
        if changed and copy is not None:
            await copy.refresh()
        return True

    async def _new_session(
        self, principal: str | None, place: object, id: str | None = None
    ) -> HttpSession:
        opened: Callable[[HttpSession], None] = partial(self._on_opened, place)
        return ClusteredSession(
            self._kernel, self._node, self._keeper, principal, opened, self._on_ended, id
        )

    async def _begin_session(
        self, place: object, profile: Profile, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        if not self._node.cluster.is_up:
            raise StoreDown("no session can begin now; try again")
        return await super()._begin_session(place, profile, frame, headers, reply)

    async def _answer_handshake(
        self, session: HttpSession, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        answer = await super()._answer_handshake(session, frame, headers, reply)
        if isinstance(session, ClusteredSession):
            if session.refusal is not None:
                session.end(goes_on=True)
                id = frame.id if isinstance(frame.id, int | str) else None
                return answer and busy(session.refusal.message, id)
            session.activate()
        return answer

    def _on_opened(self, place: object, session: HttpSession) -> None:
        if isinstance(session, ClusteredSession):
            self._node.copies[session.id] = session
        super()._on_opened(place, session)

    def _on_ended(self, session: HttpSession) -> None:
        if isinstance(session, ClusteredSession):
            self._node.copies.pop(session.id, None)
            self._node.unsaved.discard(session)
        super()._on_ended(session)

    def _forget_events(self, session: HttpSession) -> None:
        """Do nothing: the events go with the session."""


def _belongs_to(stored: StoredSession, reply: Reply) -> bool:
    """Return True if the sender of a request may use a session."""
    key = stored.key_thumbprint
    return stored.principal == reply.principal and key in (None, key_thumbprint_of(reply))


def _unavailable(error: StoreDown, id: RequestId | None = None) -> Answer:
    # Not its text, which names the store.
    _log.debug("a request was not answered: %s", error)
    return busy(STORE_DOWN, id, RETRY_S)
