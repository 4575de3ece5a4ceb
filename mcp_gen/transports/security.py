"""Which hosts and origins are served: pages in a browser must not reach a server by surprise.

A page of any site can send requests to a server on the same machine, and by DNS rebinding even
read the answers: its name first leads to the site, then to 127.0.0.1. `Host` and `Origin` tell.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from mcp_gen.core.errors import UsageError

__all__ = ["Guard"]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
REMEMBERED = 1024


class Guard:
    """Tells by address, `Host` and `Origin` whether a request may be answered.

    What comes over loopback must name a loopback host, and an origin on one, or what is listed.
    What comes otherwise must name a listed host if any are listed, and no origin but listed ones.
    """

    def __init__(self, hosts: Collection[str] | None, origins: Collection[str] | None) -> None:
        self._hosts = frozenset(_listed_host(host) for host in _items(hosts, "allowed_hosts"))
        self._origins = frozenset(
            _listed_origin(origin) for origin in _items(origins, "allowed_origins")
        )
        self._known: dict[tuple[Any, bytes | None, bytes | None], str] = {}

    def objection(self, server: Any, host: bytes | None, origin: bytes | None) -> str:
        """What is wrong with a request; empty if nothing is.

        `server` is the `server` of the ASGI scope: where the connection came in.
        """
        asked = (server[0] if server else None, host, origin)
        found = self._known.get(asked)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[asked] = self._objection(*asked)
        return found

    def _objection(self, address: Any, host: bytes | None, origin: bytes | None) -> str:
        on_loopback = _is_loopback(address)
        if not self._admits_host((host or b"").decode("latin-1").lower(), on_loopback=on_loopback):
            return "the header `Host` names a host that is not served: list it in `allowed_hosts`"
        if origin is None or self._admits_origin(
            origin.decode("latin-1").lower(), on_loopback=on_loopback
        ):
            return ""
        return "the header `Origin` names a site that is not served: list it in `allowed_origins`"

    def _admits_host(self, host: str, *, on_loopback: bool) -> bool:
        if not on_loopback and not self._hosts:
            return True
        name = _without_port(host)
        return (on_loopback and name in LOOPBACK) or host in self._hosts or name in self._hosts

    def _admits_origin(self, origin: str, *, on_loopback: bool) -> bool:
        if origin in self._origins:
            return True
        scheme, found, host = origin.partition("://")
        return bool(on_loopback and found and scheme in ("http", "https")) and (
            _without_port(host) in LOOPBACK
        )


def _is_loopback(address: Any) -> bool:
    if address in LOOPBACK:
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


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
