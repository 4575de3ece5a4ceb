"""Requests as they are sent, and responses as they are read: bounded, and not compressed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from urllib.parse import parse_qsl

import httpcore2
from msgspec import Struct

from mcp_gen.auth.fetching.targets import Target
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.auth.flows.token_requests import SECRET_FIELDS
from mcp_gen.core.errors import TransportError

__all__ = [
    "ResponseLimits",
    "bounded_body",
    "explained",
    "header_lines",
    "joined",
    "read_response",
    "request_of",
    "secrets_in",
]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_MAX_REASON = 200
"""Characters of a reason in an error: a server may have chosen some of them."""
_UNREACHABLE = {"ConnectError", "ProxyError"}


class ResponseLimits(Struct, frozen=True):
    """Limits of a response.

    Args:
        body_bytes: Maximum size of the body.
        header_bytes: Maximum size of the headers.
    """

    body_bytes: int
    header_bytes: int

    @property
    def received_bytes(self) -> int:
        """Bytes of a whole response; a body in chunks has at most as much framing as content."""
        return self.header_bytes + 2 * self.body_bytes


def header_lines(ask: HttpAsk) -> list[tuple[bytes, bytes]]:
    """Return the header lines of a request, without Host and Content-Length.

    Args:
        ask: The request.

    Raises:
        TransportError: A header has a character that is not allowed. The text does not quote it:
            headers hold secrets.
    """
    lines: list[tuple[bytes, bytes]] = []
    for name, value in ask.headers.items():
        if not _NAME.fullmatch(name.lower()) or not _VALUE.fullmatch(value):
            raise TransportError("a header has a character that is not allowed in it")
        lines.append((name.encode(), value.encode("latin-1")))
    # What is compressed has no size before it is decompressed.
    lines.append((b"accept-encoding", b"identity"))
    return lines


def secrets_in(ask: HttpAsk) -> set[str]:
    """Return the secrets of a request: its credentials, and those of its form.

    Args:
        ask: The request.
    """
    found = {ask.headers.get("authorization", "").rpartition(" ")[2], ask.headers.get("dpop", "")}
    for name, value in parse_qsl((ask.body or b"").decode("utf-8", "replace")):
        if name in SECRET_FIELDS:
            found.add(value)
    return found


def request_of(ask: HttpAsk, target: Target, connect_timeout_s: float) -> httpcore2.Request:
    """Return a request for httpcore2.

    Args:
        ask: The request.
        target: Its URL.
        connect_timeout_s: Seconds for the connection, and again for its encryption.
    """
    lines = [(b"host", target.authority.encode()), *header_lines(ask)]
    if ask.body is not None:
        lines.append((b"content-length", b"%d" % len(ask.body)))
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    extensions = {"timeout": {"connect": connect_timeout_s}}
    return httpcore2.Request(
        ask.method, url, headers=lines, content=ask.body, extensions=extensions
    )


async def read_response(response: httpcore2.Response, limits: ResponseLimits) -> HttpAnswer:
    """Return a response with its body.

    Args:
        response: The response, whose body is still to be received.
        limits: Its limits.

    Raises:
        TransportError: It is larger, or compressed.
    """
    lines = response.headers
    if sum(len(name) + len(value) for name, value in lines) > limits.header_bytes:
        raise TransportError(
            f"the response has more than {limits.header_bytes} bytes of headers (max_header_bytes)"
        )
    headers = joined(lines)
    body = await bounded_body(headers, response.aiter_stream(), limits.body_bytes)
    return HttpAnswer(response.status, headers, body)


def joined(lines: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Return header values by name in lower case; those of a repeated header joined by commas.

    Args:
        lines: The header lines.
    """
    headers: dict[str, str] = {}
    for key, value in lines:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers


async def bounded_body(
    headers: Mapping[str, str], chunks: AsyncIterator[bytes], max_bytes: int
) -> bytes:
    """Return a body that is not compressed.

    Args:
        headers: The response headers, names in lower case.
        chunks: The body, as received.
        max_bytes: Its maximum size.

    Raises:
        TransportError: It is larger, or compressed.
    """
    if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise TransportError("the response is compressed, which was not asked for")
    length = headers.get("content-length", "")
    # Of a length of many digits, some are enough to know that it is too much.
    size = int(length[:20]) if length.isascii() and length.isdigit() else 0
    body = bytearray()
    if size <= max_bytes:
        async for chunk in chunks:
            body += chunk
            size = len(body)
            if size > max_bytes:
                break
    if size > max_bytes:
        raise TransportError(f"the response has more than {max_bytes} bytes (max_body_bytes)")
    return bytes(body)


def explained(error: Exception) -> TransportError:
    """Return the error to raise for one of httpcore2, httpx or httpx2.

    Args:
        error: The error.
    """
    if isinstance(error, TransportError):
        return error
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    reason = getattr(root, "strerror", None) or str(root) or type(root).__name__
    reason = " ".join(str(reason).split())[:_MAX_REASON]
    # The classes of httpx and httpx2 have the names of those of httpcore2.
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ConnectTimeout" in names:
        return TransportError("cannot be reached in half of the time for a request (timeout_s)")
    if names & _UNREACHABLE:
        return TransportError(f"cannot be reached: {reason}")
    return TransportError(f"the request failed: {reason}")
