"""The messages that a client sends, as bytes made beforehand."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.programs.bare import PER_REQUEST

__all__ = ["HANDSHAKE", "PER_REQUEST", "call", "initialize", "initialized"]

HANDSHAKE = "2025-11-25"
"""The newest revision that begins with a handshake."""

_CLIENT_INFO = {"name": "bench", "version": "1.0.0"}
_PREFIX = "io.modelcontextprotocol"
_WHO_ASKS = {
    f"{_PREFIX}/protocolVersion": PER_REQUEST,
    f"{_PREFIX}/clientCapabilities": {},
    f"{_PREFIX}/clientInfo": _CLIENT_INFO,
}


def call(id: int, revision: str) -> bytes:
    """`tools/call` of `add`."""
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 17, "b": 25}}
    if revision == PER_REQUEST:
        params["_meta"] = _WHO_ASKS
    return _request(id, "tools/call", params)


def initialize(id: int) -> bytes:
    """The handshake."""
    return _request(
        id,
        "initialize",
        {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT_INFO},
    )


def initialized() -> bytes:
    """The notification behind the handshake."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": "notifications/initialized"})


def _request(id: int, method: str, params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
