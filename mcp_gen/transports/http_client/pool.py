"""Sends HTTP requests with a connection pool (httpcore2) or with a given httpx client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import quote, urlsplit

from mcp_gen.core.errors import SessionLost, TransportError, UsageError
from mcp_gen.core.transport.addresses import is_loopback
from mcp_gen.transports.http_client.kept import KeptConnections

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["HttpxClient", "Pool", "PooledResponse", "Requests", "Response", "origin_of"]

IDLE_S = 4.0
"""Seconds that an unused connection is kept open.

Servers commonly close idle connections after 5 s. A request sent at that moment would be lost.
"""
MAX_URLS = 100
"""Number of URLs of one server that are kept prepared."""
_CODINGS = ("gzip", "deflate")
"""Content codings that a given client may decode.

They grow each chunk a thousand times at most. Others, or one inside another, grow it without bound
before there is a size to check.
"""
_SAFE = "/%:@!$&'()*+,;=-._~?"


class Response(Protocol):
    """An HTTP response whose body is still being received."""

    status: int
    headers: Mapping[str, str]
    """Header values by name in lower case; those of a repeated header are joined by commas."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in chunks."""
        ...

    async def aclose(self) -> None:
        """Release the response. Its connection is closed if the body was not read to its end."""
        ...


class Requests(Protocol):
    """Sends HTTP requests. It does not follow redirects."""

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Send a request and return once the response headers have arrived.

        Args:
            method: The HTTP method.
            url: The URL.
            headers: Header lines.
            body: The body; None for none.

        Raises:
            TransportError: The server cannot be reached.
            SessionLost: The server disconnected before it responded.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def origin_of(url: str) -> tuple[str, str, int]:
    """Return the scheme, host and port of a URL.

    Raises:
        UsageError: It is no http or https URL with a host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Its text quotes the URL, which may hold credentials.
        raise UsageError("expected a URL with a valid host and port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("expected a URL that begins with http:// or https:// and a host")
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)


class Pool:
    """Connection pool with keep-alive. Connections are opened on demand.

    Proxies are taken from the environment, but not for hosts of this machine.

    Args:
        connect_timeout_s: Seconds to wait for a connection.
        parser: The HTTP parser; `"auto"` is httptools where it is installed, else h11. Connections
            through a proxy always have h11.
    """

    def __init__(
        self, connect_timeout_s: float, parser: Literal["auto", "h11", "httptools"] = "auto"
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._extensions = {"timeout": {"connect": connect_timeout_s}}
        self._parser = parser
        self._ssl_context: Any = None
        self._origins: dict[tuple[str, str, int], KeptConnections] = {}
        self._urls: dict[str, tuple[KeptConnections, Any, tuple[bytes, bytes]]] = {}

    async def send(
        self, method: str, url: str, headers: Lines, body: bytes | None
    ) -> PooledResponse:
        """Send one request; see `Requests.send`."""
        # Imported with the first request: a program that only serves does not need it.
        import httpcore2

        known = self._urls.get(url)
        if known is None:
            if len(self._urls) >= MAX_URLS:
                # A server may redirect to ever other URLs.
                self._urls.clear()
            known = self._urls[url] = self._prepare(url)
        connections, target, host = known
        lines = [host, *headers]
        if body is not None:
            lines.append((b"content-length", b"%d" % len(body)))
        request = httpcore2.Request(
            method, target, headers=lines, content=body, extensions=self._extensions
        )
        try:
            response, connection = await connections.send(request)
            return PooledResponse(response, connection, connections)
        except Exception as error:
            raise _translate_error(error) from error

    async def aclose(self) -> None:
        """Close all connections."""
        origins, self._origins = self._origins, {}
        self._urls.clear()
        for connections in origins.values():
            await connections.aclose()

    def _prepare(self, url: str) -> tuple[KeptConnections, Any, tuple[bytes, bytes]]:
        import httpcore2  # see `send`

        origin = scheme, name, _ = origin_of(url)
        parts = urlsplit(url)
        # A host may be an internationalized name, or an IPv6 address.
        try:
            host = name.encode("ascii" if name.isascii() else "idna")
        except UnicodeError:
            raise TransportError("the URL's host is no host name") from None
        target = quote(parts.path or "/", safe=_SAFE)
        if parts.query:
            target += "?" + quote(parts.query, safe=_SAFE)
        at = httpcore2.URL(
            scheme=scheme.encode(), host=host, port=parts.port, target=target.encode()
        )
        host_header = b"[%b]" % host if b":" in host else host
        if parts.port is not None:
            host_header = b"%b:%d" % (host_header, parts.port)
        connections = self._origins.get(origin)
        if connections is None:
            make = self._maker(at.origin, _proxy_for(scheme, name))
            connections = self._origins[origin] = KeptConnections(make)
        return connections, at, (b"host", host_header)

    def _maker(self, origin: Any, proxy: str) -> Callable[[], Any]:
        # Loaded with the first connection.
        import httpcore2

        # Loaded with the first connection.
        from mcp_gen.transports.http_client.sockets import SocketBackend

        backend = SocketBackend()
        if not proxy and self._has_httptools:
            # Loaded with the first connection.
            from mcp_gen.transports.http_client.answers import ParsedConnection

            context = self._tls() if origin.scheme == b"https" else None
            return lambda: ParsedConnection(
                origin,
                backend,
                connect_timeout_s=self._connect_timeout_s,
                keep_s=IDLE_S,
                ssl_context=context,
            )
        # It only makes connections; `KeptConnections` keeps them at less cost.
        factory = httpcore2.AsyncConnectionPool(
            proxy=_proxy(proxy), keepalive_expiry=IDLE_S, network_backend=backend
        )
        return lambda: factory.create_connection(origin)

    @property
    def _has_httptools(self) -> bool:
        if self._parser == "auto":
            return find_spec("httptools") is not None
        return self._parser == "httptools"

    def _tls(self) -> Any:
        import httpcore2  # see `send`

        if self._ssl_context is None:
            self._ssl_context = httpcore2.default_ssl_context()
            self._ssl_context.set_alpn_protocols(["http/1.1"])
        return self._ssl_context


def _proxy_for(scheme: str, host: str) -> str:
    """Return the URL of the environment's proxy for a host; empty for none."""
    # As in `Pool.send`; urllib.request also imports http.client and email.
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    # A proxy would resolve loopback hosts to itself.
    if is_loopback(host) or proxy_bypass(host):
        return ""
    if proxy and not proxy.startswith(("http://", "https://")):
        raise TransportError(
            "the environment names a proxy that is none of HTTP: give a client that has it"
        )
    return proxy


def _proxy(url: str) -> Any:
    if not url:
        return None
    import httpcore2  # see `Pool.send`

    parts = urlsplit(url)
    user = (parts.username, parts.password or "") if parts.username else None
    return httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=user)


class PooledResponse:
    """A response of the pool; see `Response`.

    Attributes:
        lines: The header lines as they came: a header may be there more than once.
    """

    __slots__ = ("_connection", "_connections", "_stream", "headers", "lines", "status")

    def __init__(self, response: Any, connection: Any, connections: KeptConnections) -> None:
        self._stream = response.stream
        self._connection = connection
        self._connections = connections
        self.status: int = response.status
        self.lines: Lines = response.headers
        headers: dict[str, str] = {}
        for key, value in self.lines:
            name, text = key.decode("latin-1").lower(), value.decode("latin-1")
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        self.headers: Mapping[str, str] = headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in chunks."""
        try:
            async with aclosing(self._stream.__aiter__()) as parts:
                async for part in parts:
                    yield part
        except Exception as error:
            raise _translate_error(error) from error

    async def aclose(self) -> None:
        """Release the response."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await self._stream.aclose()
        finally:
            await self._connections.release(connection)


class HttpxClient:
    """Sends requests with the user's AsyncClient of httpx2 or httpx.

    The client's own headers, auth, proxies and limits apply.

    Args:
        client: The AsyncClient. It is not closed here.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Send one request; see `Requests.send`. The client's read timeout is disabled."""
        client = self._client
        # No read timeout: the sender of a request decides how long to wait.
        given = client.timeout
        limits = {"connect": given.connect, "write": given.write, "pool": given.pool, "read": None}
        lines = [*headers, (b"accept-encoding", ", ".join(_CODINGS).encode())]
        request = client.build_request(
            method, url, headers=lines, content=body, extensions={"timeout": limits}
        )
        try:
            return _ClientResponse(await client.send(request, stream=True, follow_redirects=False))
        except Exception as error:
            raise _translate_error(error) from error

    async def aclose(self) -> None:
        """Do nothing: the user who created the client closes it."""


class _ClientResponse:
    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: Any) -> None:
        self._response = response
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        if coding not in (*_CODINGS, "identity"):
            raise TransportError("expected a body in gzip or deflate, or as it is")
        try:
            async with aclosing(self._response.aiter_bytes()) as parts:
                async for part in parts:
                    yield part
        except Exception as error:
            raise _translate_error(error) from error

    async def aclose(self) -> None:
        await self._response.aclose()


_UNREACHABLE = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"}
_DISCONNECTED = ("disconnected", "closed connection")
_BROKEN = {"NetworkError", "ProtocolError", "TimeoutException", "TransportError"}


def _translate_error(error: Exception) -> Exception:
    """Translate an error of httpx, httpx2 or httpcore2, whose classes have the same names."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, TransportError):
        return error
    description = str(error) or type(error).__name__
    if names & _UNREACHABLE:
        return TransportError(f"the server cannot be reached: {description}")
    if "LocalProtocolError" in names:
        return TransportError(f"the request cannot be sent: {description}")
    if "RemoteProtocolError" in names and not any(word in description for word in _DISCONNECTED):
        return TransportError(f"what the server sends is no HTTP: {description}")
    if names & _BROKEN:
        return SessionLost(f"the server hung up: {description}")
    return TransportError(f"the request failed: {description}")
