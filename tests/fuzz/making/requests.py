"""HTTP requests that carry the inputs: right headers, and steps away from them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mcp_wire.profile import Profile
from tests.fuzz.values import is_object

__all__ = ["HttpRequest", "Place", "mirrored", "request_for"]

Lines = list[tuple[bytes, bytes]]

ODD_VALUES = (
    b"", b" ", b"\xff\xfe", b"x" * 3000, b"2024-11-05", b"2026-07-28", b"1999-01-01", b"tools/list",
    b"=?base64?w7w=?=", b"=?base64?!!?=", b"*/*", b"text/html", b"application/json; charset=utf-8",
    b"text/event-stream", b"a,b", b"\t1", b"null", b"-1", b"1e9", b"\x00", b"echo", b"http://evil",
    b"localhost", b"none-of-yours",
)  # fmt: skip
ODD_NAMES = (
    b"host", b"origin", b"accept", b"content-type", b"content-length", b"mcp-session-id",
    b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-param-region", b"mcp-param-count",
    b"mcp-param-open", b"mcp-param-none", b"last-event-id", b"x-user", b"transfer-encoding",
    b"content-encoding", b"", b"x-\xff",
)  # fmt: skip
ODD_PATHS = ("/", "/mcp/", "/mcp?x=1", "/MCP", "//mcp", "/sse", "/sse/messages", "/%6dcp", "/é")
METHODS = ("GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "get", "POST")


@dataclass
class Place:
    """Address of a session: path, and the headers that name it."""

    path: str = "/mcp"
    query: bytes = b""
    session: Lines = field(default_factory=list[tuple[bytes, bytes]])
    other_sessions: tuple[bytes, ...] = ()
    """Ids of sessions that belong to someone else, or have ended."""


@dataclass
class HttpRequest:
    """One request."""

    method: str
    path: str
    query: bytes
    headers: Lines
    pieces: list[bytes]
    leaves: str = ""
    """When the client disconnects: `body`, before its body is whole; `answer`, soon after it."""

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def mirrored(profile: Profile, message: bytes) -> Lines:
    """Return the headers that mirror a message at a revision, as far as it can be read."""
    lines: Lines = []
    if profile.version_header:
        lines.append((profile.version_header.lower().encode(), profile.revision.encode()))
    if profile.method_header is None or profile.name_header is None:
        return lines
    try:
        found = json.loads(message)
        params: dict[str, Any] = found.get("params") or {}
        method = found["method"]
        named = [params[key] for key in ("name", "uri", "taskId") if key in params]
        arguments: Any = params.get("arguments") or {}
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return lines
    if isinstance(method, str):
        lines.append((profile.method_header.lower().encode(), _value(method)))
    if named and isinstance(named[0], str):
        lines.append((profile.name_header.lower().encode(), _value(named[0])))
    prefix = (profile.param_header_prefix or "").lower()
    for key, name in (("region", "region"), ("count", "count"), ("is_open", "open")):
        if is_object(arguments) and key in arguments and params.get("name") == "find":
            value = arguments[key]
            text = value if isinstance(value, str) else json.dumps(value)
            lines.append((f"{prefix}{name}".encode(), _value(text)))
    return lines


def _value(text: str) -> bytes:
    """Return a header value, encoded where a plain one cannot hold it."""
    if text.isascii() and text.isprintable() and text == text.strip() and text:
        return text.encode()
    encoded = base64.b64encode(text.encode("utf-8", "surrogatepass"))
    return b"=?base64?" + encoded + b"?="


def plain(profile: Profile, place: Place, message: bytes) -> Lines:
    """Return the headers of a well-behaved client."""
    return [
        (b"host", b"127.0.0.1"),
        (b"accept", b"application/json, text/event-stream"),
        (b"content-type", b"application/json"),
        *mirrored(profile, message),
        *place.session,
    ]


def request_for(profile: Profile, place: Place, message: bytes, random: Random) -> HttpRequest:
    """Return the request for an input: mostly a POST, with headers that are mostly right."""
    lines = plain(profile, place, message)
    method, path, query, leaves = "POST", place.path, place.query, ""
    roll = random.random()
    if roll < 0.07:
        method = random.choice(METHODS)
        message = b"" if random.random() < 0.8 else message
        if random.random() < 0.5:
            lines = [
                (b"accept", b"text/event-stream") if n == b"accept" else (n, v) for n, v in lines
            ]
        if random.random() < 0.3:
            lines.append((b"last-event-id", random.choice((b"0", b"1", b"x-1", *ODD_VALUES))))
    elif roll < 0.1:
        path = random.choice(ODD_PATHS)
    elif roll < 0.12:
        leaves = random.choice(("body", "answer"))
    if random.random() < 0.3:
        for _ in range(1 if random.random() < 0.7 else 2):
            lines = _changed(lines, place, random)
    return HttpRequest(method, path, query, lines, _pieces(message, random), leaves)


def _changed(lines: Lines, place: Place, random: Random) -> Lines:
    at = random.randrange(len(lines))
    name, value = lines[at]
    match random.randrange(7):
        case 0:
            return lines[:at] + lines[at + 1 :]
        case 1:
            return [*lines, (name, value)]
        case 2:
            return [*lines, (name, random.choice(ODD_VALUES))]
        case 3:
            return [*lines[:at], (name, random.choice(ODD_VALUES)), *lines[at + 1 :]]
        case 4:
            return [*lines, (random.choice(ODD_NAMES), random.choice((*ODD_VALUES, value)))]
        case 5 if place.session and place.other_sessions:
            key = place.session[0][0]
            kept = [one for one in lines if one[0] != key]
            return [*kept, (key, random.choice(place.other_sessions))]
        case _:
            return lines[::-1]


def _pieces(data: bytes, random: Random) -> list[bytes]:
    if random.random() < 0.8 or len(data) < 2:
        return [data]
    at = random.randrange(len(data))
    return [data[:at], b"", data[at:]]


def as_text(request: Any) -> bytes:
    """Return a request as bytes, for reports."""
    head = b"".join(b"%b: %b\n" % line for line in request.headers)
    return b"%b %b\n%b\n%b" % (request.method.encode(), request.path.encode(), head, request.body)
