"""Requests and responses of the endpoints: bounded forms, one value per name, headers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import AuthError

__all__ = ["EndpointRefusal", "WebReply", "WebRequest", "json_reply", "read_request", "send_reply"]

MAX_BODY_BYTES = 32 * 1024
MAX_QUERY_BYTES = 16 * 1024
MAX_FIELDS = 50
BODY_TIMEOUT_S = 10.0
OPEN = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization, content-type, mcp-protocol-version",
}
"""Headers of the endpoints that read no cookie: pages of every origin may use them."""


class EndpointRefusal(AuthError):
    """A request that is refused.

    Args:
        error: Error code of RFC 6749 or RFC 7591.
        description: What was expected: fixed text, nothing of the request.
        status: The HTTP status.
    """

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description, error)
        self.code = error
        self.description = description
        self.status = status


class WebRequest(Struct, frozen=True):
    """A request to an endpoint, with its whole body. Its repr has no secret."""

    method: str
    query: bytes
    body: bytes
    headers: Mapping[str, str]

    def params(self) -> dict[str, str]:
        """Return the parameters of the query.

        Raises:
            EndpointRefusal: One is there twice, or there are too many.
        """
        return _fields(self.query)

    def form(self) -> dict[str, str]:
        """Return the fields of the form in the body.

        Raises:
            EndpointRefusal: The body is no form, or has a field twice.
        """
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise EndpointRefusal(
                "invalid_request", "expected the type application/x-www-form-urlencoded"
            )
        return _fields(self.body)

    def cookie(self, name: str) -> str | None:
        """Return the value of a cookie; None if it is not there exactly once."""
        pairs = [one.strip().partition("=") for one in self.headers.get("cookie", "").split(";")]
        found = [value for key, _, value in pairs if key == name]
        return found[0] if len(found) == 1 else None

    def __repr__(self) -> str:
        return f"WebRequest({self.method})"


class WebReply(Struct, frozen=True):
    """A response. Its repr has no secret."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        return f"WebReply({self.status})"


def json_reply(value: object, status: int = 200) -> WebReply:
    """Return a response with JSON that nobody stores, and that pages of every origin may read."""
    headers = {"content-type": "application/json", "cache-control": "no-store", **OPEN}
    return WebReply(status, headers, msgspec.json.encode(value))


async def read_request(
    scope: Mapping[str, Any], receive: Callable[[], Awaitable[Mapping[str, Any]]]
) -> WebRequest:
    """Return the request of an ASGI scope.

    Args:
        scope: The ASGI scope.
        receive: The ASGI receive callable.

    Raises:
        EndpointRefusal: It is too large, or too slow.
    """
    query: bytes = scope.get("query_string", b"")
    if len(query) > MAX_QUERY_BYTES:
        raise EndpointRefusal("invalid_request", "expected a shorter query", 414)
    body = b""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            more = scope["method"] == "POST"
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message["type"] == "http.request" and message.get("more_body", False)
                if len(body) > MAX_BODY_BYTES:
                    raise EndpointRefusal("invalid_request", "expected a smaller body", 413)
    except TimeoutError:
        raise EndpointRefusal("invalid_request", "expected the body sooner", 408) from None
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        joint = "; " if key == "cookie" else ", "
        headers[key] = f"{headers[key]}{joint}{text}" if key in headers else text
    return WebRequest(scope["method"], query, body, headers)


async def send_reply(send: Callable[[Any], Awaitable[None]], reply: WebReply) -> None:
    """Send a response.

    Args:
        send: The ASGI send callable.
        reply: The response.
    """
    lines = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
    lines.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": lines})
    await send({"type": "http.response.body", "body": reply.body})


def _fields(data: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise EndpointRefusal(
            "invalid_request", f"expected at most {MAX_FIELDS} well-formed parameters"
        ) from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise EndpointRefusal("invalid_request", "expected each parameter once")
    return {name: value for name, value in found.items() if value}
