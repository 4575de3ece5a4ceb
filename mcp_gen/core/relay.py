"""Protocols for relaying calls through a client session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable
    from contextlib import AbstractAsyncContextManager

    from msgspec import Raw

    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = [
    "Relay",
    "RelayListener",
    "RelayRequestHandler",
    "RelayWatch",
    "RemoteSession",
    "relay_of",
]


class RelayRequestHandler(Protocol):
    """The caller of a relayed request. It answers the input requests of the remote server."""

    @property
    def client(self) -> Hashable:
        """Identity of the client: equal only if it is certainly the same client."""
        ...

    @property
    def is_ready(self) -> bool:
        """True if input requests can be sent to the caller during this request."""
        ...

    def capabilities(self, revision: str) -> dict[str, Any]:
        """Return the caller's input capabilities.

        Args:
            revision: The revision of the returned ClientCapabilities.

        Returns:
            ClientCapabilities of that revision, as plain JSON.
        """
        ...

    def log_level(self) -> str | None:
        """Return the lowest log level that the caller receives; None if it receives none."""
        ...

    async def request(self, role: str, params: Any, elicitation_id: str | None = None) -> Any:
        """Send an input request to the caller and return its result.

        Args:
            role: The kind of the request, named as its attribute of Profile.
            params: Params of the newest types; None where there are none.
            elicitation_id: The remote server's id of a URL elicitation; None if it has none.

        Returns:
            The result, of the newest types.

        Raises:
            McpError: The caller refused, or cannot be asked.
        """
        ...

    def log(self, level: Any, data: Any, logger: str | None) -> None:
        """Send a log message to the caller (`notifications/message`).

        Args:
            level: The log level.
            data: The JSON data of the message.
            logger: Name of the logger; None for none.
        """
        ...


class RelayListener(Protocol):
    """Receives the notifications of a relayed session."""

    def on_notification(self, news: str, params: Any) -> None:
        """Handle a notification.

        Args:
            news: The notification, named as its attribute of Profile.
            params: Its params.
        """
        ...

    def session_recreated(self) -> None:
        """Handle a reconnect: the server has lost all state of the earlier session."""
        ...


class RelayWatch(Protocol):
    """Changes of a relayed session, as they come."""

    honoured: Any
    """The filter that the server has accepted: a SubscriptionFilter."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the changes."""
        ...


class Relay(Protocol):
    """Sends requests of other callers through one client session."""

    @property
    def profile(self) -> Profile:
        """Profile of the session's revision. It may change when `ready` reconnects."""
        ...

    @property
    def name(self) -> str:
        """Name of the remote server."""
        ...

    @property
    def info(self) -> Any:
        """Name and version of the server, an Implementation; None if it did not send them."""
        ...

    @property
    def capabilities(self) -> Any:
        """Capabilities that the server declared: ServerCapabilities of the session's revision."""
        ...

    @property
    def is_lost(self) -> bool:
        """True if the connection has ended and was not reopened."""
        ...

    @property
    def relays_input_requests(self) -> bool:
        """True if input requests of the server are relayed to the caller."""
        ...

    async def ready(self) -> None:
        """Reconnect if the connection was lost.

        Raises:
            TransportError: The server cannot be reached.
            SessionLost: The connection ended during the handshake.
            McpGenError: The handshake failed.
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
        """Send a request on behalf of a caller and return its undecoded result.

        Args:
            method: The method.
            params: Params of the session's revision.
            asker: The caller, who answers input requests; None if nobody can.
            progress: Called with each progress notification; None for no progress.
            again: True if the request may be sent a second time after a lost connection.
            timeout_s: Seconds to wait for the response; None for the session's maximum.

        Raises:
            McpError: The server answered with an error.
            RequestTimeout: No response came in time.
            SessionLost: The connection ended.
        """
        ...

    def watch(self, *uris: str, lists: bool = False) -> AbstractAsyncContextManager[RelayWatch]:
        """Return a context manager that yields changes of resources and lists.

        Of several resources, those that the server refuses are left out.

        Args:
            *uris: URIs of the resources to watch.
            lists: True to watch all lists that the server has.
        """
        ...

    def add(self, listener: RelayListener) -> None:
        """Add a listener. The relay holds it weakly."""
        ...

    def discard(self, listener: RelayListener) -> None:
        """Remove a listener that `add` added."""
        ...


class RemoteSession(Protocol):
    """A session that a server can mount, such as the one that `Client.connect` gives."""

    def __mcp_relay__(self) -> Relay:
        """Return the relay of the session."""
        ...


def relay_of(session: RemoteSession) -> Relay:
    """Return the relay of a session; the same object each time."""
    return session.__mcp_relay__()
