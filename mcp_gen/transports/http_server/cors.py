"""CORS headers for allowed origins, and answers to preflight requests.

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
"""Characters of a header name; other requested names are not echoed into a header."""

_profiles = [mcp_wire.profile(revision) for revision in mcp_wire.REVISIONS]
_session_headers = {profile.session_header for profile in _profiles}
_request_headers = {
    *(p.version_header for p in _profiles),
    *(p.method_header for p in _profiles),
    *(p.name_header for p in _profiles),
    *_session_headers,
}
EXPOSED = ", ".join(
    sorted(
        {name.lower() for name in _session_headers if name}
        | {"dpop-nonce", "retry-after", "www-authenticate"}
    )
).encode()
ALLOWED = frozenset(name.lower().encode() for name in _request_headers if name) | {
    b"accept",
    b"authorization",
    b"content-type",
    b"dpop",
    b"last-event-id",
}
PREFIXES = tuple(p.param_header_prefix.lower().encode() for p in _profiles if p.param_header_prefix)


def answer_headers(origin: bytes) -> list[Line]:
    """Return the CORS headers of a response to an allowed origin."""
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", EXPOSED),
        (b"vary", b"origin"),
    ]


def preflight_headers(headers: Headers, methods: tuple[str, ...]) -> list[Line]:
    """Return the headers that grant a CORS preflight request, beside `answer_headers`.

    Args:
        headers: The headers of the preflight request.
        methods: The HTTP methods of the endpoint.
    """
    requested = headers.raw.get(b"access-control-request-headers", b"").lower().split(b",")
    names = [name.strip() for name in requested]
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
