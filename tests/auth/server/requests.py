"""Requests to a gate, as the transports make them."""

from __future__ import annotations

from typing import Any

from mcp_gen.core.transport.authorizing import Admission, Refusal, RequestGate
from mcp_gen.core.transport.headers import Headers

RESOURCE = "https://api.example.com/mcp"
ISSUER = "https://login.example.com"
NOW = 1_800_000_000.0


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def scope(*lines: tuple[str, str], path: str = "/mcp", **more: Any) -> dict[str, Any]:
    """Return the ASGI scope of a POST."""
    return {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "server": ("10.0.0.5", 8000),
        "client": ("203.0.113.9", 50000),
        "path": path,
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in lines],
    } | more


async def ask(gate: RequestGate, /, *lines: tuple[str, str], **more: Any) -> Admission | Refusal:
    """Send a request through the gate, as a transport does."""
    asked = scope(*lines, **more)
    headers = Headers(asked["headers"])
    return gate.known(asked, headers) or await gate.admit(asked, headers)


def bearer(token: str) -> tuple[str, str]:
    return "authorization", f"Bearer {token}"


async def admitted(gate: RequestGate, /, *lines: tuple[str, str], **more: Any) -> Admission:
    """Send a request that has to be admitted."""
    found = await ask(gate, *lines, **more)
    assert isinstance(found, Admission), found
    return found


async def refused(gate: RequestGate, /, *lines: tuple[str, str], **more: Any) -> Refusal:
    """Send a request that has to be refused."""
    found = await ask(gate, *lines, **more)
    assert isinstance(found, Refusal), found
    return found


def challenges(refusal: Refusal) -> list[str]:
    """Return the challenges of a refusal."""
    return [value.decode() for name, value in refusal.headers if name == b"www-authenticate"]
