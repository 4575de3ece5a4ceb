"""Revisions with a handshake, served without sessions: each POST stands alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.envelope import NoResponse
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    ProtocolError,
)
from mcp_gen.core.protocol_state import NotificationReceived
from mcp_gen.core.revisions import find_revision
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.kernel.errors import token_expired
from mcp_gen.session.kernel.limits import OpenRequests
from mcp_gen.session.messages.channel import NullChannel, ResponseChannel
from mcp_gen.session.peer.session import RequestOrigin

if TYPE_CHECKING:
    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.notifications import NotificationReceiver

__all__ = ["StatelessExchange"]

C = TypeVar("C")


class StatelessExchange(Generic[C]):
    """Answers POSTs of clients that are not known and that no request can be sent to.

    The version header names the revision; without it a default is assumed. A disconnect cancels
    nothing: the request continues in the task of its POST.

    Args:
        kernel: Server that answers the requests.
        notices: Receiver of notifications.
    """

    def __init__(self, kernel: Kernel[C], notices: NotificationReceiver) -> None:
        self._kernel = kernel
        self._notifications = notices
        self._open = OpenRequests.for_limits(kernel.limits)
        self.tasks: set[asyncio.Task[Any]] = set()
        """Tasks of the POSTs whose requests are being answered."""
        profiles = [mcp_wire.profile(revision) for revision in kernel.handshakes]
        self._headers = tuple(
            {p.version_header.lower().encode(): None for p in profiles if p.version_header}
        )
        assumed = [
            profile.revision for profile in profiles if profile.assumed_without_version_header
        ]
        self._assumed = (assumed or list(kernel.handshakes))[-1:]

    async def answer(
        self, binding: RevisionBinding[C], frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer:
        """Answer one message. Nothing is raised but the cancellation of the current task.

        Args:
            binding: Server bound to the revision of a handshake; other messages use the header's.
            frame: The message.
            headers: HTTP headers of the POST.
            reply: HTTP response, for notifications that are sent before the answer.
        """
        if frame.method is UNSET:
            return Answer(202)
        handshake = binding.profile.handshake
        is_handshake = handshake is not None and frame.method == handshake.name
        if not is_handshake:
            binding = self._kernel.bindings[self._revision(headers)]
        task = asyncio.current_task()
        assert task is not None
        channel = ResponseChannel(task, reply=reply) if reply.can_stream else NullChannel(task)
        origin = RequestOrigin(binding.profile, channel, headers=headers)
        origin.principal, origin.admission = reply.principal, reply.admission
        # Earlier handshakes are not known, so each handshake is answered.
        origin.ready = not is_handshake
        if frame.id is UNSET or frame.id is None:
            notification = NotificationReceived(frame.method, frame.params)

            def context(profile: Any) -> C:
                return self._kernel.context(None, origin, None)

            self._notifications.receive(notification, binding.profile, context)
            return Answer(202)
        try:
            call = self._kernel.prepare(binding, frame.id, frame.method, frame.params, origin)
            counter = None if call.route.method is binding.profile.ping else self._open
            if counter is not None:
                counter.enter(reply.principal)
        except (McpError, ProtocolError) as error:
            asked = frame.id, frame.method, frame.params, origin
            self._kernel.report_refusal(self._notifications, *asked, error)
            status = 400
            if isinstance(error, MethodNotFound):
                status = binding.profile.unknown_method_status
            elif isinstance(error, InvalidParams) and origin.ready:
                status = 200
            return Answer(status, envelope.failure(frame.id, envelope.error_object(error)))
        self.tasks.add(task)
        reply.on_expiry = task.cancel
        try:
            body = await self._kernel.run(call)
            if call.missing_scopes and not reply.streaming:
                return Answer(reply.forbid(call.missing_scopes), body)
            return Answer(200, body)
        except asyncio.CancelledError:
            if reply.over or not reply.expired:
                raise
            task.uncancel()
            return Answer(200, token_expired(call.id))
        finally:
            reply.on_expiry = None
            self.tasks.discard(task)
            if counter is not None:
                counter.leave(reply.principal)

    async def answer_batch(
        self, message: bytes, max_values: int, headers: Headers, reply: Reply
    ) -> Answer:
        """Answer the entries of a batch one after the other, in one array.

        Args:
            message: The batch.
            max_values: The most keys and items of it; see `envelope.excess`.
            headers: HTTP headers of the POST.
            reply: HTTP response, for notifications that are sent before the answers.

        Raises:
            InvalidRequest: the revision has no batches, or this is none that can be answered.
            ParseError: it is no JSON.

        Source: https://modelcontextprotocol.io/specification/2025-03-26/basic/transports
        """
        binding = self._kernel.bindings[self._revision(headers)]
        if not binding.profile.allows_batches:
            raise InvalidRequest("expected one message, got an array")
        entries = envelope.read_batch(message)
        refused = envelope.complexity(message, max_values)
        if refused is not None:
            raise InvalidRequest(refused)
        answers = [
            body
            for entry in entries
            if (body := await self._entry_answer(binding, entry, headers, reply))
        ]
        return Answer(200, b"[" + b",".join(answers) + b"]") if answers else Answer(202)

    async def _entry_answer(
        self, binding: RevisionBinding[C], entry: Raw, headers: Headers, reply: Reply
    ) -> bytes | None:
        """Return the answer to one entry of a batch; None if it gets none."""
        handshake = binding.profile.handshake
        id: RequestId | None = None
        try:
            frame = envelope.read(entry)
            id = frame.id if isinstance(frame.id, int | str) else None
            if handshake is not None and frame.method == handshake.name:
                raise InvalidRequest(f"{handshake.name} stands alone, in no batch")
        except NoResponse:
            return None
        except ProtocolError as error:
            return envelope.failure(id, envelope.error_object(error))
        return (await self.answer(binding, frame, headers, reply)).body

    def _revision(self, headers: Headers) -> str:
        for name in self._headers:
            stated = headers.raw.get(name)
            if stated is not None:
                found = find_revision(stated.decode("latin-1").strip(), self._kernel.handshakes)
                if found is not None:
                    return found
        return self._assumed[0]
