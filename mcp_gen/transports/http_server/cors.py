"""What lets a page on another origin talk to the server: said for listed origins alone.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import mcp_wire

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.transports.http_server.asgi import Line

__all__ = ["answer_headers", "preflight_headers"]

MAX_AGE_S = 600
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
"""What a header can be called: nothing else that was asked for is to come back in a header."""

_profiles = [mcp_wire.profile(revision) for revision in mcp_wire.REVISIONS]
_told = {profile.session_header for profile in _profiles}
_asked = {
    *(p.version_header for p in _profiles),
    *(p.method_header for p in _profiles),
    *(p.name_header for p in _profiles),
    *_told,
}
EXPOSED = ", ".join(
    sorted({name.lower() for name in _told if name} | {"retry-after", "www-authenticate"})
).encode()
ALLOWED = frozenset(name.lower().encode() for name in _asked if name) | {
    b"accept",
    b"authorization",
    b"content-type",
    b"last-event-id",
}
PREFIXES = tuple(p.param_header_prefix.lower().encode() for p in _profiles if p.param_header_prefix)


def answer_headers(origin: bytes) -> list[Line]:
    """What an answer says to a page of this origin, which has been admitted."""
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", EXPOSED),
        (b"vary", b"origin"),
    ]


def preflight_headers(headers: Headers, methods: tuple[str, ...]) -> list[Line]:
    """The rest of the answer to a browser that asks beforehand what a page may send."""
    asked = headers.raw.get(b"access-control-request-headers", b"").lower().split(b",")
    names = [name.strip() for name in asked]
    granted = [
        name
        for name in names
        if name in ALLOWED or (name.startswith(PREFIXES) and _TOKEN.fullmatch(name))
    ]
    return [
        (b"access-control-allow-methods", ", ".join(methods).encode()),
        (b"access-control-allow-headers", b", ".join(granted)),
        (b"access-control-max-age", b"%d" % MAX_AGE_S),
    ]
