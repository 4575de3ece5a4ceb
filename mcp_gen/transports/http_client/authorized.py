"""Requests with credentials: an authorizer's headers, and another attempt after a refusal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import HttpError, TransportError, UsageError
from mcp_gen.core.transport.addresses import is_loopback
from mcp_gen.transports.http_client.pool import origin_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines, PausableTimeout
    from mcp_gen.transports.http_client.pool import Requests, Response

__all__ = ["AuthorizedSender", "check_authorizer"]

REFUSALS = (401, 403)
"""HTTP statuses on which the authorizer is asked if it can do better."""
MAX_ATTEMPTS = 8
"""Number of times that one request is sent; authorizers give up earlier."""
MAX_REFUSAL_BYTES = 64 * 1024
"""Maximum size of the body of a refusal that is kept, in bytes."""
REFUSAL_TIMEOUT_S = 5.0
"""Seconds that the body of a refusal may take; without it, the status is reported."""
OWN_HEADERS = frozenset((b"authorization", b"dpop"))
"""Headers that only an authorizer sends."""


def check_authorizer(auth: Any, url: str, lines: Lines, client: Any) -> None:
    """Check that an authorizer can be used for a URL, and that nothing else sends credentials.

    Args:
        auth: The authorizer.
        url: The URL of the server.
        lines: The header lines of every request.
        client: The AsyncClient that sends the requests; None for none.

    Raises:
        UsageError: It is no authorizer, tokens would be sent in the clear, or there are other
            credentials.
    """
    if not (hasattr(auth, "headers") and hasattr(auth, "retry")):
        kind = type(auth).__name__
        raise UsageError(
            f"auth: expected an authorizer of `mcp_gen.auth`, such as `OAuth()`, got {kind}; "
            "write `bearer_token=` for a constant token"
        )
    scheme, host, _ = origin_of(url)
    if scheme != "https" and not is_loopback(host):
        raise UsageError(
            "auth: expected a URL that begins with https://, or one on loopback: "
            "others would read the token"
        )
    check_no_credentials(lines)
    if getattr(client, "auth", None) is not None or "authorization" in getattr(
        client, "headers", ()
    ):
        raise UsageError("auth: the HTTP client sends credentials of its own; remove one of them")


def check_no_credentials(lines: Lines) -> None:
    """Check that the user's headers are none that an authorizer sends.

    Raises:
        UsageError: There are other credentials.
    """
    for name, _ in lines:
        if name in OWN_HEADERS:
            raise UsageError(
                f"auth: it sends the header {name.decode()!r} itself; remove `bearer_token=`, user "
                "and password of the URL, and this header of `headers=`"
            )


class AuthorizedSender:
    """Sends the requests of one endpoint with the headers of an authorizer.

    Args:
        auth: The authorizer.
        origin: Scheme, host and port that credentials may go to.
    """

    def __init__(self, auth: RequestAuthorizer, origin: tuple[str, str, int]) -> None:
        self._auth = auth
        self._origin = origin

    @property
    def identity(self) -> Hashable:
        """Whose credentials are sent; None while there are none."""
        return self._auth.identity

    async def send(
        self,
        requests: Requests,
        method: str,
        url: str,
        lines: list[tuple[bytes, bytes]],
        body: bytes | None,
        *,
        own: list[tuple[bytes, bytes]],
        limit: PausableTimeout | None,
    ) -> Response:
        """Send a request, again if the authorizer can have it admitted.

        Args:
            requests: What sends it.
            method: The HTTP method.
            url: The URL, of the endpoint's origin.
            lines: The header lines beside the authorizer's.
            body: The body; None for none.
            own: Gets the authorizer's lines: an error must not show them.
            limit: Paused while credentials are had; None: nobody waits.

        Returns:
            The response; one with a status of 401 or 403 if the authorizer can do nothing.

        Raises:
            AuthError: No token can be had.
            TransportError: The server cannot be reached, or keeps refusing.
        """
        auth = self._auth
        check_no_credentials(lines)
        if origin_of(url) != self._origin:
            raise TransportError("credentials are sent to the origin of the server alone")
        status = 0
        for _ in range(MAX_ATTEMPTS):
            with _paused(limit):
                sent = await auth.headers(method, url)
            own += sent
            response = await requests.send(method, url, [*lines, *sent], body)
            auth.responded(url, response.headers)
            # Nobody is to log in for the end of a session.
            if response.status not in REFUSALS or method == "DELETE":
                return response
            # Its connection is free while the user is asked.
            refused = await _Refused.read(response)
            with _paused(limit):
                again = await auth.retry(method, url, refused.status, refused.headers, sent)
            if not again:
                return refused
            status = refused.status
        raise HttpError(
            f"the server refused the request {MAX_ATTEMPTS} times, each time with new credentials",
            status,
        )


@contextmanager
def _paused(limit: PausableTimeout | None) -> Generator[None, None, None]:
    if limit is None:
        yield
        return
    limit.pause()
    try:
        yield
    finally:
        limit.resume()


class _Refused:
    """A response whose body was read; see `Response`."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers
        self._body = body

    @classmethod
    async def read(cls, response: Response) -> _Refused:
        body = bytearray()
        try:
            with contextlib.suppress(TimeoutError, TransportError):
                async with (
                    asyncio.timeout(REFUSAL_TIMEOUT_S),
                    aclosing(response.chunks()) as chunks,
                ):
                    async for chunk in chunks:
                        if len(body) + len(chunk) > MAX_REFUSAL_BYTES:
                            body.clear()
                            break
                        body += chunk
        finally:
            await response.aclose()
        return cls(response.status, response.headers, bytes(body))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self._body

    async def aclose(self) -> None:
        """Do nothing: the response is closed."""
