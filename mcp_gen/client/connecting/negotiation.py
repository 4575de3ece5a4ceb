"""Agreeing on a revision: ask without a handshake first, fall back to the handshake.

https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import mcp_wire
from mcp_gen.client.connecting.handshake import Handshake
from mcp_gen.core.errors import (
    HttpError,
    InvalidParams,
    McpError,
    McpGenError,
    MethodNotFound,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
    UsageError,
)
from mcp_gen.core.revisions import find_revision, per_request, with_handshake

if TYPE_CHECKING:
    from mcp_gen.client.connecting.identity import ClientProfile
    from mcp_gen.client.connecting.targets import ConnectTarget
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.session.duplex.client import ClientConnection

__all__ = ["NegotiationResult", "Negotiator", "Verdicts"]


class NegotiationResult(NamedTuple):
    """What a server turned out to speak."""

    revision: str
    older_transport: bool


Verdicts: TypeAlias = dict[Hashable, NegotiationResult]
"""By what servers are remembered by."""


class Negotiator:
    """Finds out how a server wants to be spoken to, and opens the session.

    It is asked without a handshake first. What does not know the question says so in any way it
    likes, or says nothing, or ends: then follows the handshake, over HTTP on the older transport
    where the newer one is refused.
    """

    def __init__(
        self,
        reach: ConnectTarget,
        identity: ClientProfile,
        verdicts: Verdicts,
        *,
        open_link: Callable[[Duplex | Posts], Awaitable[ClientConnection]],
        drop_link: Callable[[ClientConnection], Awaitable[None]],
        probe_timeout_s: float,
        timeout_s: float,
    ) -> None:
        self._target = reach
        self._identity = identity
        self._verdicts = verdicts
        self._open_link = open_link
        self._drop_link = drop_link
        self._probe_timeout_s = probe_timeout_s
        self._timeout_s = timeout_s
        self._link: ClientConnection | None = None
        self._older = False

    async def session(self, revision: str | None) -> tuple[ClientSession, ClientConnection]:
        """The session at `revision`, or at the newest that both sides speak; and its connection.

        Raises:
            ProtocolError: there is none.
            TransportError: the server cannot be reached.
            McpError, RequestTimeout, SessionLost: it would not, did not, or went away.
        """
        try:
            session = await self._open(revision)
            await self._identity.control.begin()
            assert self._link is not None
            return session, self._link
        except BaseException:
            await self._disconnect()
            raise

    async def _open(self, revision: str | None) -> ClientSession:
        if revision is not None:
            return await self._pinned(revision)
        session = await self._remembered()
        if session is None:
            session = await self._probe()
        if self._target.key is not None:
            self._verdicts[self._target.key] = NegotiationResult(session.revision, self._older)
        return session

    async def _remembered(self) -> ClientSession | None:
        verdict = self._verdicts.pop(self._target.key, None)
        if verdict is None:
            return None
        try:
            opener = await self._call(older=verdict.older_transport)
            return await opener.open(verdict.revision)
        except (McpError, ProtocolError, TransportError):
            # It is another server by now, or has learnt: ask anew.
            await self._disconnect()
            return None

    async def _probe(self) -> ClientSession:
        opener = await self._call()
        try:
            return await opener.open(per_request()[-1], timeout_s=self._probe_timeout_s)
        except McpError as error:
            return await self._refused(opener, error)
        except InvalidParams as odd:
            # Some answer anything with an empty result.
            try:
                return await self._initialize(opener)
            except (McpError, ProtocolError):
                raise odd from None
        except RequestTimeout:
            return await self._after_silence(opener)
        except HttpError as error:
            if error.error is not None:
                return await self._refused(opener, error.error)
            if _says_who(error):
                raise
        except SessionLost:
            if not self._target.is_reusable:
                raise
            # Some end over a question that they do not expect: the next one is asked another.
            await self._disconnect()
            opener = await self._call()
        return await self._initialize(opener)

    async def _after_silence(self, opener: Handshake) -> ClientSession:
        """A server that waits for a handshake may say nothing before it; or it was only slow."""
        try:
            return await self._initialize(opener)
        except (McpError, HttpError) as error:
            refused = error
        refusal = refused if isinstance(refused, McpError) else refused.error
        if refusal is None or self._older:
            raise refused
        named = _mutual(refusal)
        if named is not None:
            return await opener.open(named)
        if refusal.code not in (MethodNotFound.code, InvalidParams.code):
            raise refused
        # Perhaps it knows no handshake: by now it is there to say what it knows.
        try:
            return await opener.open(per_request()[-1], timeout_s=self._probe_timeout_s)
        except McpGenError:
            raise refused from None

    async def _refused(self, opener: Handshake, error: McpError) -> ClientSession:
        named = _mutual(error)
        if named is not None:
            # Once more even if it lists what it has just refused.
            return await opener.open(named)
        codes = mcp_wire.profile(per_request()[-1]).errors
        if error.code in (codes.header_mismatch, codes.missing_required_client_capability):
            # Only who speaks it refuses so.
            raise error
        try:
            return await self._initialize(opener)
        except McpError as no_handshake:
            offered = _offered(error)
            if not offered:
                raise
            raise ProtocolError(
                f"no revision in common: the server speaks {', '.join(map(str, offered))}; "
                f"this client knows {', '.join(mcp_wire.REVISIONS)}"
            ) from no_handshake

    async def _initialize(self, opener: Handshake, pinned: str | None = None) -> ClientSession:
        """Open with a handshake, on the older transport where the newer one is refused."""
        revision = pinned or with_handshake()[-1]
        try:
            return await opener.open(revision, pinned=pinned is not None)
        except HttpError as error:
            if self._target.dial_older is None or _says_who(error) or error.status >= 500:
                raise
            if error.error is not None and _mutual(error.error) is not None:
                raise  # it speaks what it lists, and that it does here
            refused = error
        await self._disconnect()
        try:
            opener = await self._call(older=True)
        except (ProtocolError, TransportError) as error:
            raise refused from error
        return await opener.open(revision, pinned=pinned is not None)

    async def _pinned(self, revision: str) -> ClientSession:
        opener = await self._call()
        if mcp_wire.profile(revision).handshake is None:
            return await opener.open_pinned(revision)
        return await self._initialize(opener, revision)

    async def _call(self, *, older: bool = False) -> Handshake:
        self._older = older
        dial = self._target.dial_older if older else self._target.dial
        if dial is None:
            raise UsageError("this server has one transport")
        self._link = await self._open_link(dial())
        return Handshake(self._link, self._identity, self._timeout_s)

    async def _disconnect(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await self._drop_link(link)


def _says_who(error: HttpError) -> bool:
    """Whether this is about who asks, and not about what is asked."""
    return error.status in (401, 403, 407, 429)


def _mutual(error: McpError) -> str | None:
    """The newest revision that a server's refusal lists and we speak; None if it lists none."""
    offered = _offered(error)
    return next((one for one in reversed(mcp_wire.REVISIONS) if find_revision(one, offered)), None)


def _offered(error: McpError) -> list[Any]:
    """What a server's refusal lists."""
    data: Any = error.data if error.data.__class__ is dict else {}
    offered: Any = data.get("supported")
    return offered if offered.__class__ is list else []
