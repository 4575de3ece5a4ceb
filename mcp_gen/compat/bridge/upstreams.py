"""Sessions with the server behind a bridge: which clients share one, and when it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.client.client import Client
from mcp_gen.client.connecting.targets import resolve_target
from mcp_gen.compat.bridge.callers import passed_on
from mcp_gen.compat.bridge.restating import LossLog
from mcp_gen.compat.bridge.upstream import Upstream
from mcp_gen.core.errors import McpError, McpGenError, ProtocolError
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.relaying.suspended_calls import SuspendedCalls
from mcp_gen.session.kernel.errors import InternalMcpError
from mcp_gen.session.peer.session import Session
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Hashable, Mapping

    from mcp_gen.client.connecting.targets import ConnectTarget, Target
    from mcp_gen.compat.bridge.limits import BridgeLimits
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.server import Server
    from mcp_gen.session.peer.session import RequestOrigin

__all__ = ["Identity", "SharedKey", "Upstreams"]

_NAME = "mcp-gen-bridge"


class SharedKey(NamedTuple):
    """Key of an upstream session for requests without a session.

    Args:
        client: Connection, or principal over HTTP.
        capabilities: Encoded capabilities.
    """

    client: Hashable
    capabilities: bytes


@dataclass(frozen=True)
class Identity:
    """Capabilities and name of a client of the bridge, as the server learns them.

    Args:
        capabilities: Capabilities that the client declared.
        info: Its name and version; None if it sent none.
    """

    capabilities: latest.ClientCapabilities
    info: latest.Implementation | None

    @classmethod
    def of(cls, origin: RequestOrigin) -> Identity:
        """Return the identity of the sender of a request."""
        has_session = origin.session is not None
        return cls.of_client(origin.capabilities_read(), origin.info_read(), has_session)

    @classmethod
    def of_client(
        cls,
        declared: latest.ClientCapabilities,
        info: latest.Implementation | None,
        has_session: bool,
    ) -> Identity:
        """Return the identity of a client with these capabilities."""
        return cls(passed_on(declared, has_session=has_session), info)


class Upstreams:
    """The sessions with the server.

    Each session of a client has one of its own: servers of revisions with a handshake choose tools
    by its capabilities, and keep subscriptions and log levels for it. Clients of revisions without
    sessions share one per connection or principal, and per set of capabilities.

    Args:
        target: The server.
        options: Options of `Client.connect` for the target.
        server: The server that clients of the bridge see.
        limits: Limits of the bridge.
        max_message_bytes: Longest message of the server; None for the default of the transport.
    """

    def __init__(
        self,
        target: Target,
        options: Mapping[str, Any],
        server: Server,
        limits: BridgeLimits,
        max_message_bytes: int | None,
    ) -> None:
        self._target = target
        self._options = options
        self._server = server
        self.limits = limits
        """Limits of the bridge."""
        self._max_message_bytes = max_message_bytes
        self._suspended = SuspendedCalls(settle_s=limits.settle_s, max_open=limits.max_open_calls)
        self._losses = LossLog()
        self._spoken: dict[str, str] = {}
        """Revision that the server speaks with a client, by the client's own."""
        self._open: dict[Hashable, asyncio.Future[Upstream]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    # --- which one ---

    def of(self, ctx: Context) -> Awaitable[Upstream]:
        """Return the upstream session for a request, once it is open.

        Raises:
            McpError: The server cannot be reached, or too many sessions with it are open.
        """
        key: Hashable = ctx.session or _key(origin_of(ctx))
        found = self._open.get(key)
        if found is not None and found.done():
            return found
        return self._opened(key, origin_of(ctx), ctx)

    async def _opened(self, key: Hashable, origin: RequestOrigin, ctx: Context) -> Upstream:
        return await self._shared(key, Identity.of(origin), ctx.revision, ctx.session)

    async def opened_for(self, origin: RequestOrigin, revision: str) -> Upstream:
        """Return the upstream session of a client whose handshake is being answered."""
        return await self._shared(_key(origin), Identity.of(origin), revision, origin.session)

    async def _shared(
        self, key: Hashable, identity: Identity, revision: str, owner: Session | None
    ) -> Upstream:
        opening = self._open.get(key)
        if opening is None:
            self._make_room()
            opening = asyncio.get_running_loop().create_task(self.open(identity, revision))
            self._open[key] = opening
        try:
            # Shielded: other requests may wait for the same session.
            upstream = await asyncio.shield(opening)
        except BaseException:
            if opening.done() and self._open.get(key) is opening:
                del self._open[key]
            raise
        if owner is not None and upstream.owner is None:
            upstream.belong_to(owner)
        self._sweep_later()
        return upstream

    def may_speak(self, revision: str) -> bool:
        """Return False if the server is known not to speak this revision."""
        return self._spoken.get(revision, revision) == revision

    def adopt(self, key: Hashable, upstream: Upstream) -> None:
        """Add a session that is open already."""
        opened = asyncio.get_running_loop().create_future()
        opened.set_result(upstream)
        self._open[key] = opened

    async def roots_changed(self, ctx: Context) -> None:
        """Tell the server of the client's session, if there is one, that its roots have changed."""
        opening = self._open.get(ctx.session) if ctx.session is not None else None
        if opening is not None and opening.done():
            await opening.result().roots_changed()

    # --- opening ---

    def target(self) -> ConnectTarget:
        """Return how to connect to the server."""
        return resolve_target(
            self._target,
            self._run,
            max_message_bytes=self._max_message_bytes,
            **self._options,
        )

    async def open(
        self,
        identity: Identity,
        revision: str,
        transport: Duplex | Posts | None = None,
    ) -> Upstream:
        """Open a session with the server, at the client's own revision if the server speaks it.

        Args:
            identity: The client.
            revision: Its revision.
            transport: Transport to use; None opens a new one.

        Raises:
            McpError: The server cannot be reached.
        """
        target = self.target()
        if transport is not None:
            first = [transport]
            dial = target.dial
            target = replace(target, dial=lambda: first.pop() if first else dial())
        info = identity.info
        client = Client(
            _NAME,
            info.version if info else "0.0.0",
            title=info.title if info else None,
            timeout_s=self.limits.timeout_s,
            max_timeout_s=self.limits.max_call_s,
            forward_requests=identity.capabilities,
        )
        try:
            session = await client.connect(
                target,
                first_revision=self._spoken.get(revision, revision),
                timeout_s=self.limits.timeout_s,
            )
        except BaseException as error:
            await client.aclose()
            if isinstance(error, McpGenError) and not isinstance(error, McpError):
                raise InternalMcpError(
                    ProtocolError.code, f"bridge: its server cannot be reached: {error}"
                ) from error
            raise
        self._spoken[revision] = session.revision
        return Upstream(
            client,
            session,
            self._server,
            declared=identity.capabilities,
            suspended=self._suspended,
            losses=self._losses,
        )

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    # --- ending ---

    def _make_room(self) -> None:
        """End the session that has been idle for longest if there are too many.

        Raises:
            McpError: None is idle.
        """
        if len(self._open) < self.limits.max_upstreams:
            return
        idle = [(one.result().used_at, key) for key, one in self._open.items() if _is_idle(one)]
        if not idle:
            raise McpError(
                ProtocolError.code,
                f"the bridge has {self.limits.max_upstreams} sessions with its server open, and "
                "all are in use: try again later",
            )
        self._end(min(idle, key=lambda one: one[0])[1])

    def end_of(self, session: Session) -> None:
        """End the upstream session of a client's session or connection that has ended."""
        for key in list(self._open):
            if key is session or (isinstance(key, SharedKey) and key.client is session):
                self._end(key)

    def _end(self, key: Hashable) -> None:
        task = asyncio.get_running_loop().create_task(self._close(self._open.pop(key)))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _close(self, opening: asyncio.Future[Upstream]) -> None:
        if not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            await opening.result().aclose()

    def _sweep_later(self) -> None:
        if self._sweeping is None:
            loop = asyncio.get_running_loop()
            self._sweeping = loop.call_later(self.limits.idle_s, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        now = asyncio.get_running_loop().time()
        for key, one in list(self._open.items()):
            if _is_idle(one) and now - one.result().used_at >= self.limits.idle_s:
                self._end(key)
        if self._open:
            self._sweep_later()

    async def aclose(self) -> None:
        """End all sessions and all calls that wait for answers."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        self._suspended.clear()
        for key in list(self._open):
            self._end(key)
        while self._ending:
            await asyncio.wait(self._ending)
        while self._serving:
            await asyncio.wait(self._serving)


def _is_idle(opening: asyncio.Future[Upstream]) -> bool:
    return (
        opening.done()
        and not opening.cancelled()
        and opening.exception() is None
        and opening.result().is_idle
    )


def _key(origin: RequestOrigin) -> Hashable:
    """Return the key of the upstream session that the sender of a request shares with others."""
    if origin.session is not None:
        return origin.session
    # A connection is one client. Over HTTP, clients of one principal may be many.
    client = origin.channel if isinstance(origin.channel, Session) else origin.principal
    return SharedKey(client, encode(origin.capabilities))
