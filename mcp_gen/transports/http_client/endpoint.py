"""One server URL: redirects, auth headers, error bodies."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import re
import traceback
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import aclosing
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from mcp_gen.core import envelope
from mcp_gen.core.errors import (
    HttpError,
    McpError,
    McpGenError,
    MessageTooLarge,
    ProtocolError,
    TransportError,
    UsageError,
)
from mcp_gen.core.redaction import hide, shown_url, url_secrets
from mcp_gen.transports.http_client.pool import HttpxClient, Pool, Requests, Response, origin_of
from mcp_gen.transports.lines import LINES_AT_ONCE

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines, PausableTimeout
    from mcp_gen.transports.http_client.authorized import AuthorizedSender

__all__ = ["CHUNK_LINES", "HeadersFrom", "HttpEndpoint", "media_type", "read_whole"]

HeadersFrom: TypeAlias = (
    Mapping[str, str] | Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
)
"""Headers of every request, or a function, sync or async, that returns them before each request."""

MAX_REDIRECTS = 5
"""Maximum number of HTTP requests for one message, redirects included."""
ADVICE = {
    401: ": it asks for credentials",
    404: ": check the path of the URL, which often ends in /mcp",
}
"""Advice on a status that came without a JSON-RPC error."""
LOGIN = "; give `auth=OAuth()` of mcp_gen.auth to log in, or `bearer_token=`"
"""The next step where a token is wanted and none was sent."""
MAX_REFUSAL_BYTES = 64 * 1024
"""Maximum size of the body of an error response that is read, in bytes."""
KEEPS_METHOD = (307, 308)
"""Redirect statuses at which a POST stays a POST."""
ANY_REDIRECT = (301, 302, 303, 307, 308)
CHUNK_LINES = 10
"""Lines of an event stream that take as long as one chunk of a body takes to be received."""
CHUNKS_AT_ONCE = LINES_AT_ONCE // CHUNK_LINES
"""Chunks of a body that are received in one turn of the event loop, so that others have theirs."""
USER_AGENT = (b"user-agent", b"mcp-gen")
# https://www.rfc-editor.org/rfc/rfc9110.html#name-fields
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HOST = re.compile(r"[A-Za-z0-9.:_-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class HttpEndpoint:
    """Sends requests to one URL. Redirects are followed only within the same origin.

    Args:
        url: The URL, http or https. User and password in it are sent as Basic auth.
        headers: Headers of every request, or a function that returns them.
        bearer_token: A constant bearer token; None for none.
        client: An AsyncClient of httpx2 or httpx; None for a connection pool of its own.
        connect_timeout_s: Seconds to wait for a connection. Not used with `client`.
        auth: Gives each request its credentials; None for none.

    Raises:
        UsageError: The URL is no http or https URL, a header is invalid, or there are credentials
            beside those of `auth`.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        auth: RequestAuthorizer | None = None,
        client: Any = None,
        connect_timeout_s: float = 30.0,
    ) -> None:
        self.origin = origin_of(url)
        parts = urlsplit(url)
        # User info and fragment are not sent in the URL; user info becomes an Authorization header.
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
        self._secrets = url_secrets(url)
        self._constant: list[tuple[bytes, bytes]] = [] if client is not None else [USER_AGENT]
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._constant.append((b"authorization", b"Basic " + base64.b64encode(credentials)))
        if bearer_token is not None:
            self._secrets.add(bearer_token)
            self._constant += _header_lines({"authorization": f"Bearer {bearer_token}"})
        self._headers_function: Callable[[], Any] | None = None
        self._headers_are_async = inspect.iscoroutinefunction(headers)
        if callable(headers):
            self._headers_function = headers
        elif headers:
            self._constant += _header_lines(headers)
        self._requests: Requests = (
            Pool(connect_timeout_s) if client is None else HttpxClient(client)
        )
        self._authorized: AuthorizedSender | None = None
        if auth is not None:
            # Loaded only with an authorizer.
            from mcp_gen.transports.http_client.authorized import AuthorizedSender, check_authorizer

            check_authorizer(auth, url, self._constant, client)
            self._authorized = AuthorizedSender(auth, self.origin)

    async def send(
        self,
        method: str,
        headers: Lines,
        body: bytes | None = None,
        url: str | None = None,
        limit: PausableTimeout | None = None,
    ) -> Response:
        """Send a request to the endpoint, or to another URL of its origin.

        Args:
            method: The HTTP method.
            headers: Header lines beside the endpoint's own.
            body: The body; None for none.
            url: The URL; None for the endpoint's own. Redirects of the latter are remembered.
            limit: Time limit of the one who waits, paused while credentials are had.

        Raises:
            AuthError: The server asks for a token, and none can be had.
            TransportError: The server cannot be reached, or redirects to another origin.
            SessionLost: The server disconnected before it responded.
        """
        own = list(self._constant)
        if self._headers_function is not None:
            given = self._headers_function()
            if inspect.isawaitable(given):
                self._headers_are_async = True
                given = await given
            own += _header_lines(given)
        lines = [*own, *headers]
        at = url or self.url
        for _ in range(MAX_REDIRECTS):
            try:
                if self._authorized is None:
                    response = await self._requests.send(method, at, lines, body)
                else:
                    response = await self._authorized.send(
                        self._requests, method, at, lines, body, own=own, limit=limit
                    )
            except TransportError as error:
                secrets = self._secrets | url_secrets(at) | _header_secrets(own)
                text = f"{_shown(at)}: {error}"
                if not _shows_any(error, secrets):
                    error.args = (text, *error.args[1:])
                    raise
                error.args = (hide(text, secrets), *error.args[1:])
                # Without its cause, which a traceback would show.
                raise error from None
            if response.status not in ANY_REDIRECT:
                return response
            location = response.headers.get("location", "")
            await response.aclose()
            at = self._redirect_target(at, response.status, location, method)
            if url is None:
                self.url = at
        raise TransportError(f"the server redirects more than {MAX_REDIRECTS} times")

    @property
    def principal(self) -> Hashable:
        """Digest of the user's headers, to tell users apart; None if the user gave no headers.

        With an authorizer, its identity is a part of it.

        The headers cannot be recovered from it. If they are not available synchronously, a new
        object is returned each time, so that two users are never taken for the same one.
        """
        lines = [line for line in self._constant if line is not USER_AGENT]
        if self._headers_function is not None:
            if self._headers_are_async:
                return object()
            try:
                given = self._headers_function()
                if inspect.isawaitable(given):
                    self._headers_are_async = True
                    if inspect.iscoroutine(given):
                        given.close()
                    return object()
                lines += _header_lines(given)
            except Exception:
                return object()
        own = blake2b(repr(lines).encode(), digest_size=16).digest() if lines else None
        if self._authorized is None:
            return own
        identity = self._authorized.identity
        return own if identity is None else (own, identity)

    def within(self, url: str) -> str:
        """Resolve a URL relative to the endpoint's, and check that it has the same origin.

        Raises:
            TransportError: It is no URL, or has another origin.
        """
        try:
            resolved = urljoin(self.url, url)
            origin = origin_of(resolved)
        except (UsageError, ValueError) as error:
            raise TransportError(f"the server names an address that is none: {error}") from None
        if origin != self.origin:
            scheme, host, port = origin
            raise TransportError(
                f"the server wants messages sent to another origin, {scheme}://{host}:{port}; "
                "connect to it directly if it is to be trusted"
            )
        return resolved

    @property
    def shown(self) -> str:
        """The URL as errors show it: without user info, query values and the like."""
        return _shown(self.url)

    def name_in(self, error: McpGenError) -> None:
        """Put the URL before the text of an error that names no URL of this server."""
        text = str(error)
        if f"://{urlsplit(self.url).netloc}" not in text and not text.startswith(self.shown):
            error.args = (f"{self.shown}: {text}", *error.args[1:])

    async def refusal(self, response: Response, what: str) -> tuple[HttpError, bytes]:
        """Return the error for a response with an error status, and its body if it is a message.

        Args:
            response: The response.
            what: What was refused, for the error message.

        Returns:
            The error, and the body if it is a JSON-RPC error with an id, else empty bytes.
        """
        body = b""
        with contextlib.suppress(TransportError):  # without the body, the status is reported
            body = await read_whole(response, MAX_REFUSAL_BYTES)
        error, has_id = _error_in(body)
        description = f": {error}" if error else ADVICE.get(response.status, "")
        headers = {
            name: value
            for name in ("www-authenticate", "retry-after", "allow")
            if (value := response.headers.get(name))
        }
        wants_token = "bearer" in headers.get("www-authenticate", "").lower()
        next_step = LOGIN if response.status == 401 and wants_token and self._is_anonymous else ""
        return (
            HttpError(
                f"{self.shown}: {what}: HTTP status {response.status}{description}{next_step}",
                response.status,
                error,
                headers,
            ),
            body if has_id else b"",
        )

    @property
    def _is_anonymous(self) -> bool:
        """True if no request has credentials."""
        if self._authorized is not None or self._headers_function is not None:
            return False
        return all(name != b"authorization" for name, _ in self._constant)

    def intercept(self, wrap: Callable[[Requests], Requests]) -> None:
        """Put something around what sends the requests; before the first one."""
        self._requests = wrap(self._requests)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._requests.aclose()

    def _redirect_target(self, at: str, status: int, location: str, method: str) -> str:
        if method != "GET" and status not in KEEPS_METHOD:
            # Following would change the method to GET: the message would be lost.
            raise HttpError(f"the server redirects a {method} with status {status}", status)
        if not location:
            raise HttpError(f"a redirect to nowhere: status {status} without `Location`", status)
        return self.within(urljoin(at, location))


def media_type(response: Response) -> str:
    """Return the body's media type in lower case, without parameters; empty if there is none."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_whole(response: Response, limit_bytes: int) -> bytes:
    """Read and return the whole body.

    Raises:
        MessageTooLarge: The body is larger than `limit_bytes`.
        SessionLost: The server disconnected before the end of the body.
    """
    length = response.headers.get("content-length", "")
    # Python converts a limited number of digits.
    if length.isdigit() and int(length[:20]) > limit_bytes:
        raise MessageTooLarge(
            f"expected a body of at most {limit_bytes} bytes, got {length[:20]} "
            "(`max_message_bytes` of the client)"
        )
    # One buffer instead of a list of parts: a server may send one byte per part.
    body, number = bytearray(), 0
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit_bytes:
                raise MessageTooLarge(
                    f"expected a body of at most {limit_bytes} bytes, got more "
                    "(`max_message_bytes` of the client)"
                )
            number += 1
            if number % CHUNKS_AT_ONCE == 0:
                # What has arrived already is received without a wait.
                await asyncio.sleep(0)
    return bytes(body)


def _error_in(body: bytes) -> tuple[McpError | None, bool]:
    """Return the JSON-RPC error in a body, if it is one; and True if it has an id."""
    try:
        frame = envelope.read(body)
    except ProtocolError:
        return None, False
    if not frame.error:
        return None, False
    return envelope.read_error(frame.error), isinstance(frame.id, int | str)


def _header_lines(headers: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    given: Any = headers
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise UsageError(f"headers: expected a mapping of names to values, got {kind}")
    lines: list[tuple[bytes, bytes]] = []
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            # The name is not shown: it may be a whole header line.
            raise UsageError("a header's name: expected letters, digits and `-`")
        if not isinstance(value, str):
            raise UsageError(f"header {name!r}: expected text, got {type(value).__name__}")
        if any(sign in value for sign in "\r\n\0"):
            raise UsageError(f"header {name!r}: expected one line")
        if not _VALUE.fullmatch(value):
            raise UsageError(
                f"header {name!r}: expected printable characters of latin-1, got another one"
            )
        lines.append((name.lower().encode("ascii"), value.strip(" \t").encode("latin-1")))
    return lines


def _shown(url: str) -> str:
    """Return the URL without its secrets; what is no host name may be one."""
    host = urlsplit(url).hostname or ""
    return shown_url(url) if _HOST.fullmatch(host) and ".." not in host else "the URL"


def _header_secrets(lines: Lines) -> set[str]:
    values = {value.decode("latin-1") for name, value in lines if (name, value) != USER_AGENT}
    # The credentials without their scheme, as in `Bearer ...`.
    return values | {value.rpartition(" ")[2] for value in values}


def _shows_any(error: Exception, secrets: set[str]) -> bool:
    """Return True if the error or one of its causes quotes a secret."""
    shown = "".join(traceback.format_exception(error))
    return hide(shown, secrets) != shown
