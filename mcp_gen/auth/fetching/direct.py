"""Sends requests over connections to checked addresses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence

import httpcore2
from msgspec import Struct

from mcp_gen.auth.fetching.addresses import AddressClass
from mcp_gen.auth.fetching.connecting import CheckedBackend, sockets
from mcp_gen.auth.fetching.messages import (
    ResponseLimits,
    explained,
    read_response,
    request_of,
)
from mcp_gen.auth.fetching.targets import Target
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk, Purpose

__all__ = ["DirectSender", "TlsSettings"]

IDLE_S = 4.0
"""Seconds that an unused connection is kept open; servers commonly close those of 5 s."""
MAX_IDLE = 8
"""Number of unused connections that are kept open, one per origin."""
_FREQUENT = frozenset({Purpose.INTROSPECTION})
"""Requests that are frequent, and may be sent twice. The others are rare."""


class TlsSettings:
    """TLS settings, read when they are used first.

    Args:
        context: The settings; None for the certificates of the system.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context

    @property
    def context(self) -> ssl.SSLContext:
        """The settings."""
        if self._context is None:
            # Takes milliseconds: it reads the certificates of the system.
            self._context = httpcore2.default_ssl_context()
        return self._context

    @property
    def verifies(self) -> bool:
        """True if a peer has to have the certificate of its name."""
        context = self.context
        return context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED


class _Idle(Struct):
    connection: httpcore2.AsyncHTTPConnection
    backend: CheckedBackend
    loop: asyncio.AbstractEventLoop


class DirectSender:
    """Sends requests to addresses that were checked, without a proxy.

    Args:
        limits: The limits of responses.
        tls: The TLS settings.
        network: Opens connections to addresses; None for sockets.
        connect_timeout_s: Seconds for a connection, and again for its encryption.
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
        self._idle: dict[tuple[str, str, int], _Idle] = {}

    async def send(
        self, ask: HttpAsk, target: Target, addresses: Sequence[str]
    ) -> tuple[HttpAnswer, AddressClass | None]:
        """Send a request.

        Args:
            ask: The request.
            target: Its URL.
            addresses: The addresses of its host, already checked.

        Returns:
            The response, and the class of the address that it came from.

        Raises:
            TransportError: It cannot be sent, or its response cannot be read.
        """
        if ask.purpose in _FREQUENT:
            idle = await self._take_idle(target, addresses)
            if idle is not None:
                try:
                    return await self._exchange(ask, target, idle)
                except (httpcore2.NetworkError, httpcore2.RemoteProtocolError):
                    # The server closed it in the same moment.
                    pass
                except Exception as error:
                    raise explained(error) from error
        try:
            return await self._exchange(ask, target, self._open(target, addresses))
        except Exception as error:
            raise explained(error) from error

    async def probe(self, target: Target, addresses: Sequence[str]) -> AddressClass | None:
        """Connect to a host, verify its certificate, and return the class of its address.

        Args:
            target: An https URL of the host.
            addresses: The addresses of the host.

        Returns:
            The class; None if certificates are not verified.

        Raises:
            TransportError: No connection, or the certificate is not that of the host.
        """
        if not self._tls.verifies:
            return None
        backend = self._backend(addresses)
        try:
            stream = await backend.connect_tcp(target.host, target.port, self._connect_timeout_s)
            await stream.start_tls(self._tls.context, target.host, self._connect_timeout_s)
        except Exception as error:
            raise explained(error) from error
        finally:
            await backend.aclose()
        return backend.reached

    async def aclose(self) -> None:
        """Close all connections."""
        idle, self._idle = self._idle, {}
        for one in idle.values():
            await _close(one)

    async def _exchange(
        self, ask: HttpAsk, target: Target, opened: _Idle
    ) -> tuple[HttpAnswer, AddressClass | None]:
        opened.backend.allow(self._limits.received_bytes)
        kept = False
        try:
            request = request_of(ask, target, self._connect_timeout_s)
            response = await opened.connection.handle_async_request(request)
            try:
                answer = await read_response(response, self._limits)
            finally:
                await response.aclose()
            kept = ask.purpose in _FREQUENT and opened.connection.is_idle()
        finally:
            if kept:
                await self._keep(target, opened)
            else:
                await opened.connection.aclose()
                await opened.backend.aclose()
        return answer, opened.backend.reached

    def _open(self, target: Target, addresses: Sequence[str]) -> _Idle:
        backend = self._backend(addresses)
        connection = httpcore2.AsyncHTTPConnection(
            httpcore2.Origin(target.scheme.encode(), target.host.encode(), target.port),
            ssl_context=self._tls.context if target.scheme == "https" else None,
            keepalive_expiry=IDLE_S,
            network_backend=backend,
        )
        return _Idle(connection, backend, asyncio.get_running_loop())

    def _backend(self, addresses: Sequence[str]) -> CheckedBackend:
        return CheckedBackend(self._network or sockets(), addresses)

    async def _take_idle(self, target: Target, addresses: Sequence[str]) -> _Idle | None:
        idle = self._idle.pop(target.origin, None)
        # A connection of another loop cannot be used, nor closed, in this one.
        if idle is None or idle.loop is not asyncio.get_running_loop():
            return None
        # It goes where the host is now, and nowhere else.
        if idle.backend.address in addresses and not idle.connection.has_expired():
            return idle
        await _close(idle)
        return None

    async def _keep(self, target: Target, opened: _Idle) -> None:
        displaced = self._idle.pop(target.origin, None)
        if displaced is None and len(self._idle) >= MAX_IDLE:
            displaced = self._idle.pop(next(iter(self._idle)))
        self._idle[target.origin] = opened
        if displaced is not None:
            await _close(displaced)


async def _close(idle: _Idle) -> None:
    if idle.loop is asyncio.get_running_loop():
        await idle.connection.aclose()
