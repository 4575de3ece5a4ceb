"""HTTP requests to the reference server, and its responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET, Struct

from mcp_gen.compat.json_values import Json, entries, member

if TYPE_CHECKING:
    from mcp_gen.compat.reference.http.sessions import ReferenceSession
    from mcp_gen.compat.reference.http.streams import EventStream
    from mcp_gen.transports.http_server.asgi import Receive, Scope

__all__ = ["EndpointRequest", "EndpointResponse", "read_request"]

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Maximum size of the body of a request, in bytes; the rest is left out."""


def _nothing() -> None:
    """Do nothing: nobody waits for the end of the client."""


class EndpointRequest(Struct, kw_only=True):
    """One request of a client.

    Args:
        exchange: Its number among those of the endpoint.
        method: The HTTP method.
        path: The path.
        query: The parameters of the query.
        headers: The headers, with names in lower case.
        body: The body.
        message: The JSON value of the body; UNSET if it is not JSON.
        session: The client that sent it, as far as that is known.
        gone: True once the client has disconnected.
        on_gone: Called when it disconnects.
    """

    exchange: int
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    message: Any = UNSET
    session: ReferenceSession | None = None
    gone: bool = False
    on_gone: Callable[[], object] = _nothing

    @property
    def requests(self) -> list[Json]:
        """Requests of the protocol in the body."""
        return [
            one
            for one in entries(self.message)
            if isinstance(one.get("method"), str) and type(one.get("id")) in (int, str)
        ]

    @property
    def id(self) -> Any:
        """Id of the request in the body; None for none, or for several."""
        found = self.requests
        return found[0]["id"] if len(found) == 1 else None

    def names(self, method: str | None) -> bool:
        """Return True if the body is a message with a method."""
        return method is not None and member(self.message, "method") == method


class EndpointResponse(Struct, kw_only=True):
    """One response.

    Args:
        status: The status.
        headers: The headers.
        body: The body.
        stream: The stream that it brings instead of a body; None for none.
        start: Number of the first event of the stream that it brings.
    """

    status: int
    headers: dict[str, str] = {}
    body: bytes = b""
    stream: EventStream | None = None
    start: int = 0


async def read_request(scope: Scope, receive: Receive, exchange: int) -> EndpointRequest:
    """Return a request with its whole body."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)
        body += message.get("body", b"")[: MAX_BODY_BYTES - len(body)]
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return EndpointRequest(
        exchange=exchange,
        method=scope["method"],
        path=scope["path"],
        query={name: values[0] for name, values in query.items()},
        headers={
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        },
        body=bytes(body),
        message=_decoded(bytes(body)),
    )


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSET
