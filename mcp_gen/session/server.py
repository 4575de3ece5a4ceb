"""The server's side of a duplex transport: one connection, one task per request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.connection import Connection, Noticed, Refused, Requested
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.session.kernel import settle
from mcp_gen.session.lifecycle import Caller

if TYPE_CHECKING:
    from mcp_gen.core.connection import Batch, Event
    from mcp_gen.core.transport import Duplex
    from mcp_gen.session.kernel import Call, Kernel
    from mcp_wire.profile import Profile

__all__ = ["ServerSession"]

C = TypeVar("C")
_log = logging.getLogger("mcp_gen.server")

GRACE_S = 5.0
"""How long requests in flight may still run when the client has gone."""


class ServerSession(Generic[C]):
    """Drives one client's connection. It is a transport's receiver."""

    def __init__(self, kernel: Kernel[C], transport: Duplex) -> None:
        self._kernel = kernel
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._connection: Connection[None] = Connection()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._held: list[bytes] | None = None
        """Messages that wait for the handshake before them; None while no handshake is on."""
        self.caller: Caller | None = None
        """The client, once it has shaken hands."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on in the handshake; None before, and where there is none."""
        return self._connection.profile

    def agree(self, caller: Caller, profile: Profile) -> None:
        """Settle the revision of this connection, and who the client is."""
        caller.profile = profile
        caller.ready = True
        self._connection.profile = profile
        self.caller = caller

    async def serve(self) -> None:
        """Answer until the client hangs up, then let what is in flight end."""
        await self._transport.start(self)
        try:
            await self._ended
            await settle(self._tasks, GRACE_S)
        finally:
            await settle(self._tasks, 0)
            await self._transport.close()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return list(self._connection.in_flight.values())

    # --- what the transport calls ---

    def receive(self, message: bytes) -> None:
        """One message came: start what it asks for."""
        if self._held is not None:
            self._held.append(message)
            return
        for event in self._connection.receive(message):
            self._handle(event)

    def oversized(self, limit_bytes: int) -> None:
        """A message was too long to be read."""
        error = InvalidRequest(f"a message may have at most {limit_bytes} bytes")
        self._transport.send(envelope.failure(None, envelope.error_object(error)))

    def closed(self, error: BaseException | None) -> None:
        """The client hung up."""
        if error:
            _log.warning("the connection broke: %s", error)
        if not self._ended.done():
            self._ended.set_result(None)

    # --- events ---

    def _handle(self, event: Event) -> None:
        if isinstance(event, Requested):
            self._start(event)
        elif isinstance(event, Noticed):
            self._notice(event)
        elif isinstance(event, Refused):
            _log.warning("refused a message: %s", event.error)
            self._send(event.answer, event.batch)

    def _start(self, event: Requested) -> None:
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
        # The handshake's client is the caller only at the revision that was agreed on with it.
        known = self.caller if binding.profile is self._connection.profile else None
        caller = known or Caller(binding.profile, self)
        return self._kernel.prepare(binding, event.id, event.method, event.params, caller)

    async def _run(self, call: Call[C], batch: Batch | None) -> None:
        answer: bytes | None = None
        try:
            answer = await self._kernel.run(call)
        finally:
            task: asyncio.Task[None] = self._connection.in_flight.pop(call.id)
            # A cancelled request is answered with nothing, even where its handler goes on.
            self._send(None if task.cancelling() else answer, batch)

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if whole is not None:
            self._transport.send(whole)

    def _notice(self, event: Noticed) -> None:
        binding = self._kernel.choose(self._connection, event.params)
        method = binding.profile.cancelled
        if method and event.method == method.name:
            self._cancel(method.decode_params, event)

    def _cancel(self, decode: Any, event: Noticed) -> None:
        try:
            params = decode(event.params)
        except ValueError as error:
            _log.warning("%s: %s", event.method, error)
            return
        task = self._connection.in_flight.get(params.request_id)
        if task is not None:
            # In the next turn: a task that is cancelled before it began runs no `finally`.
            self._loop.call_soon(task.cancel)
