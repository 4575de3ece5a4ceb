"""POSTs that stand for themselves: no session, and whoever hangs up wants no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.connection import NotificationReceived
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.core.loose_json import read_members
from mcp_gen.core.transport.header_values import REPEATED
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.http_server.header_check import HeaderCheck
from mcp_gen.session.kernel.limits import OpenRequests
from mcp_gen.session.messages.channel import NULL_CHANNEL, NullChannel, ResponseChannel, channel_of
from mcp_gen.session.peer.session import RequestOrigin

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.notifications import NotificationReceiver
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["HeaderParams", "PerRequestExchange"]

C = TypeVar("C")

HeaderParams: TypeAlias = (
    "Callable[[Any, Method[Any, Any], Any], Mapping[bytes, tuple[str, ...]] | None]"
)
"""`(ctx, method, params)`: which arguments headers repeat, by the ends of their names."""


class PerRequestExchange(Generic[C]):
    """Answers one POST at a revision that every request names for itself."""

    def __init__(
        self, kernel: Kernel[C], notices: NotificationReceiver, header_params: HeaderParams | None
    ) -> None:
        self._kernel = kernel
        self._notices = notices
        self._header_params = header_params
        self._checks: dict[str, HeaderCheck] = {}
        self._open = OpenRequests.counted_by(kernel.limits)
        self._lasting: set[NullChannel | ResponseChannel] = set()
        """Those that listen until they hang up."""

    async def answer(
        self, binding: RevisionBinding[C], frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer:
        """Answer a message. Nothing is raised but the cancellation of the current task."""
        id = frame.id
        if frame.method is UNSET:
            error = InvalidRequest("expected a request: nobody has been asked anything here")
            return _refused(400, None, error)
        if id is UNSET or id is None:
            return self._take(
                binding, NotificationReceived(frame.method, frame.params), headers, reply
            )
        profile, principal = binding.profile, reply.principal
        task: asyncio.Task[Any] | None = (
            reply.cancel_on_disconnect() if profile.stream_drop_cancels else None
        )
        outlet = channel_of(reply, task)
        caller = RequestOrigin(profile, outlet, headers=headers, principal=principal)
        try:
            call = self._prepare(binding, id, frame.method, frame, caller)
            lasting = call.route.method is profile.listen
            counted = None if lasting else self._open
            if counted is not None:
                counted.enter(principal)
        except (McpError, ProtocolError) as error:
            # An error of what was admitted is an answer like any other.
            fallback = 200 if caller.ready else 400
            status = profile.http_status.get(error.code, fallback)
            return _refused(status, id, error)
        if lasting:
            reply.keep_open()
            outlet.keep_open = True
            self._lasting.add(outlet)
            headers.forget()
            del frame, caller
        try:
            body = await self._kernel.run(call)
        finally:
            if lasting:
                self._lasting.discard(outlet)
            if counted is not None:
                counted.leave(principal)
        if call.error_code is None:
            return Answer(200, body)
        return Answer(profile.http_status.get(call.error_code, 200), body)

    def end_open_streams(self) -> None:
        """Let what would go on for ever come to an end in good order."""
        for outlet in list(self._lasting):
            for end in self._kernel.on_connection_end:
                end(outlet)

    def _take(
        self,
        binding: RevisionBinding[C],
        noticed: NotificationReceived,
        headers: Headers,
        reply: Reply,
    ) -> Answer:
        """Take a notification: accepted before its hooks run."""

        def context(profile: Any) -> C:
            caller = RequestOrigin(
                profile, NULL_CHANNEL, headers=headers, principal=reply.principal
            )
            return self._kernel.context(None, caller, None)

        self._notices.receive(noticed, binding.profile, context)
        return Answer(202)

    def _prepare(
        self,
        binding: RevisionBinding[C],
        id: RequestId,
        method: str,
        frame: Envelope,
        caller: RequestOrigin,
    ) -> Call[C]:
        """The order of these checks is part of the protocol.

        Raises:
            McpError, ProtocolError: what the client is to be told.
        """
        check = self._checks.get(binding.profile.revision) or self._check(binding.profile)
        headers: Headers = caller.headers
        caller.stated_revision = check.revision(headers)
        try:
            call = self._kernel.prepare(binding, id, method, frame.params, caller)
        except (McpError, ProtocolError):
            if caller.ready:
                # It was admitted: headers come before whatever is wrong with its method or params.
                field = binding.name_params.get(method)
                wires = REPEATED if field is None else (field[1],)
                check.message(headers, method, read_members(frame.params, wires), field)
            raise
        check.message(headers, method, call.params, binding.name_params.get(method))
        if self._header_params is not None and check.param_prefix:
            paths = self._header_params(call.ctx, call.route.method, call.params)
            if paths:
                check.arguments(headers, paths, call.params.arguments)
        return call

    def _check(self, profile: Profile) -> HeaderCheck:
        made = self._checks[profile.revision] = HeaderCheck(profile, self._kernel.per_request)
        return made


def _refused(status: int, id: RequestId | None, error: McpError | ProtocolError) -> Answer:
    return Answer(status, envelope.failure(id, envelope.error_object(error)))
