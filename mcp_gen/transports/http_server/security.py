"""Host and Origin checks: protection against DNS rebinding and unlisted web pages.

A page of any site can send requests to a server on the same machine. By DNS rebinding it can even
read the answers: its host name first resolves to the site, then to 127.0.0.1. The `Host` and
`Origin` headers reveal both.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["OriginGuard", "Rejection"]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
REMEMBERED = 1024
REMEMBERED_BYTES = 256
"""Longest pair of headers whose check is cached: an attacker chooses their length."""

# A host and an optional port; the host is a name, an IPv4 address, or an IPv6 address in brackets.
# https://www.rfc-editor.org/rfc/rfc9110.html#name-host-and-authority
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z_.~%!$&'()*+;=-]+)(:[0-9]*)?")


class Rejection(NamedTuple):
    """HTTP status and reason of a refused request."""

    status: int
    why: str


_OTHER_HOST = Rejection(
    403, "the header `Host` names a host that is not served: list it in `allowed_hosts`"
)
_OTHER_ORIGIN = Rejection(
    403, "the header `Origin` names a site that is not served: list it in `allowed_origins`"
)


class OriginGuard:
    """Validates the `Host` and `Origin` headers against the address of the connection.

    Over loopback, `Host` must name a loopback host or a listed one, and `Origin` an origin on
    loopback or a listed one. Otherwise `Host` must name a listed host if any are listed, and
    `Origin` a listed origin. A request without `Origin` passes the second check.

    Args:
        hosts: Allowed hosts, with or without port; None for none. No wildcards.
        origins: Allowed origins (scheme, host and port); None for none. No wildcards.

    Raises:
        UsageError: one of the two is a string, or has an entry that is no host or origin.
    """

    def __init__(self, hosts: Collection[str] | None, origins: Collection[str] | None) -> None:
        self._hosts = frozenset(_listed_host(host) for host in _items(hosts, "allowed_hosts"))
        self._origins = frozenset(
            _listed_origin(origin) for origin in _items(origins, "allowed_origins")
        )
        self._known: dict[tuple[Any, bytes | None, bytes | None], Rejection | None] = {}

    def check(self, server: Any, host: bytes | None, origin: bytes | None) -> Rejection | None:
        """Return why a request is rejected; None if it is accepted.

        Args:
            server: The `server` of the ASGI scope: the local address of the connection.
            host: The `Host` header.
            origin: The `Origin` header.
        """
        key = (server[0] if server else None, host, origin)
        try:
            return self._known[key]
        except KeyError:
            found = self._objection(*key)
        if len(host or b"") + len(origin or b"") <= REMEMBERED_BYTES:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = found
        return found

    def _objection(
        self, address: Any, host: bytes | None, origin: bytes | None
    ) -> Rejection | None:
        on_loopback = isinstance(address, str) and is_loopback(address)
        if on_loopback or self._hosts:
            named = (host or b"").decode("latin-1").lower()
            if not _HOST.fullmatch(named):
                return Rejection(400, "expected the header `Host`, with one host: `example.org:80`")
            if not self._admits_host(named, on_loopback=on_loopback):
                return _OTHER_HOST
        if origin is None or self._admits_origin(
            origin.decode("latin-1").lower(), on_loopback=on_loopback
        ):
            return None
        return _OTHER_ORIGIN

    def _admits_host(self, host: str, *, on_loopback: bool) -> bool:
        name = _without_port(host)
        return (on_loopback and name in LOOPBACK) or host in self._hosts or name in self._hosts

    def _admits_origin(self, origin: str, *, on_loopback: bool) -> bool:
        if origin in self._origins:
            return True
        scheme, found, host = origin.partition("://")
        return bool(on_loopback and found and scheme in ("http", "https")) and (
            _without_port(host) in LOOPBACK
        )


def _without_port(host: str) -> str:
    name, found, port = host.rpartition(":")
    return name if found and port.isascii() and port.isdigit() else host


def _items(given: Collection[str] | None, option: str) -> Collection[str]:
    if isinstance(given, str):
        raise UsageError(f"{option}={given!r}: expected a list")
    return given or ()


def _listed_host(host: str) -> str:
    if "*" in host or "/" in host or not host:
        raise UsageError(
            f"allowed_hosts: {host!r}: expected a name as in the header `Host`, "
            "such as 'mcp.example.org' or 'mcp.example.org:8443'; there are no wildcards"
        )
    return host.lower()


def _listed_origin(origin: str) -> str:
    parts = urlsplit(origin)
    if "*" in origin or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
        raise UsageError(
            f"allowed_origins: {origin!r}: expected scheme, host and port as in the header "
            "`Origin`, such as 'https://example.org'; there are no wildcards"
        )
    return origin.lower()
