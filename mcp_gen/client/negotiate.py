"""Agreeing on a revision: ask without a handshake first, fall back to the handshake.

https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import mcp_wire
from mcp_gen.core.errors import (
    HttpError,
    McpError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
    UsageError,
)
from mcp_gen.core.revisions import listed, per_request, with_handshake
from mcp_gen.session.asking import Asking

if TYPE_CHECKING:
    from mcp_gen.client.identity import Identity
    from mcp_gen.client.session import ClientSession
    from mcp_gen.client.targets import Reach
    from mcp_gen.core.transport import Duplex, Posts
    from mcp_gen.session.client import ClientLink
    from mcp_wire.profile import Profile

__all__ = ["Negotiation", "Verdict", "Verdicts"]


class Verdict(NamedTuple):
    """What a server turned out to speak."""

    revision: str
    older_transport: bool


Verdicts: TypeAlias = dict[Hashable, Verdict]
"""By what servers are remembered by."""


class Negotiation:
    """Finds out how a server wants to be spoken to, and opens the session.

    It is asked without a handshake first. What does not know the question says so in any way it
    likes, or says nothing, or ends: then follows the handshake, over HTTP on the older transport
    where the newer one is refused.
    """

    def __init__(
        self,
        reach: Reach,
        identity: Identity,
        verdicts: Verdicts,
        *,
        open_link: Callable[[Duplex | Posts], Awaitable[ClientLink]],
        drop_link: Callable[[ClientLink], Awaitable[None]],
        probe_timeout_s: float,
        timeout_s: float,
    ) -> None:
        self._reach = reach
        self._identity = identity
        self._verdicts = verdicts
        self._open_link = open_link
        self._drop_link = drop_link
        self._probe_timeout_s = probe_timeout_s
        self._timeout_s = timeout_s
        self._link: ClientLink | None = None
        self._older = False

    async def session(self, revision: str | None) -> ClientSession:
        """The session at `revision`, or at the newest that both sides speak.

        Raises:
            ProtocolError: there is none.
            TransportError: the server cannot be reached.
            McpError, RequestTimeout, SessionLost: it would not, did not, or went away.
        """
        try:
            session = await self._opened(revision)
            await session.begin()
        except BaseException:
            await self._hang_up()
            raise
        self._identity.link = self._link
        return session

    async def _opened(self, revision: str | None) -> ClientSession:
        if revision is not None:
            return await self._pinned(revision)
        session = await self._remembered() or await self._probe()
        if self._reach.key is not None:
            self._verdicts[self._reach.key] = Verdict(session.revision, self._older)
        return session

    async def _remembered(self) -> ClientSession | None:
        verdict = self._verdicts.pop(self._reach.key, None)
        if verdict is None:
            return None
        try:
            opener = await self._call(older=verdict.older_transport)
            return await opener.open(verdict.revision)
        except (McpError, ProtocolError, TransportError):
            # It is another server by now, or has learnt: ask anew.
            await self._hang_up()
            return None

    async def _probe(self) -> ClientSession:
        opener = await self._call()
        try:
            return await opener.open(per_request()[-1], timeout_s=self._probe_timeout_s)
        except McpError as error:
            return await self._refused(opener, error)
        except RequestTimeout:
            pass  # a server that waits for a handshake may well say nothing before it
        except HttpError as error:
            if error.error is not None:
                return await self._refused(opener, error.error)
            if _says_who(error):
                raise
        except SessionLost:
            if not self._reach.again:
                raise
            # Some end over a question that they do not expect: the next one is asked another.
            await self._hang_up()
            opener = await self._call()
        return await self._shake_hands(opener)

    async def _refused(self, opener: _Opener, error: McpError) -> ClientSession:
        named = _mutual(error)
        if named is not None:
            # Once more even if it lists what it has just refused.
            return await opener.open(named)
        codes = mcp_wire.profile(per_request()[-1]).errors
        if error.code in (codes.header_mismatch, codes.missing_required_client_capability):
            # Only who speaks it refuses so.
            raise error
        return await self._shake_hands(opener)

    async def _shake_hands(self, opener: _Opener, pinned: str | None = None) -> ClientSession:
        """Open with a handshake, on the older transport where the newer one is refused."""
        revision = pinned or with_handshake()[-1]
        try:
            return await opener.open(revision, pinned=pinned is not None)
        except HttpError as error:
            if self._reach.dial_older is None or _says_who(error) or error.status >= 500:
                raise
            refused = error
        await self._hang_up()
        try:
            opener = await self._call(older=True)
        except (ProtocolError, TransportError) as error:
            raise refused from error
        return await opener.open(revision, pinned=pinned is not None)

    async def _pinned(self, revision: str) -> ClientSession:
        profile = mcp_wire.profile(revision)
        if profile.handshake is None:
            return await (await self._call()).open_pinned(revision)
        if self._reach.dial_older is not None and profile.http_transport == "sse_pair":
            try:
                opener = await self._call(older=True)
            except (ProtocolError, TransportError) as error:
                if isinstance(error, HttpError) and _says_who(error):
                    raise
                # Servers of newer revisions may speak it on their own transport.
            else:
                return await opener.open_pinned(revision)
        return await self._shake_hands(await self._call(), revision)

    async def _call(self, *, older: bool = False) -> _Opener:
        self._older = older
        dial = self._reach.dial_older if older else self._reach.dial
        if dial is None:
            raise UsageError("this server has one transport")
        self._link = await self._open_link(dial())
        return _Opener(self._link, self._identity, self._timeout_s)

    async def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await self._drop_link(link)


def _says_who(error: HttpError) -> bool:
    """Whether this is about who asks, and not about what is asked."""
    return error.status in (401, 403, 407, 429)


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
        self._link.attempt(profile)
        shake = self._discover if profile.handshake is None else self._shake_hands
        spoken, opening, meta = await shake(profile, timeout_s or self._timeout_s)
        if pinned and spoken is not profile:
            raise ProtocolError(f"asked for {revision}, the server answers at {spoken.revision}")
        self._agree(spoken)
        results_at = revision if pinned else mcp_wire.LATEST
        session = self._identity.session_over(
            self._link, spoken, results_at=results_at, meta=meta, opening=opening
        )
        await self._say_ready(spoken, session)
        self._link.begin_again = lambda: self._begin_again(spoken, session)
        await self._link.opened(session)
        return session

    def _agree(self, spoken: Profile) -> None:
        dispatch = import_module(f"{spoken.module}.dispatch")
        answers = self._identity.answers(spoken)
        self._link.agree(spoken, dispatch.ClientDispatcher(answers, self._link.hooks).routes)

    async def _say_ready(self, spoken: Profile, session: ClientSession) -> None:
        if spoken.ready:
            telling = Asking(self._link, spoken, self._link.hooks.outbound, session)
            await telling.notify(spoken.ready, spoken.ready.params())
            # Requests go other ways over HTTP: none may arrive before it.
            await self._link.drain()

    async def _begin_again(self, spoken: Profile, session: ClientSession) -> None:
        """Shake hands anew, for a session that goes on as if nothing had happened."""
        self._link.attempt(spoken)
        again, session.opening, _ = await self._shake_hands(spoken, self._timeout_s)
        if again is not spoken:
            raise SessionLost(
                f"the server has ended the session, and wants to speak {again.revision} now"
            )
        self._agree(spoken)
        await self._say_ready(spoken, session)

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
