"""Classes of addresses, in all their spellings."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest

from mcp_gen.auth.fetching.addresses import (
    AddressClass,
    AddressPolicy,
    address_class,
    normal_host,
)
from mcp_gen.core.errors import UsageError
from tests.support.property_tests import given, st

PUBLIC, PRIVATE = AddressClass.PUBLIC, AddressClass.PRIVATE
LOOPBACK, NEVER = AddressClass.LOOPBACK, AddressClass.NEVER


def each(addresses: str) -> pytest.MarkDecorator:
    """Run a test with each of the addresses."""
    return pytest.mark.parametrize("address", addresses.split())


@each(
    """
    1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.1.1 198.17.255.255
    198.20.0.0 223.255.255.255 2606:4700::1111 2a00::1 2001:200::1 2400:cb00::1
    """
)
def test_what_everyone_reaches_is_public(address: str) -> None:
    assert address_class(address) is PUBLIC


@each(
    """
    10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 100.64.0.0
    100.127.255.255 198.18.0.1 198.19.255.255 fc00::1 fdff:ffff::1 fec0::1
    """
)
def test_what_only_a_network_of_ones_own_reaches_is_private(address: str) -> None:
    assert address_class(address) is PRIVATE


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"]
)
def test_this_machine_is_loopback(address: str) -> None:
    assert address_class(address) is LOOPBACK


@pytest.mark.parametrize(
    "address",
    [
        "169.254.0.1",
        "169.254.255.255",
        "fe80::1",
        "fe80::1%eth0",
        "fe80::a9fe:a9fe",
        "2606::1%eth0",
    ],
)
def test_link_local_addresses_are_never_allowed(address: str) -> None:
    assert address_class(address) is NEVER


@each(
    """
    169.254.169.254 169.254.170.2 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe
    100.100.100.200 168.63.129.16 192.0.0.192
    """
)
def test_metadata_services_of_clouds_are_never_allowed(address: str) -> None:
    assert address_class(address) is NEVER


@each(
    """
    0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 192.0.2.1
    198.51.100.1 203.0.113.1 192.88.99.1 :: ff02::1 2001:db8::1 3fff::1 100::1 5f00::1
    4000::1 2001:20::1
    """
)
def test_multicast_reserved_and_unspecified_addresses_are_never_allowed(address: str) -> None:
    assert address_class(address) is NEVER


@each(
    """
    ::127.0.0.1 ::10.0.0.1 ::1.1.1.1 ::ffff:0:127.0.0.1 ::ffff:0:1.1.1.1 2002:7f00:1::
    2002:a00:1::1 2002:101:101::1 2001:0:101:101::1 2001::f5ff:fffe 64:ff9b:1::127.0.0.1
    64:ff9b:1::10.0.0.1 64:ff9b:1::1.1.1.1 64:ff9b:1:7f00:0:100:: 64:ff9b::127.0.0.1
    64:ff9b::169.254.169.254
    """
)
def test_ipv4_that_hides_in_ipv6_is_never_allowed(address: str) -> None:
    assert address_class(address) is NEVER


@pytest.mark.parametrize(
    "text", ["localhost", "127.1", "0x7f000001", "2130706433", "010.0.0.1", ""]
)
def test_what_is_no_address_is_never_allowed(text: str) -> None:
    assert address_class(text) is NEVER


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_what_it_maps_to(address: IPv4Address) -> None:
    assert address_class(f"::ffff:{address}") is address_class(str(address))


@given(st.ip_addresses(v=4))
def test_an_address_behind_nat64_is_what_it_is_but_never_loopback(address: IPv4Address) -> None:
    inside = address_class(str(address))
    assert address_class(f"64:ff9b::{address}") is (NEVER if inside is LOOPBACK else inside)


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_is_public_that_python_knows_as_special(address: IPv4Address) -> None:
    if address_class(str(address)) is PUBLIC:
        assert (address.is_global, address.is_multicast) == (True, False)


@given(st.ip_addresses(v=6))
def test_no_ipv6_address_is_public_that_python_knows_as_special(address: IPv6Address) -> None:
    # Releases of Python differ in how they see IPv4 inside of IPv6; see above for it.
    if address in IPv6Network("2000::/3") and address_class(str(address)) is PUBLIC:
        assert (address.is_global, address.is_multicast) == (True, False)


# --- names ---


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("IdP.Corp.Example", "idp.corp.example"),
        ("idp.example.", "idp.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[FD00:0::5]", "fd00::5"),
        (" 10.0.0.5 ", "10.0.0.5"),
    ],
)
def test_spellings_of_one_host_are_equal(text: str, host: str) -> None:
    assert normal_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a b", "a@b", "*.example", "x" * 254),
        *("https://idp.example", "idp.example:443", "idp.example/x", "fe80::1%eth0"),
    ],
)
def test_what_is_no_host_cannot_be_allowed(text: str) -> None:
    with pytest.raises(UsageError, match="expected a host name or IP address without scheme"):
        AddressPolicy(allow_hosts=[text])


def test_one_text_of_allowed_hosts_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a list of host names"):
        AddressPolicy(allow_hosts="idp.example")
