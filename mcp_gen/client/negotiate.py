"""Agreeing on a revision: ask without a handshake first, fall back to the handshake.

https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpError, ProtocolError, RequestTimeout
from mcp_gen.core.revisions import listed, per_request, with_handshake
from mcp_gen.session.asking import Asking

if TYPE_CHECKING:
    from mcp_gen.client.identity import Identity
    from mcp_gen.client.session import ClientSession
    from mcp_gen.session.client import ClientLink
    from mcp_wire.profile import Profile

__all__ = ["negotiate"]


async def negotiate(
    link: ClientLink,
    identity: Identity,
    *,
    revision: str | None,
    probe_timeout_s: float,
    timeout_s: float,
) -> ClientSession:
    """Open the session at `revision`, or at the newest that both sides speak.

    Raises:
        ProtocolError: there is none.
        McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
    """
    opener = _Opener(link, identity, timeout_s)
    if revision is not None:
        return await opener.open_pinned(revision)
    try:
        return await opener.open(per_request()[-1], timeout_s=probe_timeout_s)
    except McpError as error:
        named = _mutual(error)
        if named is not None:
            return await opener.open(named)
    except RequestTimeout:
        pass  # a server that waits for a handshake may well say nothing before it
    return await opener.open(with_handshake()[-1])


class _Opener:
    def __init__(self, link: ClientLink, identity: Identity, timeout_s: float) -> None:
        self._link = link
        self._identity = identity
        self._timeout_s = timeout_s

    async def open_pinned(self, revision: str) -> ClientSession:
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
        profile = mcp_wire.profile(revision)
        shake = self._discover if profile.handshake is None else self._shake_hands
        spoken, opening, meta = await shake(profile, timeout_s or self._timeout_s)
        if pinned and spoken is not profile:
            raise ProtocolError(f"asked for {revision}, the server answers at {spoken.revision}")
        dispatch = import_module(f"{spoken.module}.dispatch")
        self._link.agree(
            spoken,
            dispatch.ClientDispatcher(self._identity.answers(spoken), self._link.hooks).routes,
        )
        results_at = revision if pinned else mcp_wire.LATEST
        session = self._identity.session_over(
            self._link, spoken, results_at=results_at, meta=meta, opening=opening
        )
        if spoken.ready:
            telling = Asking(self._link, spoken, self._link.hooks.outbound, session)
            await telling.notify(spoken.ready, spoken.ready.params())
        await self._link.opened(session)
        return session

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
        if listed(profile.revision, opening.supported_versions) is None:
            # It answered, and lists other revisions: the same as if it had refused.
            raise McpError(
                profile.errors.unsupported_protocol_version or ProtocolError.code,
                f"the server speaks {', '.join(opening.supported_versions) or 'nothing'}",
                {"supported": opening.supported_versions},
            )
        return profile, opening, meta

    async def _shake_hands(
        self, profile: Profile, timeout_s: float
    ) -> tuple[Profile, Any, dict[str, Any] | None]:
        info, capabilities = self._identity.at(profile.revision)
        opening = await self._to_server(profile).initialize(
            protocol_version=profile.revision,
            client_info=info,
            capabilities=capabilities,
            timeout_s=timeout_s,
        )
        agreed = listed(opening.protocol_version, with_handshake())
        if agreed is None:
            raise ProtocolError(
                f"the server wants to speak {opening.protocol_version!r}; "
                f"this client knows {', '.join(with_handshake())}"
            )
        return mcp_wire.profile(agreed), opening, None

    def _to_server(self, profile: Profile) -> Any:
        asking = Asking(self._link, profile, self._link.hooks.outbound)
        return import_module(f"{profile.module}.requests").ToServer(asking)


def _mutual(error: McpError) -> str | None:
    """The newest revision that a server's refusal lists and we speak; None if it lists none."""
    data: Any = error.data if error.data.__class__ is dict else {}
    offered: Any = data.get("supported")
    if offered.__class__ is not list:
        return None
    return next((one for one in reversed(mcp_wire.REVISIONS) if listed(one, offered)), None)
