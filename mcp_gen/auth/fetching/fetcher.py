"""Fetcher: drives flows over HTTP."""

from __future__ import annotations

import asyncio
import ssl
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar
from urllib.parse import urljoin

import httpcore2
from msgspec.structs import replace

from mcp_gen.auth.fetching.addresses import AddressClass, AddressPolicy
from mcp_gen.auth.fetching.caching import AnswerCache
from mcp_gen.auth.fetching.checking import AddressCheck
from mcp_gen.auth.fetching.connecting import Resolver, resolve
from mcp_gen.auth.fetching.direct import DirectSender, TlsSettings
from mcp_gen.auth.fetching.indirect import ClientSender, ProxySender, proxy_for
from mcp_gen.auth.fetching.messages import ResponseLimits, secrets_in
from mcp_gen.auth.fetching.targets import Target, target_of
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.core.errors import AuthError, TransportError
from mcp_gen.core.redaction import hide

__all__ = ["Fetcher"]

T = TypeVar("T")

_REDIRECTED = frozenset({Purpose.RESOURCE_METADATA, Purpose.SERVER_METADATA, Purpose.JWKS})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS_FOR_ALL = frozenset({"accept", "cache-control", "mcp-protocol-version"})
"""Headers that a redirected request keeps at another origin."""


class Fetcher:
    """Sends the requests of flows, https alone or http on loopback.

    `AddressPolicy` says which addresses are allowed. A host is resolved once, and the request
    goes to an address that was checked. This cannot be held through a proxy of the environment
    or with a given client: these resolve names themselves, and a warning is logged once.

    GET requests for metadata and keys follow a few redirects, https alone and to an address of
    the same class; no other request follows one. No cookie is stored or sent. Responses of the
    former are cached by their headers.

    Args:
        allow_hosts: Names of hosts that may be at private addresses; see `AddressPolicy`.
        max_body_bytes: Maximum size of a response body.
        max_header_bytes: Maximum size of the headers of a response.
        timeout_s: Seconds for one request, from the resolution to the end of the body, with its
            redirects.
        max_requests: Maximum number of requests of one flow.
        max_redirects: Maximum number of redirects of one request.
        client: AsyncClient of httpx2 or httpx that sends the requests; it is not closed. None:
            connections of its own.
        ssl_context: The TLS settings; None for the certificates of the system. A given client
            has its own.
        cache: The cache of responses; None for one with its defaults.
        resolver: Resolves host names; None for the operating system.
        network: Opens connections to addresses; None for sockets.
        clock: Returns seconds; for how long the class of a configured host is remembered.

    Source: https://modelcontextprotocol.io/docs/tutorials/security/security_best_practices#server-side-request-forgery-ssrf
    """

    def __init__(
        self,
        *,
        allow_hosts: Collection[str] = (),
        max_body_bytes: int = 256 * 1024,
        max_header_bytes: int = 64 * 1024,
        timeout_s: float = 10.0,
        max_requests: int = 20,
        max_redirects: int = 3,
        client: Any = None,
        ssl_context: ssl.SSLContext | None = None,
        cache: AnswerCache | None = None,
        resolver: Resolver | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._timeout_s = timeout_s
        self._max_requests = max_requests
        self._max_redirects = max_redirects
        self._cache = AnswerCache(clock=clock) if cache is None else cache
        limits, tls = ResponseLimits(max_body_bytes, max_header_bytes), TlsSettings(ssl_context)
        # Half of the time: what does not let itself be connected to leaves some for the next.
        self._direct = DirectSender(limits, tls, network, timeout_s / 2)
        self._proxied = ProxySender(limits, tls, network, timeout_s / 2)
        self._client = None if client is None else ClientSender(client, limits)
        self._check = AddressCheck(
            AddressPolicy(allow_hosts), resolver or resolve, self._direct.probe, clock
        )

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        """Send the requests of a flow and return its result.

        A request that cannot be sent, or whose response cannot be read, is thrown into the flow
        as TransportError; one whose URL or address is not allowed, as AuthError.

        Args:
            flow: The flow.
            configured: The URL that the user or operator configured: the resource of a client,
                the issuer of a server. It may be at a private address or on loopback, and may
                lead to other hosts of its class. None: every address has to be public.

        Raises:
            AuthError: A URL or its address is not allowed, or the flow sends too many requests.
        """
        try:
            ask = next(flow)
            for _ in range(self._max_requests):
                try:
                    answer = await self.send(ask, configured=configured)
                except (AuthError, TransportError) as error:
                    ask = flow.throw(error)
                else:
                    ask = flow.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()
        raise AuthError(
            f"{ask.purpose.value}: more than {self._max_requests} requests were needed up to here "
            "(max_requests): what the servers say may lead in a circle"
        )

    async def send(self, ask: HttpAsk, *, configured: str | None = None) -> HttpAnswer:
        """Send one request, or return a cached response to it.

        Args:
            ask: The request.
            configured: See `run`.

        Raises:
            AuthError: The URL or its address is not allowed.
            TransportError: The request cannot be sent, or its response cannot be read.
        """
        what = ask.purpose.value
        target = target_of(ask.url, what)
        cached = self._cache.get(ask, configured)
        if cached is not None:
            return cached
        try:
            async with asyncio.timeout(self._timeout_s):
                answer, reached, redirected = await self._follow(ask, target, configured)
        except TimeoutError:
            raise TransportError(
                f"{what}: expected a whole response from {target.host} in {self._timeout_s:g} s "
                "(timeout_s)"
            ) from None
        if not redirected:
            # The headers of the last response say nothing of how long the redirects hold.
            self._cache.put(ask, answer, reached, configured)
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._direct.aclose()

    async def _follow(
        self, ask: HttpAsk, target: Target, configured: str | None
    ) -> tuple[HttpAnswer, AddressClass | None, bool]:
        """Return the response, the class of its address, and True if redirects led to it."""
        answer, reached = await self._exchange(ask, target, configured, None)
        followed = 0
        while _is_redirect(ask, answer):
            if followed == self._max_redirects:
                raise TransportError(
                    f"{ask.purpose.value}: expected {target.host} to redirect at most "
                    f"{self._max_redirects} times (max_redirects)"
                )
            ask, target = _redirected(ask, target, answer.headers["location"])
            answer, reached = await self._exchange(ask, target, configured, reached)
            followed += 1
        return answer, reached, followed > 0

    async def _exchange(
        self,
        ask: HttpAsk,
        target: Target,
        configured: str | None,
        led_from: AddressClass | None,
    ) -> tuple[HttpAnswer, AddressClass | None]:
        what = ask.purpose.value
        proxy = "" if self._client is not None else proxy_for(target)
        addresses: Sequence[str] = ()
        if self._client is not None or proxy:
            self._check.literal(target, what, configured)
        else:
            addresses = await self._check.addresses(target, what, configured, led_from)
        try:
            if self._client is not None:
                return await self._client.send(ask, target), None
            if proxy:
                return await self._proxied.send(ask, target, proxy), None
            return await self._direct.send(ask, target, addresses)
        except TransportError as error:
            text, secrets = f"{what}: {target.host}: {error}", secrets_in(ask)
            whole = "".join(traceback.format_exception(error))
            if hide(whole, secrets) == whole:
                raise TransportError(text) from error
            # Without its cause, which a traceback would show.
            raise TransportError(hide(text, secrets)) from None


def _is_redirect(ask: HttpAsk, answer: HttpAnswer) -> bool:
    return (
        ask.method == "GET"
        and ask.purpose in _REDIRECTED
        and answer.status in _REDIRECTS
        and "location" in answer.headers
    )


def _redirected(ask: HttpAsk, target: Target, location: str) -> tuple[HttpAsk, Target]:
    what = ask.purpose.value
    try:
        url = urljoin(target.url, location)
    except ValueError:
        url = ""
    found = target_of(url, f"{what}: a redirect of {target.host}")
    if found.scheme != target.scheme:
        raise AuthError(
            f"{what}: expected {target.host} to redirect to {target.scheme}, got {found.scheme} "
            f"at {found.host}"
        )
    headers = ask.headers
    if found.origin != target.origin:
        headers = {name: value for name, value in headers.items() if name in _HEADERS_FOR_ALL}
    return replace(ask, url=url, headers=headers), found
