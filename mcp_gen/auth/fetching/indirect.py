"""Sends requests through a proxy or with a given client: where they go is not decided here."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from mcp_gen.auth.fetching.connecting import CheckedBackend, sockets
from mcp_gen.auth.fetching.direct import TlsSettings
from mcp_gen.auth.fetching.messages import (
    ResponseLimits,
    bounded_body,
    explained,
    header_lines,
    joined,
    read_response,
    request_of,
)
from mcp_gen.auth.fetching.targets import Target
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.core.errors import TransportError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["ClientSender", "ProxySender", "proxy_for"]

_log = logging.getLogger("mcp_gen.auth")


def proxy_for(target: Target) -> str:
    """Return the URL of the proxy that the environment names for a URL; empty for none.

    Args:
        target: The URL. On loopback no proxy is used: it would reach its own.
    """
    # Imported with the first request: it imports http.client and email, too.
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all") or ""
    if not proxy or is_loopback(target.host) or proxy_bypass(target.host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


class ProxySender:
    """Sends requests through the proxies of the environment, each over its own connection.

    Args:
        limits: The limits of responses.
        tls: The TLS settings.
        network: Opens connections; None for sockets.
        connect_timeout_s: Seconds for the connection to the proxy.
    """

    def __init__(
        self,
        limits: ResponseLimits,
        tls: TlsSettings,
        network: httpcore2.AsyncNetworkBackend | None,
        connect_timeout_s: float,
    ) -> None:
        self._limits = limits
        self._tls = tls
        self._network = network
        self._connect_timeout_s = connect_timeout_s
        self._told: set[str] = set()

    async def send(self, ask: HttpAsk, target: Target, proxy: str) -> HttpAnswer:
        """Send a request.

        Args:
            ask: The request.
            target: Its URL.
            proxy: The URL of the proxy.

        Raises:
            TransportError: It cannot be sent, or its response cannot be read.
        """
        parts = urlsplit(proxy)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise TransportError(
                "the environment names a proxy that is none of HTTP: give a client that has it"
            )
        self._tell(parts.hostname)
        backend = CheckedBackend(self._network or sockets(), None)
        backend.allow(self._limits.received_bytes)
        user = (parts.username, parts.password or "") if parts.username else None
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._tls.context,
            proxy=httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=user),
            network_backend=backend,
        )
        try:
            request = request_of(ask, target, self._connect_timeout_s)
            response = await pool.handle_async_request(request)
            try:
                return await read_response(response, self._limits)
            finally:
                await response.aclose()
        except Exception as error:
            raise explained(error) from error
        finally:
            await pool.aclose()
            await backend.aclose()

    def _tell(self, host: str) -> None:
        if host in self._told:
            return
        self._told.add(host)
        _log.warning(
            "requests of the authorization go through the proxy %s: it resolves the names of "
            "hosts, so their addresses are not checked here",
            host,
        )


class ClientSender:
    """Sends requests with the user's AsyncClient of httpx2 or httpx.

    Of the client's own headers, cookies and credentials none is sent: they are meant for others.

    Args:
        client: The AsyncClient. It is not closed here.
        limits: The limits of responses.
    """

    def __init__(self, client: Any, limits: ResponseLimits) -> None:
        self._client = client
        self._limits = limits
        self._told = False

    async def send(self, ask: HttpAsk, target: Target) -> HttpAnswer:
        """Send a request.

        Args:
            ask: The request.
            target: Its URL.

        Raises:
            TransportError: It cannot be sent, or its response cannot be read.
        """
        if not self._told:
            self._told = True
            _log.warning(
                "requests of the authorization are sent with the client that was given: it "
                "resolves the names of hosts, so their addresses are not checked here"
            )
        lines = header_lines(ask)
        own = {name.decode() for name, _ in lines} | {"host", "content-length"}
        request = self._client.build_request(
            ask.method, target.url, headers=lines, content=ask.body
        )
        for name in request.headers.keys() - own:
            del request.headers[name]
        try:
            response = await self._client.send(
                request, stream=True, auth=None, follow_redirects=False
            )
            try:
                return await self._read(response)
            finally:
                await response.aclose()
        except Exception as error:
            raise explained(error) from error

    async def _read(self, response: Any) -> HttpAnswer:
        headers = joined(response.headers.raw)
        chunks = response.aiter_raw()
        body = await bounded_body(headers, chunks, self._limits.body_bytes)
        return HttpAnswer(response.status_code, headers, body)
