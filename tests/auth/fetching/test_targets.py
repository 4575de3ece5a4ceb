"""URLs that a request may be sent to."""

from __future__ import annotations

import pytest

from mcp_gen.auth.fetching.targets import target_of
from mcp_gen.core.errors import AuthError


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://as.example", "https://as.example/"),
        ("https://AS.Example:443/a?b=c#d", "https://as.example/a?b=c"),
        ("https://as.example:8443/ä", "https://as.example:8443/%C3%A4"),
        ("https://[2606:4700:0::1111]/", "https://[2606:4700::1111]/"),
        ("http://localhost:3000/a%20b", "http://localhost:3000/a%20b"),
        ("http://127.1/", "http://127.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
    ],
)
def test_https_urls_and_http_urls_of_loopback_are_taken(url: str, sent: str) -> None:
    assert target_of(url, "it").url == sent


@pytest.mark.parametrize(
    "url",
    [
        *("http://as.example/", "http://10.0.0.1/", "http://0.0.0.0/", "http://localhost.example/"),
        *("ftp://as.example/", "gopher://as.example/", "file://localhost/etc/passwd"),
    ],
)
def test_other_schemes_and_http_elsewhere_are_refused(url: str) -> None:
    with pytest.raises(AuthError, match="it: expected an https URL"):
        target_of(url, "it")


@pytest.mark.parametrize(
    "url",
    [
        *("", "https:///x", "https://", "/token", "https://a b/", "https://as\t.example"),
        *("https://as.example:0/", "https://as.example:99999/", "https://as.example:x/"),
        *("https://[::1", "https://[fe80::1%1]/", "https://as.example\\@other.example/"),
        *("https://as.example/\r\nhost: x", "https://as.example/" + "x" * 9000),
    ],
)
def test_malformed_urls_are_refused(url: str) -> None:
    with pytest.raises(AuthError, match="it: expected a"):
        target_of(url, "it")


def test_a_url_with_a_password_is_refused_without_quoting_it() -> None:
    with pytest.raises(AuthError, match="without user and password") as caught:
        target_of("https://me:hunter2@as.example/", "it")
    assert "hunter2" not in str(caught.value)
