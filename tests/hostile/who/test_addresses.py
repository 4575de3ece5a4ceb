"""Loopback addresses: every form of one is seen as one, and nothing else is."""

from __future__ import annotations

import pytest

from mcp_gen.core.transport.addresses import is_loopback
from mcp_gen.transports.http_server.security import OriginGuard

LOOPBACK = {
    "IPv4": "127.0.0.1",
    "another of the block": "127.8.8.8",
    "with a port": "127.0.0.1:8000",
    "with a dot behind": "127.0.0.1.",
    "with spaces around": " 127.0.0.1 ",
    "of two numbers": "127.1",
    "of three numbers": "127.0.1",
    "as one number": "2130706433",
    "in hexadecimal": "0x7f.0.0.1",
    "as one hexadecimal number": "0x7F000001",
    "in octal": "0177.0.0.1",
    "IPv6": "::1",
    "written out": "0:0:0:0:0:0:0:1",
    "in brackets": "[::1]",
    "in brackets with a port": "[::1]:8000",
    "with a zone": "::1%lo",
    "with a zone in brackets": "[::1%25lo]:8000",
    "mapped": "::ffff:127.0.0.1",
    "mapped in capitals": "::FFFF:127.0.0.1",
    "mapped in hexadecimal": "::ffff:7f00:1",
    "mapped and written out": "0:0:0:0:0:ffff:7f00:0001",
    "mapped in brackets with a port": "[::ffff:127.0.0.1]:8000",
    "mapped with a zone": "::ffff:127.0.0.1%lo0",
    "compatible": "::127.0.0.1",
    "translated": "::ffff:0:127.0.0.1",
    "NAT64": "64:ff9b::7f00:1",
    "6to4": "2002:7f00:1::",
    "6to4 of a host": "2002:7f00:1:7::9",
    "a name": "localhost",
    "a name in capitals": "LocalHost",
    "a name with a port": "localhost:8000",
    "a name with a dot behind": "localhost.",
    "a name below it": "app.localhost",
}
ELSEWHERE = {
    "IPv4": "192.0.2.7",
    "with a port": "192.0.2.7:8000",
    "every address": "0.0.0.0",
    "every address of IPv6": "::",
    "IPv6": "2001:db8::1",
    "link-local": "fe80::1%eth0",
    "mapped": "::ffff:192.0.2.7",
    "6to4": "2002:c000:207::1",
    "6to4 of a host that ends like loopback": "2002:c000:207::7f00:1",
    "an IPv6 address that ends like loopback": "2001:db8::7f00:1",
    "too many numbers": "127.0.0.0.1",
    "numbers that are too large": "127.0.0.256",
    "one number that is too large": "4294967296",
    "numbers that are none": "0177.0.0.9x",
    "octal that is none": "0197.0.0.1",
    "two of them": "::1::1",
    "a name that begins like an address": "127.0.0.1.example.com",
    "a name that begins with a number": "127.example.com",
    "a name that begins like localhost": "localhost.example.com",
    "a name that ends like localhost": "evil-localhost",
    "a path": "/run/server.sock",
    "very many digits": "1" * 10_000,
    "nothing": "",
}


class TestAddresses:
    """Every form of an address is seen as what it is: loopback, or not."""

    @pytest.mark.parametrize("address", LOOPBACK.values(), ids=LOOPBACK)
    def test_of_loopback(self, address: str) -> None:
        assert is_loopback(address)

    @pytest.mark.parametrize("address", ELSEWHERE.values(), ids=ELSEWHERE)
    def test_of_elsewhere(self, address: str) -> None:
        assert not is_loopback(address)

    @pytest.mark.parametrize("address", LOOPBACK.values(), ids=LOOPBACK)
    def test_over_each_form_of_loopback_a_rebound_host_is_refused(self, address: str) -> None:
        refused = OriginGuard(None, None).check((address, 8000), b"rebound.example.com", None)
        assert refused is not None
        assert refused.status == 403

    @pytest.mark.parametrize("server", [None, ("/run/server.sock", None), (None, None), (1, 2)])
    def test_what_is_no_address_is_not_loopback(self, server: object) -> None:
        assert OriginGuard(None, None).check(server, b"any.example.com", None) is None
