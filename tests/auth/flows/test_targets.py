"""URLs of authorization: safe ones, what a resource covers, and canonical forms."""

from __future__ import annotations

import pytest

from mcp_gen.auth.flows.targets import (
    covers,
    is_safe_url,
    require_safe_url,
    resource_of,
    shown_issuer,
    well_known,
)
from mcp_gen.core.errors import AuthError

URL = "https://api.example/mcp"


@pytest.mark.parametrize(
    "url",
    [
        "https://as.example",
        "https://as.example:8443/a/b?tenant=1",
        "http://localhost:3000/x",
        "http://127.0.0.1/x",
        "http://[::1]:8080",
        "https://[2001:db8::1]/x",
    ],
)
def test_https_and_loopback_are_safe(url: str) -> None:
    assert is_safe_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://as.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "ftp://as.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "https://user:pass@as.example",
        "https://as.example/#fragment",
        "https://as.example/#",
        "https://as.example/a b",
        "https://as.example/\n",
        "https://as.example\\@evil.example",
        "https://ä.example",
        "https://as.example:99999",
        "https://as.example:0",
        "https://[::1",
        "https://",
        "//as.example",
        "",
    ],
)
def test_other_urls_are_not_safe(url: str) -> None:
    assert not is_safe_url(url)


def test_the_error_about_an_unsafe_url_shows_no_password() -> None:
    with pytest.raises(AuthError) as caught:
        require_safe_url("http://user:secret@as.example/x?key=secret", "the token endpoint")
    assert "secret" not in str(caught.value)
    assert "'http://as.example/x'" in str(caught.value)


@pytest.mark.parametrize(
    "resource",
    [
        URL,
        "https://api.example/mcp/",
        "https://api.example/",
        "https://api.example",
        "https://API.example/mcp",
        "HTTPS://api.example:443/mcp",
    ],
)
def test_a_resource_covers_its_own_path_and_those_below(resource: str) -> None:
    assert covers(resource, URL)


@pytest.mark.parametrize(
    "resource",
    [
        "https://api.example/mc",
        "https://api.example/mcp/more",
        "https://api.example/MCP",
        "https://api.example/other",
        "https://other.example/mcp",
        "https://api.example.evil.example/mcp",
        "http://api.example/mcp",
        "https://api.example:8443/mcp",
        "https://user@api.example/mcp",
        "https://api.example/mcp#x",
        "https://api.example/mcp?x=1",
        "https://api.example/a/../mcp",
        "https://api.example/%2e%2e/mcp",
        "api.example/mcp",
        "",
    ],
)
def test_a_resource_covers_nothing_else(resource: str) -> None:
    assert not covers(resource, URL)


@pytest.mark.parametrize("url", ["https://api.example/a/../b", "https://api.example/a/%2E%2e/b"])
def test_no_resource_covers_a_path_that_climbs(url: str) -> None:
    assert not covers("https://api.example/a", url)


CANONICAL = {
    "https://API.example:443/mcp/": URL,
    "https://api.example/mcp?tenant=1": URL,
    "https://api.example/mcp#x": URL,
    "https://api.example/": "https://api.example",
    "https://api.example:8443/Mcp": "https://api.example:8443/Mcp",
    "http://[::1]:80/x": "http://[::1]/x",
    "https://api.example./mcp": URL,
}


@pytest.mark.parametrize("url", CANONICAL)
def test_the_canonical_resource_has_no_default_port_query_or_last_slash(url: str) -> None:
    assert resource_of(url) == CANONICAL[url]


def test_a_url_that_is_none_has_no_resource() -> None:
    with pytest.raises(AuthError, match="expected an http or https URL"):
        resource_of("stdio:server")


def test_a_well_known_url_is_inserted_before_the_path() -> None:
    assert [
        well_known("https://as.example:8443/t/1/", "x"),
        well_known("https://as.example/", "x"),
        well_known("https://as.example/t", "x", path=False),
    ] == [
        "https://as.example:8443/.well-known/x/t/1",
        "https://as.example/.well-known/x",
        "https://as.example/.well-known/x",
    ]


def test_a_shown_issuer_is_cut_short_and_has_no_query() -> None:
    assert len(shown_issuer(f"https://as.example/{'a' * 5000}")) < 210
    assert "key" not in shown_issuer("https://as.example/?key=1")
