"""Classes of IP addresses, and which of them a document may lead to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

from mcp_gen.core.errors import UsageError

__all__ = ["AddressClass", "AddressPolicy", "address_class", "normal_host"]


class AddressClass(Enum):
    """Whom an IP address reaches; the text stands in errors."""

    PUBLIC = "a public address"
    PRIVATE = "a private address"
    LOOPBACK = "a loopback address"
    NEVER = "an address that no server is at (link-local, cloud metadata, multicast or reserved)"


_PRIVATE_V4 = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    # Carrier-grade NAT, which is also what overlay networks number their machines with.
    IPv4Network("100.64.0.0/10"),
    # Benchmarks; local proxies that answer all names give out its addresses.
    IPv4Network("198.18.0.0/15"),
)
_NEVER_V4 = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.0.2.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
    IPv4Network("224.0.0.0/3"),
    # Metadata and platform services of clouds that are not link-local: Alibaba and Azure.
    IPv4Network("100.100.100.200/32"),
    IPv4Network("168.63.129.16/32"),
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_PRIVATE_V6 = (IPv6Network("fc00::/7"), IPv6Network("fec0::/10"))
_NEVER_V6 = (
    # Protocol assignments, Teredo among them.
    IPv6Network("2001::/23"),
    IPv6Network("2001:db8::/32"),
    IPv6Network("2002::/16"),
    IPv6Network("3fff::/20"),
    # Metadata services of clouds at unique local addresses: Amazon, Google and Oracle.
    IPv6Network("fd00:ec2::/32"),
    IPv6Network("fd20:ce::/32"),
    IPv6Network("fd00:c1::/32"),
)
_NAME = re.compile(r"[a-z0-9_.-]{1,253}")
_PUBLIC_ONLY = frozenset({AddressClass.PUBLIC})
_ANY_SERVER = frozenset({AddressClass.PUBLIC, AddressClass.PRIVATE, AddressClass.LOOPBACK})
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")


def address_class(address: str) -> AddressClass:
    """Return whom an IP address reaches.

    An IPv4 address inside of an IPv6 address counts as what the packets reach: a mapped address
    as itself, one behind NAT64 as itself but never as loopback. Those of a network's own NAT64,
    where it is not known which bits they are, and of mechanisms that are given up (IPv4-compatible,
    IPv4-translated, 6to4, Teredo) are refused altogether.

    Args:
        address: The IPv4 or IPv6 address, as the resolver returns it.

    Source: https://www.iana.org/assignments/iana-ipv6-special-registry
    """
    try:
        known = ip_address(address)
    except ValueError:
        # Nothing is known of a text that is no address.
        return AddressClass.NEVER
    if isinstance(known, IPv4Address):
        return _class_of_v4(known)
    return _class_of_v6(known)


def _class_of_v4(address: IPv4Address) -> AddressClass:
    if _in(address, _NEVER_V4):
        return AddressClass.NEVER
    if address.is_loopback:
        return AddressClass.LOOPBACK
    return AddressClass.PRIVATE if _in(address, _PRIVATE_V4) else AddressClass.PUBLIC


def _class_of_v6(address: IPv6Address) -> AddressClass:
    number = int(address)
    if number == 1:
        return AddressClass.LOOPBACK
    if address.scope_id is not None:
        # A zone makes sense for link-local addresses alone.
        return AddressClass.NEVER
    if address in _MAPPED:
        return _class_of_v4(IPv4Address(number & 0xFFFF_FFFF))
    if address in _NAT64:
        return _behind_nat64(IPv4Address(number & 0xFFFF_FFFF))
    if _in(address, _NEVER_V6):
        return AddressClass.NEVER
    if _in(address, _PRIVATE_V6):
        return AddressClass.PRIVATE
    return AddressClass.PUBLIC if address in _PUBLIC_V6 else AddressClass.NEVER


def _behind_nat64(address: IPv4Address) -> AddressClass:
    found = _class_of_v4(address)
    # The loopback of the translating machine, not of this one.
    return AddressClass.NEVER if found is AddressClass.LOOPBACK else found


def _in(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network] | Iterable[IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def normal_host(host: str) -> str:
    """Return the spelling of a host that is compared: ASCII, lower case, no brackets, no last dot.

    Args:
        host: A host name or an IP address.

    Raises:
        UsageError: It is no host.
    """
    text = host.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        if ":" in text and "%" not in text:
            return str(IPv6Address(text))
        text = text if text.isascii() else text.encode("idna").decode("ascii")
    except ValueError:
        text = ""
    if not _NAME.fullmatch(text):
        raise UsageError(
            "expected a host name or IP address without scheme, port and path, such as "
            '"idp.corp.example"'
        )
    return text


class AddressPolicy:
    """Decides which addresses a request may go to.

    The host that a user or operator configured may be anywhere but at an address that no server
    is at. What its documents lead to may be public, or of the class that the configured host's
    own address has: a server inside a company may name an authorization server inside of it,
    one on loopback another one on loopback, and one on the internet neither.

    Args:
        allow_hosts: Names of further hosts that may be at private addresses and on loopback, such
            as `idp.corp.example`. The port does not matter.
    """

    def __init__(self, allow_hosts: Collection[str] = ()) -> None:
        if isinstance(allow_hosts, str):
            raise UsageError("allow_hosts: expected a list of host names, got one text")
        self._hosts = frozenset(map(normal_host, allow_hosts))

    def allowed(
        self, host: str, configured: str | None, led_by: AddressClass | None
    ) -> frozenset[AddressClass]:
        """Return the classes that the addresses of a host may have.

        Args:
            host: The host of the request; see `normal_host`.
            configured: The host that the user or operator configured; None for none.
            led_by: The class of its address; None if it is not known.
        """
        if host in self._hosts or host == configured:
            return _ANY_SERVER
        if led_by is None or led_by is AddressClass.NEVER:
            return _PUBLIC_ONLY
        return _PUBLIC_ONLY | {led_by}
