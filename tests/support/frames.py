"""Client messages of one revision, byte for byte, and checks of the responses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen.compat.frame_check import ClosedViolation, FrameChecker
from mcp_gen.compat.recording import Frame
from mcp_gen.core.extensions.extensions import Extensions
from mcp_wire.profile import Profile

__all__ = [
    "BATCHING",
    "HANDSHAKE",
    "PER_REQUEST",
    "STREAMABLE",
    "Speaker",
    "decoded",
    "each_lifecycle",
    "every_revision",
    "server_violations",
    "with_batches",
    "with_handshake",
    "with_sessions",
    "without_batches",
]

ALL = mcp_wire.REVISIONS
HANDSHAKE = [one for one in ALL if mcp_wire.profile(one).handshake][-1]
"""Newest revision with a handshake."""
PER_REQUEST = [one for one in ALL if not mcp_wire.profile(one).handshake][-1]
"""Newest revision without a handshake, where every request names it."""

STREAMABLE = [one for one in ALL if mcp_wire.profile(one).http_transport == "streamable"]
"""Revisions with the Streamable HTTP endpoint."""

BATCHING = [one for one in ALL if mcp_wire.profile(one).allows_batches]

every_revision = pytest.mark.parametrize("revision", ALL)
each_lifecycle = pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
with_handshake = pytest.mark.parametrize(
    "revision", [one for one in ALL if mcp_wire.profile(one).handshake]
)
with_sessions = pytest.mark.parametrize(
    "revision", [one for one in ALL if mcp_wire.profile(one).session_header]
)
with_batches = pytest.mark.parametrize("revision", BATCHING)
without_batches = pytest.mark.parametrize("revision", [one for one in ALL if one not in BATCHING])


@dataclass(frozen=True)
class Speaker:
    """Client of one revision, as the bytes that it sends."""

    revision: str

    @property
    def profile(self) -> Profile:
        """Facts of the revision."""
        return mcp_wire.profile(self.revision)

    @property
    def opening(self) -> list[bytes]:
        """Return the handshake and its notification, or nothing. The handshake's id is 0."""
        return [] if self.profile.handshake is None else [self.initialize(0), self.initialized]

    def initialize(self, id: int, asked: str | None = None) -> bytes:
        """Return a handshake that asks for a revision, by default the speaker's own."""
        params = {
            "protocolVersion": asked or self.revision,
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        return encoded({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})

    @property
    def initialized(self) -> bytes:
        """Return the notification after the handshake."""
        return encoded({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def meta(self) -> dict[str, Any]:
        """Return the `_meta` of every request of this revision."""
        profile = self.profile
        if profile.protocol_version_key is None:
            return {}
        return {
            profile.protocol_version_key: self.revision,
            str(profile.client_capabilities_key): {},
            str(profile.client_info_key): {"name": "raw", "version": "1"},
        }

    def request(self, id: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
        """Return a request; a `_meta` among the params is merged into the revision's own."""
        params = params or {}
        meta = {**self.meta, **params.get("_meta", {})}
        params = {**params, "_meta": meta} if meta else params
        return encoded({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def call(self, id: Any, tool: str, **arguments: Any) -> bytes:
        """Return a tool call."""
        return self.request(id, "tools/call", {"name": tool, "arguments": arguments})

    def cancel(self, id: Any) -> bytes:
        """Return the cancellation of a request."""
        params = {"requestId": id}
        return encoded({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


def encoded(frame: Any) -> bytes:
    """Return a frame as JSON bytes."""
    return msgspec.json.encode(frame)


def decoded(lines: Iterable[bytes]) -> list[Any]:
    """Return the frames of a stream, in order."""
    return [msgspec.json.decode(line) for line in lines]


def server_violations(
    revision: str,
    frames: Sequence[Frame],
    *,
    custom: bool = False,
    extensions: Extensions | None = None,
) -> list[ClosedViolation]:
    """Return the violations of the server at `revision`; client frames are not checked.

    `custom` is true for a server with methods of its own, whose results cannot be checked;
    `extensions` are those of the server.
    """
    checker = FrameChecker(mcp_wire.profile(revision), extensions)
    found: list[ClosedViolation] = []
    client_is_right = True
    for frame in frames:
        violations = checker.check(frame.data, frame.sender)
        if frame.sender == "client":
            client_is_right = client_is_right and not violations
        else:
            found += violations
    # A message that is no request can still have an id, which its error repeats.
    excused = set() if client_is_right else {"answers no request"}
    excused |= {"answers a method that the revision lacks"} if custom else set()
    return [one for one in found if one.what not in excused]
