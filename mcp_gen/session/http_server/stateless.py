"""Revisions with a handshake, served without sessions: each POST stands alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.connection import NotificationReceived
from mcp_gen.core.errors import InvalidParams, McpError, MethodNotFound, ProtocolError
from mcp_gen.core.revisions import find_revision
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.kernel.limits import OpenRequests
from mcp_gen.session.messages.channel import channel_of
from mcp_gen.session.peer.session import RequestOrigin

if TYPE_CHECKING:
    from mcp_gen.core.envelope import Envelope
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.notifications import NotificationReceiver

__all__ = ["StatelessExchange"]

C = TypeVar("C")


class StatelessExchange(Generic[C]):
    """Answers one POST of a client that is not known, and that can be asked nothing.

    Its revision is the one that the version header names. A client that hangs up has cancelled
    nothing: its request goes on, in the task of its POST.
    """

    def __init__(self, kernel: Kernel[C], notices: NotificationReceiver) -> None:
        self._kernel = kernel
        self._notices = notices
        self._open = OpenRequests.counted_by(kernel.limits)
        profiles = [mcp_wire.profile(revision) for revision in kernel.handshakes]
        self._headers = tuple(
            {p.version_header.lower().encode(): None for p in profiles if p.version_header}
        )
        assumed = [p.revision for p in profiles if p.assumed_without_version_header]
        self._assumed = (assumed or list(kernel.handshakes))[-1:]

    async def answer(
        self, binding: RevisionBinding[C], frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer:
        """Answer a message. Nothing is raised but the cancellation of the current task."""
        if frame.method is UNSET:
            return Answer(202)
        handshake = binding.profile.handshake
        shakes_hands = handshake is not None and frame.method == handshake.name
        if not shakes_hands:
            binding = self._kernel.binding(self._revision(headers))
        outlet = channel_of(reply, asyncio.current_task())
        caller = RequestOrigin(binding.profile, outlet, headers=headers)
        caller.principal = reply.principal
        # Whether there has been a handshake is not known: one that comes is answered.
        caller.ready = not shakes_hands
        if frame.id is UNSET or frame.id is None:
            noticed = NotificationReceived(frame.method, frame.params)

            def context(profile: Any) -> C:
                return self._kernel.context(None, caller, None)

            self._notices.receive(noticed, binding.profile, context)
            return Answer(202)
        try:
            call = self._kernel.prepare(binding, frame.id, frame.method, frame.params, caller)
            counted = None if call.route.method is binding.profile.ping else self._open
            if counted is not None:
                counted.enter(reply.principal)
        except (McpError, ProtocolError) as error:
            status = 400
            if isinstance(error, MethodNotFound):
                status = binding.profile.unknown_method_status
            elif isinstance(error, InvalidParams) and caller.ready:
                status = 200
            return Answer(status, envelope.failure(frame.id, envelope.error_object(error)))
        try:
            return Answer(200, await self._kernel.run(call))
        finally:
            if counted is not None:
                counted.leave(reply.principal)

    def _revision(self, headers: Headers) -> str:
        for name in self._headers:
            stated = headers.raw.get(name)
            if stated is not None:
                found = find_revision(stated.decode("latin-1").strip(), self._kernel.handshakes)
                if found is not None:
                    return found
        return self._assumed[0]
