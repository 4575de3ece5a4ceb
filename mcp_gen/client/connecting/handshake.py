"""Opening a session at one revision: the question what the server speaks, or the handshake."""

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

    def __init__(self, link: ClientConnection, identity: ClientProfile, timeout_s: float) -> None:
        self._link = link
        self._identity = identity
        self._timeout_s = timeout_s

    async def open_pinned(self, revision: str) -> ClientSession:
        """Open at this revision and no other; see `open`.

        Raises:
            ProtocolError: the server speaks another one.
        """
        try:
            return await self.open(revision, pinned=True)
        except McpError as error:
            if mcp_wire.profile(revision).handshake is not None:
                raise
            # Whoever speaks it says so when asked; anyone else has no word for "no".
            raise ProtocolError(
                f"asked for {revision}, which the server does not speak: {error}"
            ) from error

    async def open(
        self, revision: str, *, pinned: bool = False, timeout_s: float | None = None
    ) -> ClientSession:
        """Open at this revision, or at what the server offers instead in the handshake.

        Raises:
            ProtocolError: it offers one that is unknown, or not the one that is `pinned`.
            McpError, TransportError, RequestTimeout: it refused, went away, or did not answer.
        """
        profile = mcp_wire.profile(revision)
        self._link.attempt(profile)
        shake = self._discover if profile.handshake is None else self._initialize
        spoken, opening, meta = await shake(profile, timeout_s or self._timeout_s)
        if pinned and spoken is not profile:
            raise ProtocolError(f"asked for {revision}, the server answers at {spoken.revision}")
        self._agree(spoken)
        results_at = revision if pinned else mcp_wire.LATEST
        session = self._identity.session_over(
            self._link, spoken, results_at=results_at, meta=meta, opening=opening
        )
        await self._send_initialized(spoken, session)
        self._link.begin_again = lambda: self._recreate_session(spoken, session)
        await self._link.opened(session)
        return session

    def _agree(self, spoken: Profile) -> None:
        dispatch = import_module(f"{spoken.module}.dispatch")
        answers = self._identity.answers(spoken, self._link.run)
        routes = dispatch.ClientDispatcher(answers, self._link.hooks).routes
        self._link.agree(spoken, routes, self._identity.offer.extensions)

    async def _send_initialized(self, spoken: Profile, session: ClientSession) -> None:
        if spoken.initialized:
            telling = RequestSender(self._link, spoken, self._link.hooks.outbound, session)
            await telling.notify(spoken.initialized, spoken.initialized.params())
            # Requests go other ways over HTTP: none may arrive before it.
            await self._link.drain()

    async def _recreate_session(
        self, spoken: Profile, session: ClientSession
    ) -> Callable[[], Awaitable[None]]:
        """Shake hands anew, for a session that goes on as if nothing had happened."""
        self._link.attempt(spoken)
        again, opening, _ = await self._initialize(spoken, self._timeout_s)
        if again is not spoken:
            raise SessionLost(
                f"the server has ended the session, and wants to speak {again.revision} now"
            )
        self._agree(spoken)
        await self._send_initialized(spoken, session)
        return lambda: self._identity.control.session_recreated(opening)

    async def _discover(
        self, profile: Profile, timeout_s: float
    ) -> tuple[Profile, Any, dict[str, Any] | None]:
        info, capabilities = self._identity.at(profile.revision)
        meta = {
            profile.protocol_version_key or "": profile.revision,
            profile.client_info_key or "": info,
            profile.client_capabilities_key or "": capabilities,
        }
        opening = await self._to_server(profile).discover(meta=meta, timeout_s=timeout_s)
        if find_revision(profile.revision, opening.supported_versions) is None:
            # It answered, and lists other revisions: the same as if it had refused.
            raise McpError(
                profile.errors.unsupported_protocol_version or ProtocolError.code,
                f"the server speaks {', '.join(opening.supported_versions) or 'nothing'}",
                {"supported": opening.supported_versions},
            )
        return profile, opening, meta

    async def _initialize(
        self, profile: Profile, timeout_s: float
    ) -> tuple[Profile, Any, dict[str, Any] | None]:
        info, capabilities = self._identity.at(profile.revision)
        opening = await self._to_server(profile).initialize(
            protocol_version=profile.revision,
            client_info=info,
            capabilities=capabilities,
            timeout_s=timeout_s,
        )
        agreed = find_revision(opening.protocol_version, with_handshake())
        if agreed is None:
            raise ProtocolError(
                f"the server wants to speak {opening.protocol_version!r}; "
                f"this client knows {', '.join(with_handshake())}"
            )
        return mcp_wire.profile(agreed), opening, None

    def _to_server(self, profile: Profile) -> Any:
        rows = self._identity.offer.extensions.rows(profile)
        asking = RequestSender(self._link, profile, self._link.hooks.outbound, rows=rows)
        return import_module(f"{profile.module}.requests").ToServer(asking)
