"""One URL of a server: who may be followed to where, and which headers the user adds."""

from __future__ import annotations

import base64
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import aclosing
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from mcp_gen.core import envelope
from mcp_gen.core.errors import (
    HttpError,
    McpError,
    ProtocolError,
    TransportError,
    UsageError,
)
from mcp_gen.transports.http_client.pool import GivenClient, Pool, Requests, Response, origin_of

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["HeadersFrom", "HttpEndpoint", "media_type", "read_whole", "refusal"]

HeadersFrom: TypeAlias = (
    Mapping[str, str] | Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
)
"""Headers of every request, or what is called for them before each: a function, sync or async."""

MAX_REDIRECTS = 5
MAX_REFUSAL_BYTES = 64 * 1024
KEEPS_METHOD = (307, 308)
ANY_REDIRECT = (301, 302, 303, 307, 308)
USER_AGENT = (b"user-agent", b"mcp-gen")


class HttpEndpoint:
    """Sends requests to one URL. A redirect is followed where it stays with the same origin."""

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        client: Any = None,
        connect_timeout_s: float = 30.0,
    ) -> None:
        self.origin = origin_of(url)
        parts = urlsplit(url)
        # Neither belongs on the wire; who the user is has a header for it.
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
        self._constant: list[tuple[bytes, bytes]] = [] if client is not None else [USER_AGENT]
        if parts.username is not None:
            who = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._constant.append((b"authorization", b"Basic " + base64.b64encode(who)))
        if bearer_token is not None:
            self._constant += _lines({"authorization": f"Bearer {bearer_token}"})
        self._ask_for: Callable[[], Any] | None = None
        self._asks_slowly = inspect.iscoroutinefunction(headers)
        if callable(headers):
            self._ask_for = headers
        elif headers:
            self._constant += _lines(headers)
        self._requests: Requests = (
            Pool(connect_timeout_s) if client is None else GivenClient(client)
        )

    async def send(
        self, method: str, headers: Lines, body: bytes | None = None, url: str | None = None
    ) -> Response:
        """Send a request to the endpoint, or to another URL of its origin.

        Raises:
            TransportError: the server cannot be reached, or sends the request elsewhere.
            SessionLost: it hung up before it answered.
        """
        lines = [*self._constant, *headers]
        if self._ask_for is not None:
            given = self._ask_for()
            if inspect.isawaitable(given):
                self._asks_slowly = True
                given = await given
            lines += _lines(given)
        at = url or self.url
        for _ in range(MAX_REDIRECTS):
            response = await self._requests.send(method, at, lines, body)
            if response.status not in ANY_REDIRECT:
                return response
            location = response.header("location")
            await response.aclose()
            at = self._followed(at, response.status, location, method)
            if url is None:
                self.url = at
        raise TransportError(f"the server redirects more than {MAX_REDIRECTS} times")

    @property
    def principal(self) -> Hashable:
        """Stands for whoever a request would be made for now, as far as the user's headers say.

        It is no secret: what they say cannot be told from it. None where there are none; where they
        cannot be had at once it is another each time, so that nobody is taken for somebody else.
        """
        said = [line for line in self._constant if line is not USER_AGENT]
        if self._ask_for is not None:
            if self._asks_slowly:
                return object()
            try:
                given = self._ask_for()
                if inspect.isawaitable(given):
                    self._asks_slowly = True
                    if inspect.iscoroutine(given):
                        given.close()
                    return object()
                said += _lines(given)
            except Exception:
                return object()
        return blake2b(repr(said).encode(), digest_size=16).digest() if said else None

    def within(self, url: str) -> str:
        """A URL, which may be relative to the endpoint's, if it is of the same origin.

        Raises:
            TransportError: it is not.
        """
        try:
            whole = urljoin(self.url, url)
            origin = origin_of(whole)
        except (UsageError, ValueError) as error:
            raise TransportError(f"the server names an address that is none: {error}") from None
        if origin != self.origin:
            scheme, host, port = origin
            raise TransportError(
                f"the server wants messages sent to another origin, {scheme}://{host}:{port}; "
                "connect to it directly if it is to be trusted"
            )
        return whole

    async def aclose(self) -> None:
        """Close all connections."""
        await self._requests.aclose()

    def _followed(self, at: str, status: int, location: str, method: str) -> str:
        if method != "GET" and status not in KEEPS_METHOD:
            # To follow would mean to GET it: the message would be lost.
            raise HttpError(f"the server redirects a {method} with status {status}", status)
        if not location:
            raise HttpError(f"a redirect to nowhere: status {status} without `Location`", status)
        return self.within(urljoin(at, location))


def media_type(response: Response) -> str:
    """What the body is, in lower case and without parameters."""
    return response.header("content-type").partition(";")[0].strip().lower()


async def read_whole(response: Response, limit_bytes: int) -> bytes:
    """The whole body.

    Raises:
        TransportError: it is longer than `limit_bytes`.
        SessionLost: it broke off.
    """
    length = response.header("content-length")
    if length.isdigit() and int(length) > limit_bytes:
        raise TransportError(f"expected a body of at most {limit_bytes} bytes, got {length}")
    parts: list[bytes] = []
    size = 0
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if size > limit_bytes:
                raise TransportError(f"expected a body of at most {limit_bytes} bytes, got more")
            parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def refusal(response: Response, what: str) -> tuple[HttpError, bytes]:
    """An answer with a status that says no, as an error; and its body where that has an id."""
    body = b""
    with contextlib.suppress(TransportError):  # its status says enough
        body = await read_whole(response, MAX_REFUSAL_BYTES)
    error, addressed = _error_in(body)
    said = f": {error}" if error else ""
    headers = {
        name: response.header(name)
        for name in ("www-authenticate", "retry-after", "allow")
        if response.header(name)
    }
    return (
        HttpError(f"{what}: HTTP status {response.status}{said}", response.status, error, headers),
        body if addressed else b"",
    )


def _error_in(body: bytes) -> tuple[McpError | None, bool]:
    """The JSON-RPC error that a body is, and whether it says what it answers."""
    try:
        frame = envelope.read(body)
    except ProtocolError:
        return None, False
    if not frame.error:
        return None, False
    return envelope.read_error(frame.error), isinstance(frame.id, int | str)


def _lines(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    lines: list[tuple[bytes, bytes]] = []
    for name, value in headers.items():
        if any(sign in name + value for sign in "\r\n\0"):
            raise UsageError(f"header {name!r}: expected one line")
        lines.append((name.lower().encode("ascii"), value.strip(" \t").encode("latin-1")))
    return lines
