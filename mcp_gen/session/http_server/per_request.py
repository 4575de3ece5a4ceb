"""POSTs at revisions without sessions: a disconnect cancels the request."""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.core.loose_json import read_members
from mcp_gen.core.protocol_state import NotificationReceived
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.http_server.header_check import HeaderCheck
from mcp_gen.session.http_server.refusals import ENDS, ENDS_S, busy
from mcp_gen.session.kernel.errors import cut_off, token_expired
from mcp_gen.session.kernel.limits import OpenRequests
from mcp_gen.session.messages.channel import NULL_CHANNEL, NullChannel, ResponseChannel
from mcp_gen.session.peer.session import RequestOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.notifications import NotificationReceiver
    from mcp_wire.profile import Profile

__all__ = ["HeaderParams", "PerRequestExchange"]

C = TypeVar("C")


class MarkedTool(Protocol):
    """Tool, as its header check needs it."""

    @cached_property
    def header_params(self) -> Mapping[bytes, tuple[str, ...]]:
        """Paths of the arguments that headers repeat, by header suffix."""
        ...


class ToolEntry(Protocol):
    """Registered tool."""

    @property
    def item(self) -> MarkedTool:
        """The tool."""
        ...


class HeaderParams(Protocol):
    """Tool arguments that headers repeat."""

    @property
    def tools(self) -> Mapping[str, ToolEntry]:
        """The server's own tools by name."""
        ...

    def __call__(self, ctx: Any, params: Any) -> Mapping[bytes, tuple[str, ...]] | None:
        """Return the paths of arguments that headers repeat, by header suffix.

        Args:
            ctx: Context of the request.
            params: Params of a `tools/call`; the tool may be one that is mounted.
        """
        ...


class PerRequestExchange(Generic[C]):
    """Answers POSTs at revisions that each request names itself.

    Args:
        kernel: Server that answers the requests.
        notices: Receiver of notifications.
        header_params: Returns the tool arguments that HTTP headers repeat; None checks none.
    """

    def __init__(
        self, kernel: Kernel[C], notices: NotificationReceiver, header_params: HeaderParams | None
    ) -> None:
        self._kernel = kernel
        self._notifications = notices
        self._header_params = header_params
        self._checks: dict[str, HeaderCheck] = {}
        self._open = OpenRequests.for_limits(kernel.limits)
        self._open_streams: set[NullChannel | ResponseChannel] = set()
        """Channels of `subscriptions/listen` requests: open until the client disconnects."""
        self.closing = False
        """True while the server ends: requests that would stay open are refused."""

    async def answer(
        self,
        binding: RevisionBinding[C],
        frame: Envelope,
        headers: Headers,
        reply: Reply,
        stated_revision: str | None,
    ) -> Answer:
        """Answer one message. Nothing is raised but a cancellation after the client disconnected.

        A request whose task is cancelled for another reason is answered with an error.

        Args:
            binding: Server bound to the revision of the message.
            frame: The message.
            headers: HTTP headers of the POST.
            reply: HTTP response, for notifications that are sent before the answer.
            stated_revision: Revision that the headers name; None leaves it to the header check.
        """
        id = frame.id
        if frame.method is UNSET:
            error = InvalidRequest("expected a request: nobody has been asked anything here")
            return _refused(400, None, error)
        if id is UNSET or id is None:
            return self._accept_notification(
                binding, NotificationReceived(frame.method, frame.params), headers, reply
            )
        profile, principal = binding.profile, reply.principal
        task: asyncio.Task[Any] | None = (
            reply.cancel_on_disconnect() if profile.stream_drop_cancels else None
        )
        channel = ResponseChannel(task, reply=reply) if reply.can_stream else NullChannel(task)
        origin = RequestOrigin(profile, channel, headers=headers, principal=principal)
        origin.admission = reply.admission
        origin.stated_revision = stated_revision
        try:
            call = self._prepare(binding, id, frame.method, frame, origin)
            stays_open = call.route.method is profile.listen
            if stays_open and self.closing:
                return busy(ENDS, id, ENDS_S)
            counter = None if stays_open else self._open
            if counter is not None:
                counter.enter(principal)
        except (McpError, ProtocolError) as error:
            asked = id, frame.method, frame.params, origin
            self._kernel.report_refusal(self._notifications, *asked, error)
            # An error after admission is a normal response: status 200 by default.
            fallback = 200 if origin.ready else 400
            status = profile.http_status.get(error.code, fallback)
            return _refused(status, id, error)
        if stays_open:
            reply.keep_open()
            channel.keep_open = True
            reply.on_expiry = partial(self._end_open_stream, channel)
            self._open_streams.add(channel)
            headers.forget()
            del frame, origin
        try:
            # All requests of this turn are read before one is handled: it finds warm caches.
            await asyncio.sleep(0)
            body = await self._kernel.run(call)
        except asyncio.CancelledError:
            if reply.over:
                raise
            # The client is still there, so it is the server that ends, or the token.
            body = token_expired(id) if reply.expired else cut_off(id)
            call.error_code = ProtocolError.code
        finally:
            if stays_open:
                self._open_streams.discard(channel)
            if counter is not None:
                counter.leave(principal)
        if call.error_code is None:
            return Answer(200, body)
        if call.missing_scopes and not reply.streaming:
            return Answer(reply.forbid(call.missing_scopes), body)
        if call.may_retry and not reply.streaming:
            return Answer(503, body, {"Retry-After": "1"})
        return Answer(profile.http_status.get(call.error_code, 200), body)

    def end_open_streams(self) -> None:
        """End the requests that have no end of their own with a response."""
        for channel in list(self._open_streams):
            self._end_open_stream(channel)

    def _end_open_stream(self, channel: NullChannel | ResponseChannel) -> None:
        for end in self._kernel.on_connection_end:
            end(channel)

    def _accept_notification(
        self,
        binding: RevisionBinding[C],
        notification: NotificationReceived,
        headers: Headers,
        reply: Reply,
    ) -> Answer:
        """Accept a notification (202) before its hooks run."""

        def context(profile: Any) -> C:
            origin = RequestOrigin(
                profile, NULL_CHANNEL, headers=headers, principal=reply.principal
            )
            origin.admission = reply.admission
            return self._kernel.context(None, origin, None)

        self._notifications.receive(notification, binding.profile, context)
        return Answer(202)

    def _prepare(
        self,
        binding: RevisionBinding[C],
        id: RequestId,
        method: str,
        frame: Envelope,
        origin: RequestOrigin,
    ) -> Call[C]:
        """Check the headers and prepare the request.

        The protocol defines the order of these checks.

        Raises:
            McpError, ProtocolError: the error to answer the request with.
        """
        check = self._checks.get(binding.profile.revision) or self._check(binding.profile)
        headers: Headers = origin.headers
        field = binding.name_params.get(method)
        if origin.stated_revision is None:
            origin.stated_revision = check.revision(headers)
        try:
            call = self._kernel.prepare(binding, id, method, frame.params, origin)
        except (McpError, ProtocolError):
            if origin.ready:
                # The request is admitted: header errors come before those of its method or params.
                names = () if field is None else (field[1],)
                check.message(headers, method, read_members(frame.params, names), field)
            raise
        check.message(headers, method, call.params, field)
        marked = self._header_params
        if (
            marked is not None
            and check.param_prefix
            and call.route.method is binding.profile.call_tool
        ):
            tool = marked.tools.get(call.params.name)
            # Few tools have such arguments.
            if tool is None or tool.item.header_params:
                paths = marked(call.ctx, call.params)
                if paths:
                    check.arguments(headers, paths, call.params.arguments)
        return call

    def _check(self, profile: Profile) -> HeaderCheck:
        made = self._checks[profile.revision] = HeaderCheck(profile, self._kernel.per_request)
        return made


def _refused(status: int, id: RequestId | None, error: McpError | ProtocolError) -> Answer:
    return Answer(status, envelope.failure(id, envelope.error_object(error)))
