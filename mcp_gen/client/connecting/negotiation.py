"""Revision negotiation: probes without a handshake, falls back to `initialize`.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import mcp_wire
from mcp_gen.client.connecting.handshake import Handshake
from mcp_gen.core.errors import (
    HttpError,
    InvalidParams,
    InvalidResult,
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

__all__ = ["NegotiationCache", "NegotiationResult", "Negotiator"]


class NegotiationResult(NamedTuple):
    """Negotiated revision of a server, and True if the older transport (HTTP+SSE) is needed."""

    revision: str
    older_transport: bool


NegotiationCache: TypeAlias = dict[Hashable, NegotiationResult]
"""Negotiation results by the key of the target."""


class Negotiator:
    """Negotiates the revision with a server and opens the session.

    It sends `server/discover` first. A server that does not know the method may answer with any
    error, not answer, or disconnect. `initialize` follows then. Over HTTP, it is sent on the older
    transport (HTTP+SSE) if the newer one rejects it.
    """

    def __init__(
        self,
        target: ConnectTarget,
        client: ClientProfile,
        negotiated: NegotiationCache,
        *,
        open_connection: Callable[[Duplex | Posts], Awaitable[ClientConnection]],
        drop_connection: Callable[[ClientConnection], Awaitable[None]],
        probe_timeout_s: float,
        timeout_s: float,
    ) -> None:
        self._target = target
        self._client = client
        self._negotiated = negotiated
        self._open_connection = open_connection
        self._drop_connection = drop_connection
        self._probe_timeout_s = probe_timeout_s
        self._timeout_s = timeout_s
        self._connection: ClientConnection | None = None
        self._uses_older_transport = False

    async def session(
        self, revision: str | None, first: str | None = None
    ) -> tuple[ClientSession, ClientConnection]:
        """Return the session and its connection.

        Args:
            revision: Revision to pin; None: the newest that both sides support.
            first: Revision to try first, if none is pinned; None: the newest.

        Raises:
            ProtocolError: There is no revision in common.
            TransportError: The server cannot be reached.
            McpError, RequestTimeout, SessionLost: The server returned an error, did not answer in
                time, or disconnected.
        """
        try:
            session = await self._open(revision, first)
            await self._client.control.begin()
            assert self._connection is not None
            return session, self._connection
        except BaseException:
            await self._disconnect()
            raise

    async def _open(self, revision: str | None, first: str | None) -> ClientSession:
        if revision is not None:
            return await self._open_pinned(revision)
        if first is not None and mcp_wire.profile(first).handshake is not None:
            return await self._initialize_first(first)
        session = await self._open_remembered()
        if session is None:
            session = await self._probe()
        if self._target.key is not None:
            self._negotiated[self._target.key] = NegotiationResult(
                session.revision, self._uses_older_transport
            )
        return session

    async def _open_remembered(self) -> ClientSession | None:
        remembered = self._negotiated.pop(self._target.key, None)
        if remembered is None:
            return None
        try:
            handshake = await self._dial(older=remembered.older_transport)
            return await handshake.open(remembered.revision)
        except (McpError, ProtocolError, TransportError):
            # The server was replaced or upgraded: negotiate again.
            await self._disconnect()
            return None

    async def _probe(self) -> ClientSession:
        handshake = await self._dial()
        try:
            return await handshake.open(per_request()[-1], timeout_s=self._probe_timeout_s)
        except McpError as error:
            return await self._after_refusal(handshake, error)
        except InvalidResult as invalid:
            # Some servers answer every request with an empty result.
            try:
                return await self._initialize(handshake)
            except (McpError, ProtocolError):
                raise invalid from None
        except RequestTimeout:
            return await self._after_silence(handshake)
        except HttpError as error:
            if _is_about_client(error):
                raise
            if error.error is not None:
                return await self._after_refusal(handshake, error.error)
        except SessionLost:
            if not self._target.is_reusable:
                raise
            # Some servers exit on an unexpected first request: reconnect, then initialize.
            await self._disconnect()
            handshake = await self._dial()
        return await self._initialize(handshake)

    async def _after_silence(self, handshake: Handshake) -> ClientSession:
        """Continue after a probe without an answer: the server awaits `initialize`, or is slow."""
        try:
            return await self._initialize(handshake)
        except (McpError, HttpError) as error:
            refused = error
        refusal = refused if isinstance(refused, McpError) else refused.error
        if refusal is None or self._uses_older_transport:
            raise refused
        common = _common_revision(refusal)
        if common is not None:
            return await handshake.open(common)
        if refusal.code not in (MethodNotFound.code, InvalidParams.code):
            raise refused
        # The server may have no handshake and was only slow to start: probe it again.
        try:
            return await handshake.open(per_request()[-1], timeout_s=self._probe_timeout_s)
        except McpGenError:
            raise refused from None

    async def _after_refusal(self, handshake: Handshake, error: McpError) -> ClientSession:
        common = _common_revision(error)
        if common is not None:
            # Try once more even if the list has the revision that was just rejected.
            return await handshake.open(common)
        codes = mcp_wire.profile(per_request()[-1]).errors
        if error.code in (codes.header_mismatch, codes.missing_required_client_capability):
            # Only servers of the probed revision reject a request with these codes.
            raise error
        try:
            return await self._initialize(handshake)
        except McpError as handshake_error:
            supported = _supported_revisions(error)
            if not supported:
                raise
            raise ProtocolError(
                f"no revision in common: the server speaks {', '.join(map(str, supported))}; "
                f"this client knows {', '.join(mcp_wire.REVISIONS)}"
            ) from handshake_error

    async def _initialize(
        self, handshake: Handshake, pinned: str | None = None, first: str | None = None
    ) -> ClientSession:
        """Open with `initialize`, on the older transport if the newer one rejects it."""
        revision = pinned or first or with_handshake()[-1]
        try:
            return await handshake.open(revision, pinned=pinned is not None)
        except HttpError as error:
            if self._target.dial_older is None or _is_about_client(error) or error.status >= 500:
                raise
            if error.error is not None and _common_revision(error.error) is not None:
                raise  # the server supports what it lists, on this transport
            refused = error
        await self._disconnect()
        try:
            handshake = await self._dial(older=True)
        except (ProtocolError, TransportError) as error:
            raise refused from error
        return await handshake.open(revision, pinned=pinned is not None)

    async def _initialize_first(self, revision: str) -> ClientSession:
        """Open with `initialize` at this revision; probe a server that has no handshake."""
        handshake = await self._dial()
        try:
            return await self._initialize(handshake, first=revision)
        except (McpError, HttpError) as error:
            refusal = error if isinstance(error, McpError) else error.error
            if refusal is None or (isinstance(error, HttpError) and _is_about_client(error)):
                raise
            return await handshake.open(_common_revision(refusal) or per_request()[-1])

    async def _open_pinned(self, revision: str) -> ClientSession:
        handshake = await self._dial()
        if mcp_wire.profile(revision).handshake is None:
            return await handshake.open_pinned(revision)
        return await self._initialize(handshake, revision)

    async def _dial(self, *, older: bool = False) -> Handshake:
        self._uses_older_transport = older
        dial = self._target.dial_older if older else self._target.dial
        if dial is None:
            raise UsageError("this server has one transport")
        self._connection = await self._open_connection(dial())
        return Handshake(self._connection, self._client, self._timeout_s)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._drop_connection(connection)


def _is_about_client(error: HttpError) -> bool:
    """Return True if an HTTP error is about the client (authorization, rate), not the request."""
    return error.status in (401, 403, 407, 429)


def _common_revision(error: McpError) -> str | None:
    """Return the newest known revision in the list of an error; None if there is none."""
    supported = _supported_revisions(error)
    return next(
        (one for one in reversed(mcp_wire.REVISIONS) if find_revision(one, supported)), None
    )


def _supported_revisions(error: McpError) -> list[Any]:
    """Return the revisions that a server lists in an error."""
    data: Any = error.data if error.data.__class__ is dict else {}
    supported: Any = data.get("supported")
    return supported if supported.__class__ is list else []
