"""Passing calls on: what a server needs of a client's session to offer what its server has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable
    from contextlib import AbstractAsyncContextManager

    from msgspec import Raw

    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Relay", "RelayListener", "RelayRequestHandler", "RemoteSession", "relay_of"]


class RelayRequestHandler(Protocol):
    """The caller for whom a request is passed on, to whom its server may have questions."""

    @property
    def client(self) -> Hashable:
        """Who that is: equal where it is certain that it is the same client."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether the request is one in which the caller can be asked at all."""
        ...

    def capabilities(self, revision: str) -> dict[str, Any]:
        """What the caller can be asked, as ClientCapabilities of a revision in plain JSON."""
        ...

    def log_level(self) -> str | None:
        """How severe log messages must be for the caller to hear of them; None: of none."""
        ...

    async def request(self, role: str, params: Any, elicitation_id: str | None = None) -> Any:
        """The caller's answer to a question; `role` is its place on a Profile.

        Params, None where there are none, and the result are of the newest types. `elicitation_id`
        is what the server calls a page, where it has a name for it.

        Raises:
            McpError: the caller said no, or cannot be asked.
        """
        ...

    def log(self, level: Any, data: Any, logger: str | None) -> None:
        """Pass on a log message."""
        ...


class RelayListener(Protocol):
    """Whoever wants to hear what happens in a session."""

    def on_notification(self, news: str, params: Any) -> None:
        """A notification came; `news` is its place on a Profile."""
        ...

    def session_recreated(self) -> None:
        """The session goes on with a server that knows nothing of what was before."""
        ...


class Relay(Protocol):
    """The way through a session for calls that others make."""

    @property
    def profile(self) -> Profile:
        """What the session speaks, until `ready` has been awaited again."""
        ...

    @property
    def name(self) -> str:
        """What the server calls itself."""
        ...

    @property
    def capabilities(self) -> Any:
        """What the server has declared: ServerCapabilities of the session's revision."""
        ...

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended, and was not opened anew."""
        ...

    @property
    def passes_on(self) -> bool:
        """Whether what the server asks goes to whoever made the call."""
        ...

    async def ready(self) -> None:
        """Connect anew where the connection was lost.

        Raises:
            TransportError, SessionLost, McpGenError: there is no connection to be had.
        """
        ...

    async def request(
        self,
        method: Method[Any, Any],
        params: Any,
        *,
        asker: RelayRequestHandler | None = None,
        progress: OnProgress | None = None,
        again: bool = False,
        timeout_s: float | None = None,
    ) -> Raw:
        """Send a request for somebody, and return its result undecoded.

        `again` says that it may be made once more if the server went away meanwhile.

        Raises:
            McpError: the server answered with an error.
            RequestTimeout, SessionLost: it did not, or went away.
        """
        ...

    def watch(
        self, *uris: str, lists: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Hear of changes of resources, or of all lists that the server has."""
        ...

    def add(self, listener: RelayListener) -> None:
        """Tell somebody what happens, as long as there is anybody else who holds it."""
        ...

    def discard(self, listener: RelayListener) -> None:
        """The end of `add`."""
        ...


class RemoteSession(Protocol):
    """A session that a server can mount: what `Client.connect` gives is one."""

    def __mcp_relay__(self) -> Relay:
        """Return the way through the session."""
        ...


def relay_of(session: RemoteSession) -> Relay:
    """Return the way through a session, the same each time."""
    return session.__mcp_relay__()
