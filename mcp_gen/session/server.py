"""The server's side of a duplex transport: one connection, one task per request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.errors import (
    InvalidRequest,
    McpError,
    ProtocolError,
    SessionLost,
)
from mcp_gen.session.keep_alive import keep_alive
from mcp_gen.session.kernel import settle
from mcp_gen.session.lifecycle import Caller
from mcp_gen.session.link import Link
from mcp_gen.session.peer import Session

if TYPE_CHECKING:
    from mcp_gen.core.connection import Batch, Noticed, Requested
    from mcp_gen.core.transport import Duplex
    from mcp_gen.session.kernel import Call, Kernel
    from mcp_wire.profile import Profile

__all__ = ["ServerSession"]

C = TypeVar("C")
_log = logging.getLogger("mcp_gen.server")

GRACE_S = 5.0
"""How long requests in flight may still run when the client has gone."""


class ServerSession(Link, Session, Generic[C]):
    """Drives one client's connection."""

    def __init__(self, kernel: Kernel[C], transport: Duplex) -> None:
        Link.__init__(self, transport, kernel.notices(), kernel.hooks.outbound, _log)
        Session.__init__(self, kernel)
        self._kernel = kernel
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._held: list[bytes] | None = None
        """Messages that wait for the handshake before them; None while no handshake is on."""
        self._opened = False
        self._ending = False
        self._keeping_alive: asyncio.Task[None] | None = None
        self._named: Profile | None = None
        """What the last request named for itself, where there is no handshake."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before, and where nothing is agreed on."""
        return self._connection.profile

    @property
    def outlet(self) -> ServerSession[C]:
        """The connection itself."""
        return self

    def agree(self, caller: Caller, profile: Profile) -> None:
        """Settle the revision of this connection, and who the client is."""
        super().agree(caller, profile)
        self._connection.profile = profile
        self._open()

    def end(self) -> None:
        """End the session: what is in flight gets a moment, then the connection is closed."""
        self._ending = True
        if not self._ended.done():
            self._ended.set_result(None)

    async def wait_ended(self) -> None:
        """Wait until the client has hung up, or the session is being ended."""
        await asyncio.shield(self._ended)

    async def start(self) -> None:
        """Begin to answer; to be followed by `finish`."""
        await self._transport.start(self)

    async def serve(self) -> None:
        """Answer until the client hangs up, then let what is in flight end."""
        await self.start()
        await self.finish()

    async def finish(self) -> None:
        """Wait until the session is to end, and let what is in flight end."""
        try:
            await self._ended
            for end in self._kernel.ending:
                end(self)
            await settle(self._tasks, GRACE_S)
        finally:
            if self._keeping_alive:
                self._keeping_alive.cancel()
            await settle(self._tasks, 0)
            try:
                await self._transport.close()
            finally:
                self._kernel.sessions.discard(self)
                if self._opened:
                    await self._kernel.hooks.tell_closed(self)

    def _open(self) -> None:
        """The session has begun: tell whoever listens, once."""
        if not self._opened:
            self._opened = True
            self._kernel.sessions.add(self)
            if self._kernel.hooks.opened:
                self._notices.listen(self._kernel.hooks.tell_opened(self))
            self._keep_alive()

    def _keep_alive(self) -> None:
        limits, profile = self._kernel.limits, self.profile
        if limits.keep_alive_s is not None and profile is not None and profile.alive is not None:
            asks = keep_alive(
                self, every_s=limits.keep_alive_s, timeout_s=limits.keep_alive_timeout_s
            )
            self._keeping_alive = self._loop.create_task(asks)

    # --- what the transport calls ---

    def receive(self, message: bytes) -> None:
        """One message came: start what it asks for."""
        if self._held is not None:
            self._held.append(message)
        else:
            super().receive(message)

    def oversized(self, limit_bytes: int) -> None:
        """A message was too long to be read."""
        error = InvalidRequest(f"a message may have at most {limit_bytes} bytes")
        self._transport.send(envelope.failure(None, envelope.error_object(error)))

    def closed(self, error: BaseException | None) -> None:
        """The client hung up."""
        if error:
            _log.warning("the connection broke: %s", error)
        self._lose(SessionLost("the client hung up"))
        self.end()

    # --- what came ---

    def _asked(self, event: Requested) -> None:
        try:
            call = self._prepare(event)
        except (McpError, ProtocolError) as error:
            refusal = envelope.failure(event.id, envelope.error_object(error))
            self._send(refusal, event.batch)
            return
        run = self._run(call, event.batch)
        if call.route.method is call.binding.profile.handshake:
            # What it agrees on decides how everything behind it is read.
            self._held = []
            run = self._shake_hands(run)
        self._connection.in_flight[event.id] = self._loop.create_task(run)

    async def _shake_hands(self, run: Coroutine[Any, Any, None]) -> None:
        try:
            await run
        finally:
            held, self._held = self._held or [], None
            for message in held:
                self.receive(message)

    def _prepare(self, event: Requested) -> Call[C]:
        binding = self._kernel.choose(self._connection, event.params)
        self._make_room(event, binding.profile)
        # The handshake's client is the caller only at the revision that was agreed on with it.
        known = self.caller if binding.profile is self._connection.profile else None
        caller = known or self._caller(binding.profile)
        call = self._kernel.prepare(binding, event.id, event.method, event.params, caller)
        if binding.profile.handshake is None:
            self._named = binding.profile
            self._open()
        return call

    def _make_room(self, event: Requested, profile: Profile) -> None:
        if self._ending:
            raise InvalidRequest("this server is about to end, and takes no more requests")
        if profile.alive is None or event.method != profile.alive.name:
            self._kernel.limits.make_room(len(self._connection.in_flight))

    def _caller(self, profile: Profile) -> Caller:
        return Caller(profile, self, self if profile.session_state else None)

    async def _run(self, call: Call[C], batch: Batch | None) -> None:
        answer: bytes | None = None
        try:
            answer = await self._kernel.run(call)
        finally:
            task: asyncio.Task[None] = self._connection.in_flight.pop(call.id)
            # A cancelled request is answered with nothing, even where its handler goes on.
            self._send(None if task.cancelling() else answer, batch)

    def _told(self, event: Noticed) -> None:
        if self.profile:
            self.heed(self.profile, event.method)
        super()._told(event)

    def _spoken(self, event: Noticed) -> Profile | None:
        # Notifications name nothing: where nothing was agreed on, they follow the requests.
        return self.profile or self._named or self._kernel.choose(None, event.params).profile

    def _hook_context(self, profile: Profile) -> Any:
        known = self.caller if profile is self.profile else None
        return self._kernel.context(None, known or self._caller(profile), None)

    def _outbound_context(self) -> Any:
        return self
