"""Session (a client as its server sees it) and RequestOrigin (the sender of a request)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import CLIENT, Extensions, declared, owner_of
from mcp_gen.core.loose_json import read_as
from mcp_gen.core.peer_limits import text_bytes
from mcp_gen.core.transport.authorizing import UNVERIFIED
from mcp_gen.session.messages.custom_methods import as_params, check_name, notification_row
from mcp_gen.session.messages.outbound import Outbound
from mcp_gen.session.messages.sender import RequestSender, RevisionAdapter, SendingLayer
from mcp_gen.session.peer.log_levels import as_json, at_most, is_enabled, level_name
from mcp_wire import latest
from mcp_wire.peer_calls import ClientCaller

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from mcp_gen.core.peer_limits import PeerLimits
    from mcp_gen.core.transport.authorizing import Admission
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

P = TypeVar("P")

__all__ = [
    "RequestOrigin",
    "Session",
    "SessionClient",
    "SessionHost",
    "SubscribedUris",
    "client_at",
    "sender_for",
]


class SessionHost(Outbound, Protocol):
    """A server, as its sessions use it."""

    @property
    def sessions(self) -> set[Session]:
        """Open sessions."""
        ...

    @property
    def loops(self) -> set[asyncio.AbstractEventLoop]:
        """Event loops that have clients to notify of changes."""
        ...

    @property
    def on_connection_end(self) -> list[Callable[[Channel], None]]:
        """Functions called with a channel before it ends."""
        ...

    @property
    def peer_limits(self) -> PeerLimits:
        """Limits on what one client can cause."""
        ...

    @property
    def max_log_bytes(self) -> int | None:
        """Most bytes of the data of one log message; None for no limit."""
        ...

    @property
    def declared_capabilities(self) -> Callable[[], frozenset[str]]:
        """Function that returns the capabilities declared to clients."""
        ...

    def offers(self, capability: str) -> bool:
        """Return True if the capability is declared to clients."""
        ...


class SubscribedUris(set[str]):
    """URIs of the resources that a session has subscribed to, and the bytes that they take."""

    def __init__(self) -> None:
        super().__init__()
        self.size_bytes = 0
        """Bytes of all URIs."""

    def add(self, uri: str) -> None:
        """Add a URI."""
        if uri not in self:
            self.size_bytes += text_bytes(uri)
            super().add(uri)

    def update(self, *uris: Iterable[str]) -> None:
        """Add URIs."""
        for some in uris:
            for uri in some:
                self.add(uri)

    def discard(self, uri: object) -> None:
        """Remove a URI, if it is there."""
        if isinstance(uri, str) and uri in self:
            self.size_bytes -= text_bytes(uri)
            super().discard(uri)


class Session(ABC):
    """One client's session: a stdio or socket connection, or the scope of a session id over HTTP.

    At revisions without a handshake a connection has at most one session. It knows nothing of the
    client there: `profile`, `client_info` and `client_capabilities` are None.
    """

    loop: asyncio.AbstractEventLoop
    """Event loop that the session runs in."""

    def __init__(self) -> None:
        self.origin: RequestOrigin | None = None
        """Origin of the session's requests; None before the handshake."""
        self.log_level: str | None = None
        """Least severe log level that the client wants; None until it sets one."""
        self.declared: frozenset[str] = frozenset()
        """Capabilities declared when the session began; both sides keep to them."""
        self.initialized = False
        """True once the client has sent `notifications/initialized`."""
        self.unsaved = False
        """True if the session differs from its copy in the session store."""
        self._when_initialized: dict[Hashable, Callable[[], None]] = {}
        self.roots: tuple[Any, ...] | None = None
        """Cached roots of the client; None if they are not known or have changed."""
        self.roots_changes: int = 0
        """Number of changes to the roots, to detect one during a `roots/list` request."""

    def handle_notification(self, profile: Profile, method: str) -> None:
        """Update the session for a notification of the client.

        Handles `notifications/initialized` and `notifications/roots/list_changed`.

        Args:
            profile: Profile of the negotiated revision.
            method: Name of the notification; others are ignored.
        """
        if profile.initialized and method == profile.initialized.name:
            self.begin()
        elif profile.roots_changed and method == profile.roots_changed.name:
            self.forget_roots()

    def forget_roots(self) -> None:
        """Drop the cached roots: the client has changed them."""
        self.roots = None
        self.roots_changes += 1

    @cached_property
    def id(self) -> str:
        """Random identifier of the session: 128 bits, URL-safe."""
        # Loaded with the first id: `secrets` takes a while to import.
        import secrets

        return secrets.token_urlsafe(16)

    @cached_property
    def state(self) -> dict[str, Any]:
        """Data that the program keeps for this session; dropped when the session ends."""
        return {}

    @cached_property
    def subscribed(self) -> SubscribedUris:
        """URIs of the resources that this session has subscribed to (`resources/subscribe`)."""
        return SubscribedUris()

    @cached_property
    def elicitations(self) -> dict[str, None]:
        """Ids of the URL elicitations sent in this session, oldest first."""
        return {}

    @cached_property
    def local(self) -> dict[Any, Any]:
        """Registries of features for this session alone, by list; see `Server.for_session`."""
        return {}

    @property
    @abstractmethod
    def profile(self) -> Profile | None:
        """Profile of the negotiated revision; None before the handshake or without one."""

    @property
    def revision(self) -> str | None:
        """The negotiated revision; None before the handshake or without one."""
        return self.origin.profile.revision if self.origin else None

    @property
    def client_info(self) -> latest.Implementation | None:
        """Unverified name and version that the client sent in the handshake; None before.

        Of the newest type, whatever revision was negotiated.
        """
        return self.origin.info_read() if self.origin else None

    @property
    def client_capabilities(self) -> latest.ClientCapabilities | None:
        """Capabilities that the client declared in the handshake; None before.

        Of the newest type, whatever revision was negotiated. `extra` has those that it does not
        name.
        """
        return self.origin.capabilities_read() if self.origin else None

    @property
    @abstractmethod
    def host(self) -> SessionHost:
        """Server of this session."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """Channel for messages that belong to no request."""

    @property
    @abstractmethod
    def reachable(self) -> bool:
        """True if a message sent on `channel` now reaches the client at once."""

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Complete the handshake: set the revision, the client and the declared capabilities.

        Args:
            caller: Origin of the handshake request; becomes the session's.
            profile: Profile of the negotiated revision.
        """
        caller.profile = profile
        caller.ready = True
        if caller.admission is not None:
            # Tokens belong to requests: a session keeps none, and has no scope by itself.
            caller.admission = UNVERIFIED
        self.origin = caller
        self.unsaved = True
        self.declared = self.host.declared_capabilities()
        self.host.loops.add(self.loop)

    def begin(self) -> None:
        """Mark the session as initialized and run what waited for that."""
        if self.origin is None:
            return
        self.initialized = self.unsaved = True
        waiting = list(self._when_initialized.values())
        self._when_initialized.clear()
        for call in waiting:
            call()

    def when_initialized(self, key: Hashable, do: Callable[[], None]) -> None:
        """Call a function now, or once the client has sent `notifications/initialized`.

        Before that, a client should be sent nothing but pings and log messages.

        Args:
            key: Key of the call: a later call with the same key replaces one that waits.
            do: Function to call.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
        """
        if self.initialized:
            do()
        else:
            self._when_initialized[key] = do

    async def log(
        self, level: latest.LoggingLevel | int, data: Any, *, logger: str | None = None
    ) -> None:
        """Send a log message that belongs to no request (`notifications/message`).

        Nothing is sent if the level is below the one that the client has set, if the server does
        not declare `logging`, or if the revision has no such notification.

        Args:
            level: Severity of the message: a name, a `LogLevel`, or a number of `logging`.
            data: Text, or any value that is serializable to JSON.
            logger: Name of the logger; None sends no name.

        Raises:
            UsageError: there is no such level, the data is not serializable, or there has been no
                handshake. Without a handshake log messages belong to requests: use `Context.log`.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        if self.origin is None:
            raise UsageError("log: no handshake, so nobody to tell but who asks: use Context.log")
        profile = self.origin.profile
        name = level_name(level)
        enabled = is_enabled(profile, self.origin.log_level(None), name)
        if not enabled or not self.host.offers("logging"):
            return
        if profile.log is not None:
            encoded = as_json(data)  # raises here, not in the task that sends it
            limited = at_most(encoded, self.host.max_log_bytes)
            content = data if limited is encoded else limited
            params = profile.log.params(level=name, data=content, logger=logger)
            await sender_for(profile, self.channel, self.host, self).notify(profile.log, params)
            await self.channel.drain()

    def defers(self, topic: bytes, *, is_wanted: bool) -> bool:
        """Return True if this process must not send a change to the session now.

        Another process sends it, or this one once a stream to the client is open.

        Args:
            topic: Name of the change, in a form that processes can exchange.
            is_wanted: False if the client has not subscribed to it, as far as this process knows.
        """
        return False

    @abstractmethod
    def end(self) -> None:
        """End the session: requests in flight get a grace period, then the connection closes."""

    @cached_property
    def client(self) -> SessionClient:
        """Client of the session, for requests and notifications at the negotiated revision.

        Raises:
            UsageError: there has been no handshake. At revisions without one a server sends its
                input requests in its results (multi round-trip requests).
        """
        if self.profile is None:
            raise UsageError("no handshake, no connection to ask over: ask in the result instead")
        capabilities = self.origin.capabilities if self.origin else None
        return client_at(self.profile, self.channel, self.host, self, capabilities)


class RequestOrigin(Struct, eq=False):
    """Sender of a request: its revision, its capabilities, and its session if it has one.

    Args:
        profile: Profile of the request's revision.
        channel: Channel for messages that belong to the request.
        session: Session of the client; None at revisions without sessions.
        capabilities: Client capabilities, as a wire type or as JSON object.
        client_info: Name and version of the client, as a wire type or as JSON object.
        headers: HTTP headers of the request; None on other transports.
        ready: True once requests of the client are admitted.
        agreed: Revision that a handshake in progress will set if all its hooks succeed.
        stated_revision: Revision that the transport names beside the message (HTTP header).
        principal: Stable name of the authenticated client; None without authentication.
        admission: Verified credentials of the request; None on transports that have none.
        required_scopes: Scopes that its token was checked for, and has.
        away_from: Id of the session of a request that is run away from it, by a worker.
    """

    profile: Profile
    channel: Channel
    session: Session | None = None
    capabilities: Any = None
    client_info: Any = None
    headers: Any = None
    ready: bool = False
    agreed: Profile | None = None
    stated_revision: str | None = None
    principal: str | None = None
    admission: Admission | None = None
    required_scopes: frozenset[str] = frozenset()
    away_from: str | None = None
    _read: tuple[Any, latest.ClientCapabilities] | None = None
    """The capabilities, as they came and as the newest type; kept because filters ask often."""

    def capabilities_read(self) -> latest.ClientCapabilities:
        """Return the client capabilities as the newest type; empty before any were declared."""
        read, given = self._read, self.capabilities
        if read is None or read[0] is not given:
            newest = read_as(latest.ClientCapabilities, given)
            self._read = read = given, newest or latest.ClientCapabilities()
        return read[1]

    def info_read(self) -> latest.Implementation | None:
        """Return name and version of the client as the newest type; None if it sent none."""
        return read_as(latest.Implementation, self.client_info)

    def log_level(self, meta: dict[str, Any] | None) -> Any:
        """Return the least severe log level that the client wants; None if it has set none.

        Args:
            meta: `_meta` of the request. From 2026-07-28 on each request sets its own level there;
                before, the session does.
        """
        key = self.profile.log_level_key
        if key is not None:
            return meta.get(key) if meta else None
        return self.session.log_level if self.session else None

    def for_another_request(self) -> RequestOrigin:
        """Return a copy for another request of the same client, without headers.

        Requests that are open at the same time do not share headers.
        """
        same = RequestOrigin(self.profile, self.channel, self.session)
        same.capabilities = self.capabilities
        same.client_info = self.client_info
        same.ready = self.ready
        same.principal = self.principal
        same.admission = self.admission
        same.away_from = self.away_from
        return same


class SessionClient(RevisionAdapter, ClientCaller):
    """Client of a session or of a request, for requests and notifications to it.

    Args:
        profile: Profile of the negotiated revision.
        asking: Sender to the client.
        extensions: Extensions that the server offers; None means no extensions.
        capabilities: Client capabilities, as a wire type or as JSON object.
    """

    def __init__(
        self,
        profile: Profile,
        asking: RequestSender,
        extensions: Extensions | None = None,
        capabilities: Any = None,
    ) -> None:
        requests = import_module(f"{profile.module}.requests")
        super().__init__(profile, requests.ToClient(asking))
        self._sender = asking
        self._capabilities = capabilities
        self._extensions = Extensions() if extensions is None else extensions

    @overload
    async def notify(self, method: Method[P, None], params: P) -> None: ...

    @overload
    async def notify(self, method: str, params: Any = None) -> None: ...

    async def notify(self, method: Any, params: Any = None) -> None:
        """Send a notification beside the protocol: a custom one by its name, or an extension's.

            await ctx.client.notify("acme/moved", {"to": "Oslo"})

        `ToClient(ctx.client)` of the extension's package offers typed calls. A notification of an
        extension is not sent to a client that has not declared it. Clients that do not know a
        custom notification ignore it.

        Args:
            method: Name of the custom notification, or method row of the extension's.
            params: Params of the notification: for a custom one a mapping or a value that msgspec
                encodes as a JSON object, None for none.

        Raises:
            UsageError: the server offers no extension with this notification, a custom one has a
                name of the protocol, or its params are no JSON object.
        """
        if isinstance(method, str):
            check_name(method)
            row = notification_row(method, dict, "server_to_client")
            await self._sender.notify(row, as_params(method, params))
            return
        extension = owner_of(self._extensions, method)
        if declared(extension, self._capabilities, self.profile, CLIENT) is not None:
            await self._sender.notify(method, params)


def client_at(
    profile: Profile,
    outlet: Channel,
    sender: Outbound,
    context: Any,
    capabilities: Any,
    outer: Sequence[SendingLayer] = (),
) -> SessionClient:
    """Return the client at the end of a channel.

    Args:
        profile: Profile of the negotiated revision.
        outlet: Channel to the client.
        sender: Server whose hooks, middleware and extensions apply.
        context: Context that hooks and middleware get.
        capabilities: Client capabilities, as a wire type or as JSON object.
        outer: Hooks and middleware of the servers that the sender is mounted in.
    """
    # Newer types read older results: those that a program gets are the same at every revision.
    newest = mcp_wire.profile(mcp_wire.LATEST)
    made = sender_for(newest, outlet, sender, context, outer)
    return SessionClient(profile, made, sender.extensions, capabilities)


def sender_for(
    profile: Profile,
    outlet: Channel,
    sender: Outbound,
    context: Any,
    outer: Sequence[SendingLayer] = (),
) -> RequestSender:
    """Return a sender to the client at the end of a channel, through hooks and middleware.

    Args:
        profile: Profile of the negotiated revision.
        outlet: Channel to the client.
        sender: Server whose hooks and middleware apply.
        context: Context that hooks and middleware get.
        outer: Hooks and middleware of the servers that the sender is mounted in.
    """
    hooks, middleware = sender.hooks.outbound, sender.outbound_middleware
    return RequestSender(
        outlet, profile, hooks, context, middleware=middleware, outer=outer, peer="client"
    )
