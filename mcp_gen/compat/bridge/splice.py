"""Splices a client's connection to the server's where both speak the same revision."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct

import mcp_wire
from mcp_gen.compat.bridge.upstream_tap import UpstreamTap, copier
from mcp_gen.compat.bridge.upstreams import Identity
from mcp_gen.core import envelope
from mcp_gen.core.errors import McpGenError
from mcp_gen.core.loose_json import read_as, read_meta
from mcp_gen.core.revisions import find_revision
from mcp_gen.core.transport.protocols import Paced, Posts
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp_gen.compat.bridge.upstream import Upstream
    from mcp_gen.compat.bridge.upstreams import Upstreams
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.protocols import Duplex, Receiver
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["Splice"]

MAX_HELD_BYTES = 16 * 1024 * 1024
"""Bytes of a client's messages that wait while the session with the server is being opened."""

_log = logging.getLogger("mcp_gen.bridge")


class _Agreed(Struct, rename="camel"):
    protocol_version: str


class _HandshakeAnswer(Struct):
    result: _Agreed


_read_answer = msgspec.json.Decoder(_HandshakeAnswer)


class _FirstMessage(NamedTuple):
    """First message of a client that names its revision."""

    message: bytes
    id: RequestId | None
    revision: str
    is_handshake: bool
    capabilities: Any
    client_info: Any

    def identity(self) -> Identity:
        declared = read_as(latest.ClientCapabilities, self.capabilities)
        info = read_as(latest.Implementation, self.client_info)
        return Identity.of_client(declared or latest.ClientCapabilities(), info, self.is_handshake)


class Splice:
    """Transport of one client, which is copied to the server's where nothing has to change.

    The first message that names a revision decides. Until then, and if the revisions differ or one
    side has no connection of both directions, the bridge answers.

    Args:
        transport: The transport itself; not started yet.
        kernel: Kernel of the bridge, which knows the revisions for clients.
        upstreams: Sessions with the server.
    """

    def __init__(self, transport: Duplex, kernel: Kernel[Any], upstreams: Upstreams) -> None:
        self._transport = transport
        self._kernel = kernel
        self._upstreams = upstreams
        self.connection: ServerConnection[Any] | None = None
        self._receiver: Receiver | None = None
        self._forward: Callable[[bytes], None] | None = None
        """Sends a message to the server as it is; None as long as the bridge answers."""
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._decided = False
        self._opening: asyncio.Task[None] | None = None
        self._tap: UpstreamTap | None = None
        self._upstream: Upstream | None = None

    # --- Receiver ---

    def receive(self, message: bytes) -> None:
        """Handle one message of the client."""
        if self._forward is not None:
            self._forward(message)
        elif self._held is not None:
            self._hold(message, self._held)
        elif self._decided or not self._begin(message):
            self._to_bridge(message)

    def _to_bridge(self, message: bytes) -> None:
        if self._receiver is not None:
            self._receiver.receive(message)

    def _hold(self, message: bytes, held: list[bytes]) -> None:
        self._held_bytes += len(message)
        held.append(message)
        if self._held_bytes > MAX_HELD_BYTES and self._opening is not None:
            # The bridge refuses what is too much.
            self._opening.cancel()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Answer a message that is too long to be read."""
        return self._receiver.oversized(limit_bytes, beginning, end) if self._receiver else None

    def closed(self, error: BaseException | None) -> None:
        """Handle a disconnect of the client."""
        if self._receiver is not None:
            self._receiver.closed(error)

    # --- the decision ---

    def _begin(self, message: bytes) -> bool:
        """Open the session with the server if a message names a revision; the message waits."""
        opening = self._read(message)
        if opening is None or not self._upstreams.may_speak(opening.revision):
            self._decided = opening is not None
            return False
        self._held = [message]
        task = asyncio.get_running_loop().create_task(self._open(opening))
        task.add_done_callback(self._opened)
        self._opening = task
        return True

    def _read(self, message: bytes) -> _FirstMessage | None:
        try:
            frame = envelope.read(message)
        except McpGenError:
            return None
        method, id = frame.method, frame.id
        if method is UNSET or not isinstance(id, int | str):
            return None
        if self._kernel.names_revision(frame.params):
            return self._read_request(message, id, frame.params)
        for revision in self._kernel.handshakes[-1:]:
            handshake = mcp_wire.profile(revision).handshake
            if handshake is not None and handshake.name == method:
                return self._read_handshake(message, id, handshake, frame.params)
        return None

    def _read_handshake(
        self, message: bytes, id: RequestId, handshake: Any, params: Raw
    ) -> _FirstMessage | None:
        try:
            read = handshake.decode_params(params)
        except msgspec.DecodeError:
            return None
        revision = find_revision(read.protocol_version, self._kernel.handshakes)
        if revision is None:
            return None
        return _FirstMessage(message, id, revision, True, read.capabilities, read.client_info)

    def _read_request(self, message: bytes, id: RequestId, params: Raw) -> _FirstMessage | None:
        meta = read_meta(params) or {}
        for revision in self._kernel.per_request:
            profile = mcp_wire.profile(revision)
            capabilities = meta.get(profile.client_capabilities_key or "")
            named = meta.get(profile.protocol_version_key or "")
            if find_revision(named, [revision]) and isinstance(capabilities, dict):
                info = meta.get(profile.client_info_key or "")
                return _FirstMessage(message, id, revision, False, capabilities, info)
        return None

    async def _open(self, opening: _FirstMessage) -> None:
        """Open the session with the server; splice both connections if the revisions are equal."""
        transport = self._upstreams.target().dial()
        if isinstance(transport, Posts):
            await self._adopt(
                opening, await self._upstreams.open(opening.identity(), opening.revision, transport)
            )
            return
        tap = self._tap = UpstreamTap(transport)
        if opening.is_handshake and opening.id is not None:
            async with asyncio.timeout(self._upstreams.limits.timeout_s):
                answer = await tap.ask(opening.message, opening.id)
            if _revision_in(answer) == opening.revision:
                self._splice(tap, [answer])
                return
            tap.record(answer)
        upstream = await self._upstreams.open(opening.identity(), opening.revision, tap)
        self._tap = None
        if not opening.is_handshake and upstream.session.revision == opening.revision:
            self._upstream = upstream
            self._splice(tap, [])
            return
        await self._adopt(opening, upstream)

    async def _adopt(self, opening: _FirstMessage, upstream: Upstream) -> None:
        key: Hashable = self.connection
        if not opening.is_handshake:
            key = (self.connection, encode(opening.capabilities))
        self._upstreams.adopt(key, upstream)

    def _splice(self, tap: UpstreamTap, answers: list[bytes]) -> None:
        up, down = tap.inner, self._transport
        to_client, to_server = copier(up, down), copier(down, up)
        for answer in answers:
            to_client(answer)
        held, self._held = self._held or [], None
        for message in held[len(answers) :]:
            to_server(message)
        self._forward = to_server
        tap.splice(to_client, self._server_closed)

    def _server_closed(self, error: BaseException | None) -> None:
        if error is not None:
            _log.warning("the server hung up: %s", error)
        if self._receiver is not None:
            self._receiver.closed(None)

    def _opened(self, task: asyncio.Task[None]) -> None:
        """Let the bridge answer what waits, unless it was passed on to the server."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.debug("the bridge answers: %s", error)
        held, self._held = self._held, None
        self._decided = True
        for message in held or ():
            self._to_bridge(message)

    # --- Duplex ---

    async def start(self, receiver: Receiver) -> None:
        """Start delivering messages."""
        self._receiver = receiver
        await self._transport.start(self)

    def send(self, message: bytes) -> None:
        """Send a message of the bridge to the client."""
        self._transport.send(message)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent (back-pressure)."""
        await self._transport.drain()

    @property
    def full(self) -> bool:
        """True if the client reads so slowly that notifications should wait."""
        return isinstance(self._transport, Paced) and self._transport.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the client has read enough for more to be sent."""
        if isinstance(self._transport, Paced):
            self._transport.call_when_writable(act)

    async def aclose(self) -> None:
        """End the connection to the server, then that of the client."""
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        # The server may still answer: its last messages are sent before this connection closes.
        if self._tap is not None:
            await self._tap.aclose()
        if self._upstream is not None:
            await self._upstream.aclose()
        await self._transport.aclose()


def _revision_in(answer: bytes) -> str | None:
    try:
        return _read_answer.decode(answer).result.protocol_version
    except msgspec.DecodeError:
        return None
