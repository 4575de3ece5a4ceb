"""The two shapes of a transport, as types: a duplex moves messages, an exchange answers one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from mcp_gen.core.errors import McpGenError
    from mcp_gen.core.transport.headers import Headers
    from mcp_wire.profile import Profile

__all__ = [
    "Answer",
    "Duplex",
    "Exchange",
    "Lines",
    "PostedMessage",
    "PostedRequest",
    "Posts",
    "Receiver",
    "Reply",
]


class Receiver(Protocol):
    """What a duplex transport hands its messages to. Called on the event loop, never re-entered."""

    def receive(self, message: bytes) -> None:
        """One whole message came."""
        ...

    def oversized(self, limit_bytes: int) -> None:
        """A message was larger than the transport's limit, and has been skipped."""
        ...

    def closed(self, error: BaseException | None) -> None:
        """No message will come any more; `error` says why, None after an orderly end."""
        ...


class Duplex(Protocol):
    """Whole messages both ways: a pipe, a process, a socket, memory."""

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver. Raises TransportError where it cannot."""
        ...

    def send(self, message: bytes) -> None:
        """Queue one message; what is queued in one turn of the loop goes out together."""
        ...

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent."""
        ...

    async def aclose(self) -> None:
        """Send what is queued, then end. Calling it twice does nothing."""
        ...


@runtime_checkable
class PostedMessage(Protocol):
    """What a duplex has beside, if each message is an HTTP request of its own."""

    @property
    def headers(self) -> Headers | None:
        """Those of the message that is being delivered."""
        ...

    @property
    def principal(self) -> str | None:
        """Who the transport says the client is; None where nobody is told apart."""
        ...


Lines: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers: names in lower case, and values."""


class PostedRequest(Protocol):
    """A request of a client's that is posted: whoever waits for its answer."""

    @property
    def finished(self) -> bool:
        """Whether the receiver has got the answer, or nobody waits for it any more."""
        ...

    def fail(self, error: McpGenError) -> None:
        """No answer will come; `error` says why."""
        ...


@runtime_checkable
class Posts(Protocol):
    """A duplex to an HTTP server: each request is a POST of its own, and can fail by itself.

    What comes, answers too, goes to the receiver.
    """

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver. Raises TransportError where it cannot."""
        ...

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """What is sent from now on is of this revision; it is new to the server until `agreed`.

        A session that there was is left.
        """
        ...

    async def listen(self) -> None:
        """Hear what belongs to no request, where the revision has a stream for that.

        Returns once it is open, or when that takes a while.
        """
        ...

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Send a request; gives what drops it."""
        ...

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Send a notification; those of one client arrive in their order."""
        ...

    def send(self, message: bytes) -> None:
        """Send an answer, or what may overtake others."""
        ...

    async def drain(self) -> None:
        """Wait until what was told has arrived."""
        ...

    async def aclose(self) -> None:
        """Send what is queued, then end. Calling it twice does nothing."""
        ...


class Answer(Struct, frozen=True):
    """An HTTP answer: status, body, and the headers beside its content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Reply(Protocol):
    """What one HTTP request is answered on.

    It is one answer, unless something must be sent before: then it is a stream of events, which
    the answer ends. Events are bytes as in `core.sse`.
    """

    @property
    def can_stream(self) -> bool:
        """Whether the client takes a stream of events."""
        ...

    @property
    def only_stream(self) -> bool:
        """Whether it takes nothing else."""
        ...

    @property
    def streaming(self) -> bool:
        """Whether the stream has begun: it has status 200, whatever the answer will be."""
        ...

    @property
    def dropped(self) -> bool:
        """Whether the client has hung up."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing can be sent any more: the client hung up, or the end was said."""
        ...

    @property
    def full(self) -> bool:
        """Whether the client reads so slowly that no more should be kept for it."""
        ...

    @property
    def principal(self) -> str | None:
        """Who the transport says the client is; None where nobody is told apart."""
        ...

    headers: Mapping[str, str] | None
    """More headers of the stream, where it is to have any."""

    opening: Callable[[], bytes] | None
    """What gives the first events of the stream, called when it begins."""

    def send(self, events: bytes) -> None:
        """Queue events; the first begin the stream. What is queued in one turn goes out together.

        Nothing happens if the client has hung up.
        """
        ...

    def begin(self) -> None:
        """Begin the stream, though there is nothing to send yet."""
        ...

    def end(self) -> None:
        """Say that nothing more will be sent, and let `carry` return."""
        ...

    def close_stream(self) -> None:
        """Do as if the client had hung up: it reads too slowly."""
        ...

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        ...

    async def attach_stream(self) -> None:
        """Send what is queued until `end` is called, or until the client hangs up.

        For requests whose handler runs in a task of its own. It is never cancelled for them.
        """
        ...

    def cancel_on_disconnect(self) -> Any:
        """From now on a client that hangs up cancels the current task, which this gives."""
        ...

    def keep_open(self) -> None:
        """The request is open for as long as its client wants: what ends the server ends it too."""
        ...


class Exchange(Protocol):
    """One HTTP endpoint without its HTTP server: messages in, answers out.

    Where the answer is None, the reply has become a stream that said all there is to say.
    """

    @property
    def http_methods(self) -> tuple[str, ...]:
        """The HTTP methods that have an answer here."""
        ...

    def answer(self, message: bytes, headers: Headers, reply: Reply) -> Awaitable[Answer | None]:
        """Answer one message, once what this gives is awaited."""
        ...

    async def listen(self, headers: Headers, reply: Reply) -> Answer | None:
        """Send what belongs to no request, until the client hangs up."""
        ...

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """End the session that the headers name."""
        ...

    async def drain(self) -> None:
        """End what would go on for ever; what is being answered goes on."""
        ...

    async def aclose(self) -> None:
        """End everything; what is being answered gets a moment."""
        ...
