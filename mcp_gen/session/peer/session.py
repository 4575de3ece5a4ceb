"""Session (server side view of a client) and Caller (who sent a request)."""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import CLIENT, Extensions, declared, owner_of
from mcp_gen.session.messages.outbound import Outbound
from mcp_gen.session.messages.sender import RequestSender, RevisionAdapter
from mcp_gen.session.peer.log_levels import as_json, is_enabled
from mcp_wire.callers import ClientCaller

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp_gen.session.messages.channel import Channel
    from mcp_wire import latest
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

P = TypeVar("P")

__all__ = ["RequestOrigin", "Session", "SessionClient", "SessionHost", "client_at", "sender_for"]


class SessionHost(Outbound, Protocol):
    """The server as its sessions see it: what it declares, and where its clients are."""

    @property
    def sessions(self) -> set[Session]:
        """The open sessions."""
        ...

    @property
    def loops(self) -> set[asyncio.AbstractEventLoop]:
        """The event loops with clients that are notified of changes."""
        ...

    @property
    def declared_capabilities(self) -> Callable[[], frozenset[str]]:
        """The capabilities declared to clients."""
        ...

    def offers(self, capability: str) -> bool:
        """Return True if the capability is declared to clients."""
        ...


class Session(ABC):
    """One client's session: a stdio connection, or what a session id names over HTTP.

    At a revision whose requests stand for themselves there is one per connection at most, and it
    knows nothing of the client: what was agreed on is None there.
    """

    loop: asyncio.AbstractEventLoop
    """The event loop that the session began in."""

    def __init__(self) -> None:
        self.caller: RequestOrigin | None = None
        """The client, once it has shaken hands."""
        self.log_level: str | None = None
        """The least severe level that the client wants to hear; None until it says so."""
        self.declared: frozenset[str] = frozenset()
        """What the server had declared when the session began: both sides keep to it."""
        self.initialized = False
        """Whether the client has said, after the handshake, that it is ready."""
        self.unsaved = False
        """Whether something is different now of what a store keeps."""
        self._later: dict[Hashable, Callable[[], None]] = {}
        self.roots: tuple[Any, ...] | None = None
        """The client's roots, while it has not said that they are others."""
        self.roots_changes: int = 0
        """How often it has said so: what was asked before is not what there is after."""

    def handle_notification(self, profile: Profile, method: str) -> None:
        """Take what the client tells about itself: that it is ready, that its roots are others."""
        if profile.initialized and method == profile.initialized.name:
            self.begin()
        elif profile.roots_changed and method == profile.roots_changed.name:
            self.forget_roots()

    def forget_roots(self) -> None:
        """The client's roots are others now."""
        self.roots = None
        self.roots_changes += 1

    @cached_property
    def id(self) -> str:
        """A name for this session that nobody can guess."""
        return secrets.token_urlsafe(16)

    @cached_property
    def state(self) -> dict[str, Any]:
        """What the program keeps for this session; gone when the session ends."""
        return {}

    @cached_property
    def subscribed(self) -> set[str]:
        """The URIs of the resources whose updates this session has asked for."""
        return set()

    @cached_property
    def elicitations(self) -> dict[str, None]:
        """The ids of the pages that this session's user was sent to, oldest first."""
        return {}

    @cached_property
    def local(self) -> dict[Any, Any]:
        """What a server offers in this session alone, by its list: see `Server.for_session`."""
        return {}

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before, and where nothing is agreed on."""
        return self.caller.profile if self.caller else None

    @property
    def revision(self) -> str | None:
        """The revision that has been agreed on."""
        return self.caller.profile.revision if self.caller else None

    @property
    def client_info(self) -> Any:
        """What the client said it is; None before the handshake. Nothing vouches for it."""
        return self.caller.client_info if self.caller else None

    @property
    def client_capabilities(self) -> Any:
        """What the client declared in the handshake; None before."""
        return self.caller.capabilities if self.caller else None

    @property
    @abstractmethod
    def host(self) -> SessionHost:
        """The server of this session."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """Where messages go that belong to no request."""

    @property
    @abstractmethod
    def reachable(self) -> bool:
        """Whether what is sent there now reaches the client without its asking for more."""

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Settle the revision of this session, and who the client is."""
        caller.profile = profile
        caller.ready = True
        self.caller = caller
        self.unsaved = True
        self.declared = self.host.declared_capabilities()
        self.host.loops.add(self.loop)

    def begin(self) -> None:
        """The client is ready: do what has waited for it."""
        if self.caller is None:
            return
        self.initialized = self.unsaved = True
        waiting = list(self._later.values())
        self._later.clear()
        for do in waiting:
            do()

    def when_initialized(self, key: Hashable, do: Callable[[], None]) -> None:
        """Do something now, or when the client is ready; what waits under the same key, once.

        Before it is ready, a client should be sent nothing but pings and log messages.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
        """
        if self.initialized:
            do()
        else:
            self._later[key] = do

    async def log(
        self, level: latest.LoggingLevel, data: Any, *, logger: str | None = None
    ) -> None:
        """Send the client a log message that belongs to no request, if it wants to hear of it.

        `data` is a text or any JSON.

        Raises:
            UsageError: no such level, or a session that knows nothing of the client: where there is
                no handshake, and before it, messages belong to requests.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        if self.caller is None:
            raise UsageError("log: no handshake, so nobody to tell but who asks: use Context.log")
        profile = self.caller.profile
        heard = is_enabled(profile, self.caller.log_level(None), level)
        if not heard or not self.host.offers("logging"):
            return
        if profile.log is not None:
            as_json(data)  # an error now, not where it is sent
            params = profile.log.params(level=level, data=data, logger=logger)
            await sender_for(profile, self.channel, self.host, self).notify(profile.log, params)
            await self.channel.drain()

    @abstractmethod
    def end(self) -> None:
        """End the session: what is in flight gets a moment, then the connection is closed."""

    @cached_property
    def client(self) -> SessionClient:
        """The client, to be asked and told at the revision that was agreed on.

        Raises:
            UsageError: nothing has been agreed on; at revisions without a handshake a server asks
                in its results.
        """
        if self.profile is None:
            raise UsageError("no handshake, no connection to ask over: ask in the result instead")
        return client_at(self.profile, self.channel, self.host, self)


class RequestOrigin(Struct, eq=False):
    """Who asks: the revision, what the client declared, and the session where there is one."""

    profile: Profile
    channel: Channel
    """Where messages go that belong to the request."""
    session: Session | None = None
    """The client's session; None where every request stands for itself."""
    capabilities: Any = None
    """ClientCapabilities, as a wire type or as plain JSON."""
    client_info: Any = None
    headers: Any = None
    ready: bool = False
    agreed: Profile | None = None
    """The revision that a handshake under way will settle, if it succeeds with all its hooks."""
    stated_revision: str | None = None
    """The revision that the transport named beside the message, where it does."""
    principal: str | None = None
    """Who the client is to those who let it in: a name that stays; None where nobody asks."""

    def log_level(self, meta: dict[str, Any] | None) -> Any:
        """Return the least severe level the client wants; None if it has set none.

        `meta` is that of the request: from 2026-07-28 on each request sets its own level.
        """
        key = self.profile.log_level_key
        if key is not None:
            return meta.get(key) if meta else None
        return self.session.log_level if self.session else None

    def for_another_request(self) -> RequestOrigin:
        """The same client, without headers: requests that are open at once do not share them."""
        same = RequestOrigin(self.profile, self.channel, self.session)
        same.capabilities = self.capabilities
        same.client_info = self.client_info
        same.ready = self.ready
        same.principal = self.principal
        return same


class SessionClient(RevisionAdapter, ClientCaller):
    """The client of a session or of a request, to be asked and told."""

    def __init__(
        self, profile: Profile, asking: RequestSender, extensions: Extensions | None = None
    ) -> None:
        requests = import_module(f"{profile.module}.requests")
        super().__init__(profile, requests.ToClient(asking))
        self._asking = asking
        self._extensions = Extensions() if extensions is None else extensions

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of an extension; typed: `ToClient(ctx.client)` of its package.

        A client that has not declared the extension is sent nothing.

        Raises:
            UsageError: the server has no such extension.
        """
        capabilities = self._asking.context.client_capabilities
        extension = owner_of(self._extensions, method)
        if declared(extension, capabilities, self.profile, CLIENT) is not None:
            await self._asking.notify(method, params)


def client_at(profile: Profile, outlet: Channel, sender: Outbound, context: Any) -> SessionClient:
    """The client at the end of an outlet; hooks and middleware get `context`."""
    return SessionClient(profile, sender_for(profile, outlet, sender, context), sender.extensions)


def sender_for(profile: Profile, outlet: Channel, sender: Outbound, context: Any) -> RequestSender:
    """What sends to the client at the end of an outlet, through hooks and middleware."""
    hooks, middleware = sender.hooks.outbound, sender.outbound_middleware
    return RequestSender(outlet, profile, hooks, context, middleware=middleware, peer="client")
