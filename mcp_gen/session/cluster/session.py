"""One HTTP session as one node of a cluster has it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from mcp_gen.core import envelope
from mcp_gen.core.envelope import Envelope
from mcp_gen.core.errors import ProtocolError
from mcp_gen.core.peer_values import shortened
from mcp_gen.core.stores.failures import NodeGone, NodeSilent, StoreDown
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About
from mcp_gen.session.cluster.shared_session import SharedSession
from mcp_gen.session.cluster.streams import NUMBERS_PER_MOVE

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId, TooComplex
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.http_server.first_steps import FirstSteps

__all__ = ["ClusteredSession"]

_log = logging.getLogger("mcp_gen.server")


class ClusteredSession(SharedSession):
    """Copy of a session at one node; see `HttpSession`.

    Responses and notifications of the client that concern another node are passed on to it.
    """

    async def answer(
        self,
        message: Envelope | bytes,
        headers: Headers,
        reply: Reply,
        steps: FirstSteps | None = None,
    ) -> Answer | None:
        """Answer the messages of one POST; see `HttpSession.answer`."""
        self.checked_s = self.loop.time()
        if isinstance(message, bytes):
            message = await self._pass_on_batch(message)
            if not message:
                return Answer(202)
        elif message.method is UNSET:
            refused = await self._pass_on_response(message)
            return refused if refused is not None else Answer(202)
        elif message.id is UNSET:
            await self._pass_on_notification(message)
        return await super().answer(message, headers, reply, steps)

    async def _pass_on_batch(self, message: bytes) -> bytes:
        """Pass responses and notifications to the nodes that they are for; return the rest."""
        left: list[bytes] = []
        for entry in envelope.read_batch(message):
            try:
                frame = envelope.read(entry)
            except ProtocolError:
                left.append(bytes(entry))
                continue
            if frame.method is UNSET:
                # A batch has one status: what cannot be passed on is not told.
                await self._pass_on_response(frame)
                continue
            if frame.id is UNSET:
                await self._pass_on_notification(frame)
            left.append(bytes(entry))
        return b"[" + b",".join(left) + b"]" if left else b""

    async def _pass_on_response(self, frame: Envelope) -> Answer | None:
        """Pass a response to the node that waits for it; return the refusal if none takes it.

        Raises:
            StoreDown: It is not known if the node has taken it.
        """
        message = _response_bytes(frame)
        try:
            taken = await self._hand_over(frame.id, message)
        except NodeGone:
            taken = False
        except NodeSilent as error:
            raise StoreDown("the node that waits for this response does not answer") from error
        if taken:
            return None
        text = f"an answer to no open request: id {shortened(repr(frame.id))}"
        return Answer(400, envelope.failure(None, envelope.ErrorObject(-32600, text)))

    async def _hand_over(self, id: Any, message: bytes) -> bool:
        """Give a message about a request to the client to the node that has sent the request.

        Raises:
            BusError: The node cannot be asked.
            StoreDown: The store cannot be reached.
        """
        if not isinstance(id, int) or isinstance(id, bool) or id < NUMBERS_PER_MOVE:
            return False
        move = id // NUMBERS_PER_MOVE
        if move == self.moves:
            return self.take_message(message)
        node = await self._node.cluster.sessions.node_of(self.id, move)
        if node is None:
            return False
        about = About(self.id, message=Raw(message))
        return await self._node.ask(node, bodies.RESPONSE, about) == bodies.YES

    async def _pass_on_notification(self, frame: Envelope) -> None:
        """Tell other nodes of a notification that may concern what they do."""
        profile = self.profile
        if profile is None:
            return
        method = frame.method
        row = profile.progress
        if row is not None and method == row.name:
            try:
                token = row.decode_params(frame.params).progress_token
            except msgspec.DecodeError:
                return
            if not isinstance(token, int) or token // NUMBERS_PER_MOVE != self.moves:
                try:
                    await self._hand_over(token, _notification_bytes(frame))
                except (NodeGone, NodeSilent):
                    _log.debug("progress for a node that does not answer")
            return
        for row in (profile.cancelled, profile.roots_changed):
            if row is not None and method == row.name:
                message = _notification_bytes(frame)
                await self._node.publish(bodies.NOTICE, About(self.id, message=Raw(message)))

    def take_message(self, message: bytes) -> bool:
        """Handle a response to a request of this node, or progress of it.

        Returns:
            False if nothing waits for the response.
        """
        frame = envelope.read(message)
        if frame.method is not UNSET:
            self.take_notice(message)
            return True
        id = frame.id
        if not isinstance(id, int | str) or self._connection.waiter_of(id) is None:
            return False
        self._handle(self._connection.classify(frame))
        return True

    def take_notice(self, message: bytes) -> None:
        """Act on a notification that has arrived at another node; its hooks run there."""
        frame, profile = envelope.read(message), self.profile
        if profile is None:
            return
        acts = ((profile.cancelled, self._cancel), (profile.progress, self._report))
        for row, act in acts:
            if row is not None and frame.method == row.name:
                try:
                    act(row.decode_params(frame.params))
                except msgspec.DecodeError as error:
                    _log.warning("%s: %s", row.name, error)
        if profile.roots_changed is not None and frame.method == profile.roots_changed.name:
            self.forget_roots()

    def refuse_response(self, error: TooComplex) -> None:
        """Fail the request, of whatever node, that a response that is too complex belongs to."""
        id: RequestId | None = error.frame.id if isinstance(error.frame.id, int | str) else None
        if id is None or self._connection.waiter_of(id) is not None:
            super().refuse_response(error)
            return
        message = envelope.failure(id, envelope.error_object(error))
        self._node.run(self._hand_over(id, message))


def _response_bytes(frame: Envelope) -> bytes:
    id: Any = frame.id
    if frame.error:
        encoded, error = msgspec.json.encode(id), bytes(frame.error)
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encoded, error)
    return envelope.response(id, frame.result or None)


def _notification_bytes(frame: Envelope) -> bytes:
    return envelope.notification(str(frame.method), frame.params or UNSET)
