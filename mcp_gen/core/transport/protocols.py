"""The transport Protocols: Duplex, Exchange, Receiver, Reply, Posts.

A duplex transport moves messages in both directions. An exchange answers one HTTP request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from mcp_gen.core.transport.headers import Headers, Lines

if TYPE_CHECKING:
    from mcp_gen.core.errors import McpGenError
    from mcp_gen.core.transport.authorizing import Admission
    from mcp_wire.profile import Profile

__all__ = [
    "Answer",
    "Duplex",
    "Exchange",
    "Lines",
    "Paced",
    "Pausable",
    "PausableTimeout",
    "PostedMessage",
    "PostedRequest",
    "Posts",
    "Receiver",
    "Reply",
]


class Receiver(Protocol):
    """Receives the messages of a duplex transport. Called on the event loop, never re-entered."""

    def receive(self, message: bytes) -> None:
        """Handle one whole message.

        Args:
            message: One JSON text in UTF-8.
        """
        ...

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Handle a message larger than the transport's limit. The message has been skipped.

        Args:
            limit_bytes: The transport's limit, in bytes.
            beginning: The first bytes of the message; empty in a second call.
            end: The last bytes of the message; empty as long as they have not arrived.

        Returns:
            True to be called again with the end, if it has not arrived.
        """
        ...

    def closed(self, error: BaseException | None) -> None:
        """Handle the end of the connection. No message follows.

        Args:
            error: The cause; None after an orderly end.
        """
        ...


class Duplex(Protocol):
    """Transport of whole messages in both directions: a pipe, a process, a socket, memory."""

    async def start(self, receiver: Receiver) -> None:
        """Start delivering messages.

        Args:
            receiver: Receives the messages.

        Raises:
            TransportError: The connection cannot be opened.
        """
        ...

    def send(self, message: bytes) -> None:
        """Queue one message. Messages queued in one turn of the event loop are sent together.

        Args:
            message: One JSON text in UTF-8.
        """
        ...

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent (back-pressure)."""
        ...

    async def aclose(self) -> None:
        """Send the queued messages, then close. A second call does nothing."""
        ...


@runtime_checkable
class Paced(Protocol):
    """Extra methods of a transport whose peer may read slower than messages are sent."""

    @property
    def full(self) -> bool:
        """True if the peer reads so slowly that notifications should wait."""
        ...

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the peer has read enough for more to be sent.

        Args:
            act: The function. One that is already waiting is replaced.
        """
        ...


@runtime_checkable
class Pausable(Protocol):
    """Extra methods of a transport that can stop reading, so that its peer has to wait."""

    def pause_reading(self) -> None:
        """Receive no more messages; those that have been read are still delivered."""
        ...

    def resume_reading(self) -> None:
        """Receive messages again."""
        ...


@runtime_checkable
class PostedMessage(Protocol):
    """Extra attributes of a duplex transport whose messages are HTTP requests of their own."""

    @property
    def headers(self) -> Headers | None:
        """Headers of the message that is being delivered; None if there are none."""
        ...

    @property
    def principal(self) -> str | None:
        """The authenticated user of the client; None where users are not authenticated."""
        ...

    @property
    def admission(self) -> Admission:
        """Verified credentials of the message that is being delivered."""
        ...


class PausableTimeout(Protocol):
    """A time limit that does not run while credentials are asked for: users take their time."""

    def pause(self) -> None:
        """Stop the time."""
        ...

    def resume(self) -> None:
        """Let the time run again, from its beginning if it stood still for long."""
        ...


class PostedRequest(PausableTimeout, Protocol):
    """The sender of a posted request, who waits for its response."""

    @property
    def finished(self) -> bool:
        """True if the response has been received, or the sender no longer waits for it."""
        ...

    def fail(self, error: McpGenError) -> None:
        """End the request with an error: no response will come."""
        ...


@runtime_checkable
class Posts(Protocol):
    """Transport to an HTTP server: each request is a POST of its own, and can fail by itself.

    All received messages, responses too, are delivered to the receiver.
    """

    async def start(self, receiver: Receiver) -> None:
        """Start delivering messages.

        Args:
            receiver: Receives the messages.

        Raises:
            TransportError: The connection cannot be opened.
        """
        ...

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """Send all further messages at this revision.

        Args:
            profile: Profile of the revision.
            agreed: True once the revision is negotiated. False while it is being offered; an
                earlier session is dropped then.
        """
        ...

    async def listen(self) -> None:
        """Open the stream of server-to-client notifications, at revisions that have one.

        Returns when the stream is open, or after a short time if it is slow to open.
        """
        ...

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Send a request.

        Args:
            message: The JSON text of the request.
            headers: Headers of this request, beside the transport's own.
            asked: The sender, notified if the request fails.

        Returns:
            A function that cancels the POST.
        """
        ...

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Queue a notification. Notifications of one client arrive in order.

        Args:
            message: The JSON text of the notification.
            headers: Headers of this notification, beside the transport's own.
        """
        ...

    def send(self, message: bytes) -> None:
        """Send a response, or another message that may overtake earlier ones.

        Args:
            message: One JSON text in UTF-8.
        """
        ...

    async def drain(self) -> None:
        """Wait until all queued notifications have arrived."""
        ...

    async def aclose(self) -> None:
        """Send the queued messages, then close. A second call does nothing."""
        ...


class Answer(Struct, frozen=True):
    """A whole HTTP response.

    Args:
        status: The HTTP status.
        body: The body.
        headers: Headers beside the content type.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Reply(Protocol):
    """The response to one HTTP request: a JSON body, or an SSE stream that ends with the response.

    It becomes a stream if something must be sent before the response. Events are encoded by
    `core.transport.sse`.
    """

    @property
    def can_stream(self) -> bool:
        """True if the client accepts an SSE stream."""
        ...

    @property
    def only_stream(self) -> bool:
        """True if the client accepts only an SSE stream."""
        ...

    @property
    def streaming(self) -> bool:
        """True if the stream has begun. Its status is 200, whatever the response will be."""
        ...

    @property
    def dropped(self) -> bool:
        """True if the client has disconnected."""
        ...

    @property
    def over(self) -> bool:
        """True if nothing more can be sent: the client has disconnected, or `end` was called."""
        ...

    @property
    def full(self) -> bool:
        """True if the client reads so slowly that nothing more should be queued for it."""
        ...

    @property
    def principal(self) -> str | None:
        """The authenticated user of the client; None where users are not authenticated."""
        ...

    @property
    def admission(self) -> Admission:
        """Verified credentials of the request."""
        ...

    @property
    def expired(self) -> bool:
        """True if the response was ended because the token of the request has expired."""
        ...

    on_expiry: Callable[[], object] | None
    """Ends the stream once the token of the request has expired; None: `end`, or a cancellation."""

    headers: Mapping[str, str] | None
    """Additional headers of the stream; None for none."""

    attached: bool
    """True if `attach_stream` sends the events, or will if there are any; else a task does."""

    opening: Callable[[], bytes] | None
    """Returns the first events of the stream; called when the stream begins. None for no events."""

    def send(self, events: bytes) -> None:
        """Queue events. The first ones begin the stream.

        Events queued in one turn of the event loop are sent together. Does nothing if the client
        has disconnected.

        Args:
            events: Encoded events.
        """
        ...

    def begin(self) -> None:
        """Begin the stream before there is an event to send."""
        ...

    def announce(self) -> None:
        """Begin the stream, but send nothing yet: an event will follow within a moment."""
        ...

    def end(self) -> None:
        """End the stream after the queued events, and let `attach_stream` return."""
        ...

    def close_stream(self) -> None:
        """Disconnect a client that reads too slowly."""
        ...

    def forbid(self, missing: Collection[str]) -> int:
        """Add the challenge for scopes that the token of the request lacks.

        Args:
            missing: The scopes that are needed and not granted.

        Returns:
            The HTTP status of the response.
        """
        ...

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent (back-pressure)."""
        ...

    async def attach_stream(self) -> None:
        """Send queued events until `end` is called or the client disconnects.

        For requests whose handler runs in a task of its own. The reply never cancels this call.
        """
        ...

    def cancel_on_disconnect(self) -> Any:
        """Cancel the current task when the client disconnects; return that task."""
        ...

    def keep_open(self) -> None:
        """Mark the request as open-ended: only a disconnect or the server's shutdown ends it."""
        ...


class Exchange(Protocol):
    """One HTTP endpoint without its HTTP server: HTTP requests in, responses out.

    Methods return None if the reply has become a stream and the stream holds the whole response.
    """

    @property
    def http_methods(self) -> tuple[str, ...]:
        """The HTTP methods that this endpoint supports."""
        ...

    def answer(self, message: bytes, headers: Headers, reply: Reply) -> Awaitable[Answer | None]:
        """Return an awaitable that handles one POST.

        Args:
            message: The body of the POST.
            headers: Its headers.
            reply: Its reply, for events before the response.

        Returns:
            An awaitable of the HTTP response; of None if the reply has become a stream.
        """
        ...

    async def listen(self, headers: Headers, reply: Reply) -> Answer | None:
        """Handle a GET: send server-to-client notifications until the client disconnects.

        Args:
            headers: Headers of the GET.
            reply: Its reply, which becomes the stream.

        Returns:
            The HTTP response if no stream was opened, else None.
        """
        ...

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """Handle a DELETE: end the session that the headers name.

        Args:
            headers: Headers of the DELETE.
            reply: Its reply.

        Returns:
            The HTTP response.
        """
        ...

    async def drain(self) -> None:
        """End all open-ended streams. Requests in progress continue."""
        ...

    async def aclose(self) -> None:
        """End all sessions and streams. Requests in progress get a short grace period."""
        ...
