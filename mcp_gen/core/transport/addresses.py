"""Network addresses as text: which of them reach this machine alone."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address, IPv6Network

__all__ = ["is_loopback"]

_BRACKETED = re.compile(r"\[([^\]]*)\](?::[0-9]*)?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_V4_INSIDE = (
    # The unspecified address and ::1 are in the first network, and are no IPv4 addresses.
    (IPv6Network("::/96"), 0),
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
"""Networks whose addresses hold an IPv4 address, and the number of bits behind it.

IPv4-compatible, IPv4-mapped, IPv4-translated, NAT64 and 6to4.
https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5
"""


def is_loopback(address: str) -> bool:
    """Return True if an address or host name reaches this machine alone, however it is written.

    Understands ports, brackets, zone ids, IPv4 addresses inside of IPv6 addresses, the short and
    numeric forms of IPv4 that the C library reads (`127.1`, `0x7f000001`), and `localhost` with
    every name below it. To decide what a server may be called by others, compare names instead:
    this function takes more than what is safe to admit.

    Args:
        address: An IP address or a host name, with or without a port.
    """
    host = address.strip().lower()
    if found := _BRACKETED.fullmatch(host):
        host = found[1]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    host = host.partition("%")[0]
    if ":" in host:
        try:
            return _is_v6_loopback(IPv6Address(host))
        except AddressValueError:
            return False
    name = host.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    v4 = _v4(name)
    return v4 is not None and v4.is_loopback


def _is_v6_loopback(address: IPv6Address) -> bool:
    if address.is_loopback:
        return True
    # Not every supported Python looks into mapped addresses, and none into the others.
    return any(
        address in network and IPv4Address(int(address) >> behind & 0xFFFF_FFFF).is_loopback
        for network, behind in _V4_INSIDE
    )


def _v4(text: str) -> IPv4Address | None:
    """Return the IPv4 address of one to four numbers; the last one fills the bytes that remain."""
    parts = text.split(".")
    if len(parts) > 4 or not all(len(one) < 16 and _NUMBER.fullmatch(one) for one in parts):
        return None
    try:
        *first, last = map(_number, parts)
    except ValueError:
        return None
    if any(one > 0xFF for one in first) or last >= 1 << 8 * (4 - len(first)):
        return None
    value = int.from_bytes(bytes(first)) << 8 * (4 - len(first))
    return IPv4Address(value | last)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") else int(text)
