"""Sends HTTP requests: with a pool of connections of its own, or with a client that is given."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from mcp_gen.core.errors import SessionLost, TransportError, UsageError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["GivenClient", "Pool", "Requests", "Response", "origin_of"]

IDLE_S = 4.0
"""How long an unused connection is kept. Servers commonly close them after 5 s: to use one at that
very moment would lose a request."""
_THIS_MACHINE = ("localhost", "::1")
_SAFE = "/%:@!$&'()*+,;=-._~?"


class Response(Protocol):
    """An HTTP answer whose body is on its way."""

    status: int

    def header(self, name: str) -> str:
        """A header's value, by its name in lower case; empty where there is none."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, piece by piece."""
        ...

    async def aclose(self) -> None:
        """Be done with it: the connection is closed if there is more to come."""
        ...


class Requests(Protocol):
    """What sends HTTP requests. Redirects are the caller's to follow."""

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Send one; returns when the answer begins.

        Raises:
            TransportError: nobody can be reached.
            SessionLost: the server hung up before it answered.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port.

    Raises:
        UsageError: it is no URL of HTTP.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"expected a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("expected a URL that begins with http:// or https:// and a host")
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)


class Pool:
    """Connections that are kept open between requests. Made when first used."""

    def __init__(self, connect_timeout_s: float) -> None:
        self._extensions = {"timeout": {"connect": connect_timeout_s}}
        self._pools: dict[str, Any] = {}
        self._urls: dict[str, tuple[Any, Any, tuple[bytes, bytes]]] = {}

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Send one request; see `Requests`."""
        # Loaded with the first request: a program that only serves does without it.
        import httpcore2

        known = self._urls.get(url)
        if known is None:
            known = self._urls[url] = self._prepared(url)
        pool, target, host = known
        lines = [host, *headers]
        if body is not None:
            lines.append((b"content-length", b"%d" % len(body)))
        request = httpcore2.Request(
            method, target, headers=lines, content=body, extensions=self._extensions
        )
        try:
            return _Pooled(await pool.handle_async_request(request))
        except Exception as error:
            raise _named(error) from error

    async def aclose(self) -> None:
        """Close all connections."""
        pools, self._pools = self._pools, {}
        self._urls.clear()
        for pool in pools.values():
            await pool.aclose()

    def _prepared(self, url: str) -> tuple[Any, Any, tuple[bytes, bytes]]:
        import httpcore2  # see `send`

        scheme, name, _ = origin_of(url)
        parts = urlsplit(url)
        # A host may be written in any alphabet, or be an address of IPv6.
        host = name.encode("ascii" if name.isascii() else "idna")
        target = quote(parts.path or "/", safe=_SAFE)
        if parts.query:
            target += "?" + quote(parts.query, safe=_SAFE)
        at = httpcore2.URL(
            scheme=scheme.encode(), host=host, port=parts.port, target=target.encode()
        )
        shown = b"[%b]" % host if b":" in host else host
        if parts.port is not None:
            shown = b"%b:%d" % (shown, parts.port)
        return self._pool(scheme, name), at, (b"host", shown)

    def _pool(self, scheme: str, host: str) -> Any:
        # As in `send`; urllib.request loads http.client and email besides.
        from urllib.request import getproxies, proxy_bypass

        import httpcore2

        from mcp_gen.transports.http_client.sockets import SocketBackend

        proxies = getproxies()
        through = proxies.get(scheme) or proxies.get("all") or ""
        # To a proxy, this machine is another one.
        if host in _THIS_MACHINE or host.startswith("127.") or proxy_bypass(host):
            through = ""
        elif through and not through.startswith(("http://", "https://")):
            raise TransportError(
                "the environment names a proxy that is none of HTTP: give a client that has it"
            )
        if through not in self._pools:
            self._pools[through] = httpcore2.AsyncConnectionPool(
                proxy=_proxy(through),
                max_connections=None,
                max_keepalive_connections=20,
                keepalive_expiry=IDLE_S,
                network_backend=SocketBackend(),
            )
        return self._pools[through]


def _proxy(url: str) -> Any:
    if not url:
        return None
    import httpcore2  # see `Pool.send`

    parts = urlsplit(url)
    user = (parts.username, parts.password or "") if parts.username else None
    return httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=user)


class _Pooled:
    __slots__ = ("_response", "status")

    def __init__(self, response: Any) -> None:
        self._response = response
        self.status: int = response.status

    def header(self, name: str) -> str:
        wanted = name.encode()
        lines: Sequence[tuple[bytes, bytes]] = self._response.headers
        return ", ".join(value.decode("latin-1") for key, value in lines if key.lower() == wanted)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(self._response.stream.__aiter__()) as parts:
                async for part in parts:
                    yield part
        except Exception as error:
            raise _named(error) from error

    async def aclose(self) -> None:
        await self._response.stream.aclose()


class GivenClient:
    """A client of httpx2 or httpx: with its own headers, authentication, proxies and limits."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Send one request; see `Requests`."""
        client = self._client
        # Answers may take as long as those who wait for them like.
        given = client.timeout
        limits = {"connect": given.connect, "write": given.write, "pool": given.pool, "read": None}
        request = client.build_request(
            method, url, headers=headers, content=body, extensions={"timeout": limits}
        )
        try:
            return _FromGiven(await client.send(request, stream=True, follow_redirects=False))
        except Exception as error:
            raise _named(error) from error

    async def aclose(self) -> None:
        """Nothing: whoever made the client closes it."""


class _FromGiven:
    __slots__ = ("_response", "status")

    def __init__(self, response: Any) -> None:
        self._response = response
        self.status: int = response.status_code

    def header(self, name: str) -> str:
        value: str = self._response.headers.get(name, "")
        return value

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(self._response.aiter_bytes()) as parts:
                async for part in parts:
                    yield part
        except Exception as error:
            raise _named(error) from error

    async def aclose(self) -> None:
        await self._response.aclose()


_NOT_REACHED = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}
_HUNG_UP = ("disconnected", "closed connection")
_BROKEN = {"NetworkError", "ProtocolError", "TimeoutException", "TransportError"}


def _named(error: Exception) -> Exception:
    """The same as one of our errors. httpx, httpx2 and httpcore2 name theirs alike."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, TransportError):
        return error
    said = str(error) or type(error).__name__
    if names & _NOT_REACHED:
        return TransportError(f"the server cannot be reached: {said}")
    if "LocalProtocolError" in names:
        return TransportError(f"the request cannot be sent: {said}")
    if "RemoteProtocolError" in names and not any(word in said for word in _HUNG_UP):
        return TransportError(f"what the server sends is no HTTP: {said}")
    if names & _BROKEN:
        return SessionLost(f"the server hung up: {said}")
    return TransportError(f"the request failed: {said}")
