"""Client messages as prepared bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.programs.bare import PER_REQUEST

__all__ = [
    "HANDSHAKE",
    "PER_REQUEST",
    "WHO_ASKS",
    "call",
    "initialize",
    "initialized",
    "raw_post",
    "request",
]

HANDSHAKE = "2025-11-25"
"""The newest revision that begins with a handshake."""

_CLIENT_INFO = {"name": "bench", "version": "1.0.0"}
_PREFIX = "io.modelcontextprotocol"
WHO_ASKS = {
    f"{_PREFIX}/protocolVersion": PER_REQUEST,
    f"{_PREFIX}/clientCapabilities": {},
    f"{_PREFIX}/clientInfo": _CLIENT_INFO,
}
"""Metadata of each request at the newest revision: who asks."""


def call(id: int, revision: str, tool: str = "add") -> bytes:
    """Return a `tools/call` request of a tool that adds two numbers."""
    return request(id, revision, "tools/call", {"name": tool, "arguments": {"a": 17, "b": 25}})


def request(id: int, revision: str, method: str, params: dict[str, Any]) -> bytes:
    """Return a request."""
    if revision == PER_REQUEST:
        params = {**params, "_meta": WHO_ASKS}
    return _request(id, method, params)


def initialize(id: int) -> bytes:
    """Return an `initialize` request."""
    return _request(
        id,
        "initialize",
        {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT_INFO},
    )


def initialized() -> bytes:
    """Return the `notifications/initialized` message."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": "notifications/initialized"})


def raw_post(headers: dict[str, str], body: bytes, method: str = "POST") -> bytes:
    """Return an HTTP request to the endpoint as bytes."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _request(id: int, method: str, params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
