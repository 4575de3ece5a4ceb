"""Handshake: opens a session at one revision with `server/discover` or `initialize`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpError, ProtocolError, SessionLost
from mcp_gen.core.revisions import find_revision, with_handshake
from mcp_gen.session.messages.sender import RequestSender

if TYPE_CHECKING:
    from mcp_gen.client.connecting.identity import ClientProfile
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.profile import Profile

__all__ = ["Handshake"]


class Handshake:
    """Opens a session on one connection."""

    def __init__(
        self, connection: ClientConnection, client: ClientProfile, timeout_s: float
    ) -> None:
        self._connection = connection
        self._client = client
        self._timeout_s = timeout_s

    async def open_pinned(self, revision: str) -> ClientSession:
        """Open the session at exactly this revision; see `open`.

        Raises:
            ProtocolError: The server does not support the revision.
        """
        try:
            return await self.open(revision, pinned=True)
        except McpError as error:
            if mcp_wire.profile(revision).handshake is not None:
                raise
            # Servers of this revision answer server/discover; others reject it in various ways.
            raise ProtocolError(
                f"asked for {revision}, which the server does not speak: {error}"
            ) from error

    async def open(
        self, revision: str, *, pinned: bool = False, timeout_s: float | None = None
    ) -> ClientSession:
        """Open the session at this revision, or at the one that the server offers in `initialize`.

        Raises:
            ProtocolError: The server offers an unknown revision, or not the `pinned` one.
            McpError, TransportError, RequestTimeout: The server returned an error, disconnected, or
                did not answer in time.
        """
        profile = mcp_wire.profile(revision)
        self._connection.attempt(profile)
        perform = self._discover if profile.handshake is None else self._initialize
        agreed, opening, meta = await perform(profile, timeout_s or self._timeout_s)
        if pinned and agreed is not profile:
            raise ProtocolError(f"asked for {revision}, the server answers at {agreed.revision}")
        self._apply(agreed)
        session = self._client.session_over(self._connection, agreed, meta=meta, opening=opening)
        await self._send_initialized(agreed, session)
        self._connection.reopen_session = lambda: self._recreate_session(agreed, session)
        await self._connection.opened(session)
        return session

    def _apply(self, agreed: Profile) -> None:
        dispatch = import_module(f"{agreed.module}.dispatch")
        answers = self._client.answers(agreed, self._connection.run)
        routes = dispatch.ClientDispatcher(answers, self._connection.hooks).routes
        self._connection.agree(agreed, routes, self._client.callbacks.extensions)

    async def _send_initialized(self, agreed: Profile, session: ClientSession) -> None:
        if agreed.initialized:
            sender = RequestSender(
                self._connection,
                agreed,
                self._connection.hooks.outbound,
                session,
                middleware=self._connection.middleware.outgoing,
            )
            await sender.notify(agreed.initialized, agreed.initialized.params())
            # Over HTTP each message has its own POST: no request may overtake this notification.
            await self._connection.drain()

    async def _recreate_session(
        self, agreed: Profile, session: ClientSession
    ) -> Callable[[], Awaitable[None]]:
        """Repeat `initialize` for a session that continues on the same connection.

        Raises:
            SessionLost: The server now offers another revision.
        """
        self._connection.attempt(agreed)
        agreed_again, opening, _ = await self._initialize(agreed, self._timeout_s)
        if agreed_again is not agreed:
            raise SessionLost(
                f"the server has ended the session, and wants to speak {agreed_again.revision} now"
            )
        self._apply(agreed)
        await self._send_initialized(agreed, session)
        return lambda: self._client.control.session_recreated(opening)

    async def _discover(
        self, profile: Profile, timeout_s: float
    ) -> tuple[Profile, Any, dict[str, Any] | None]:
        info, capabilities = self._client.at(profile.revision)
        meta = {
            profile.protocol_version_key or "": profile.revision,
            profile.client_info_key or "": info,
            profile.client_capabilities_key or "": capabilities,
        }
        opening = await self._to_server(profile).discover(meta=meta, timeout_s=timeout_s)
        if find_revision(profile.revision, opening.supported_versions) is None:
            # An answer that lists only other revisions counts as a rejection.
            raise McpError(
                profile.errors.unsupported_protocol_version or ProtocolError.code,
                f"the server speaks {', '.join(opening.supported_versions) or 'nothing'}",
                {"supported": opening.supported_versions},
            )
        return profile, opening, meta

    async def _initialize(
        self, profile: Profile, timeout_s: float
    ) -> tuple[Profile, Any, dict[str, Any] | None]:
        info, capabilities = self._client.at(profile.revision)
        opening = await self._to_server(profile).initialize(
            protocol_version=profile.revision,
            client_info=info,
            capabilities=capabilities,
            timeout_s=timeout_s,
        )
        revision_name = find_revision(opening.protocol_version, with_handshake())
        if revision_name is None:
            raise ProtocolError(
                f"the server wants to speak {opening.protocol_version!r}; "
                f"this client knows {', '.join(with_handshake())}"
            )
        return mcp_wire.profile(revision_name), opening, None

    def _to_server(self, profile: Profile) -> Any:
        rows = self._client.callbacks.extensions.rows(profile)
        sender = RequestSender(
            self._connection,
            profile,
            self._connection.hooks.outbound,
            middleware=self._connection.middleware.outgoing,
            rows=rows,
        )
        return import_module(f"{profile.module}.requests").ToServer(sender)
