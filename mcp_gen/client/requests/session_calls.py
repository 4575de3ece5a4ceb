"""Protocols of what the parts of a session need from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence

    from msgspec import Struct

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import McpError, UrlElicitation
    from mcp_wire import latest
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ClientSessionView", "SessionCalls", "UrlElicitationHandler"]

P = TypeVar("P")
R = TypeVar("R")


class UrlElicitationHandler(Protocol):
    """Runs URL elicitations."""

    async def run_url_elicitation(self, session: Any, page: UrlElicitation) -> latest.ElicitResult:
        """Return the user's answer; `cancel` if the client has no handler."""
        ...


class ClientSessionView(Protocol):
    """Public calls and attributes of a session that its parts use."""

    default_timeout_s: float
    profile: Profile

    @property
    def revision(self) -> str:
        """Negotiated revision."""
        ...

    @property
    def meta(self) -> dict[str, Any] | None:
        """Keys of `_meta` in every request."""
        ...

    opening: Any
    """The server's InitializeResult or DiscoverResult, of the negotiated revision."""

    @property
    def is_lost(self) -> bool:
        """True if the connection was lost and not reopened."""
        ...

    def tools(self) -> AsyncIterator[latest.Tool]:
        """Yield all tools of the server."""
        ...

    async def subscribe(self, uri: str) -> Any:
        """Send `resources/subscribe`."""
        ...

    async def unsubscribe(self, uri: str) -> Any:
        """Send `resources/unsubscribe`."""
        ...

    async def listen(
        self,
        wanted: latest.SubscriptionFilter,
        opened: Callable[[RequestId], None],
        also: Sequence[Struct] = (),
    ) -> None:
        """Send `subscriptions/listen` and wait for its end; `opened` gets the request id."""
        ...

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request of an extension."""
        ...

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of an extension."""
        ...


class SessionCalls(Protocol):
    """Requests that the parts of a session send, hidden from programs."""

    @property
    def session(self) -> ClientSessionView:
        """The session."""
        ...

    async def send_once(self, call: Callable[[Any], Awaitable[R]]) -> R:
        """Send a request that changes state; it is not retried. See `send_with_retry`."""
        ...

    async def send_with_retry(self, call: Callable[[Any], Awaitable[R]]) -> R:
        """Send a read-only request; retry it after a reconnect if the connection was lost.

        `call` is called with the generated calls of the negotiated revision, with its own types.
        """
        ...

    async def start_call(
        self,
        fields: dict[str, Any],
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> tuple[Any, bool]:
        """Call a tool; return the first answer, and True if it is a task."""
        ...

    async def complete_url_elicitation(self, error: McpError) -> None:
        """Run the URL elicitations that an error requires; raise any other error."""
        ...

    async def answer_requests(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Return the client's answers to the input requests of a task, by key."""
        ...

    def tool_result(self, content: Any) -> Any:
        """Return a tool result in the types of the session, from plain JSON."""
        ...

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the connection ends."""
        ...
