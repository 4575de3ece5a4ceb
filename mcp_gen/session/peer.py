"""A client's session as the server's program sees it: who it is, and what is kept for it."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.session.asking import Asking, AtRevision
from mcp_wire.callers import ClientCaller

if TYPE_CHECKING:
    from mcp_gen.session.kernel import Kernel
    from mcp_gen.session.lifecycle import Caller
    from mcp_gen.session.outlet import Outlet
    from mcp_wire.profile import Profile

__all__ = ["Session", "SessionClient", "client_at"]


class Session(ABC):
    """One client's session: a stdio connection, or what a session id names over HTTP.

    At a revision whose requests stand for themselves there is one per connection at most, and it
    knows nothing of the client: what was agreed on is None there.
    """

    def __init__(self, kernel: Kernel[Any]) -> None:
        self.kernel = kernel
        self.caller: Caller | None = None
        """The client, once it has shaken hands."""
        self.log_level: str | None = None
        """The least severe level that the client wants to hear; None until it says so."""
        self.roots: tuple[Any, ...] | None = None
        """The client's roots, while it has not said that they are others."""
        self.roots_changes: int = 0
        """How often it has said so: what was asked before is not what there is after."""

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
    def local(self) -> dict[str, Any]:
        """What the server offers in this session alone, by kind: see `Server.session_tools`."""
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
    def outlet(self) -> Outlet:
        """Where messages go that belong to no request."""

    def agree(self, caller: Caller, profile: Profile) -> None:
        """Settle the revision of this session, and who the client is."""
        caller.profile = profile
        caller.ready = True
        self.caller = caller

    @abstractmethod
    def end(self) -> None:
        """End the session: what is in flight gets a moment, then the connection is closed."""

    @cached_property
    def client(self) -> ClientCaller:
        """The client, to be asked and told at the revision that was agreed on.

        Raises:
            UsageError: nothing has been agreed on; at revisions without a handshake a server asks
                in its results.
        """
        if self.profile is None:
            raise UsageError("no handshake, no connection to ask over: ask in the result instead")
        return client_at(self.profile, self.outlet, self.kernel, self)


class SessionClient(AtRevision, ClientCaller):
    """The client of a session or of a request, to be asked and told."""

    def __init__(self, profile: Profile, asking: Asking) -> None:
        requests = import_module(f"{profile.module}.requests")
        super().__init__(profile, requests.ToClient(asking))


def client_at(profile: Profile, outlet: Outlet, kernel: Kernel[Any], context: Any) -> SessionClient:
    """The client at the end of an outlet; hooks and middleware get `context`."""
    asking = Asking(outlet, profile, kernel.hooks.outbound, context, peer="client")
    return SessionClient(profile, asking)
