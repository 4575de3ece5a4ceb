"""URLs of proofs are compared in one spelling, and without query and fragment."""

from __future__ import annotations

import pytest

from mcp_gen.auth.proofs.urls import normalize_url, without_query


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://api.example/mcp", "https://api.example/mcp"),
        ("HTTPS://API.Example:443/mcp?a=b#c", "https://api.example/mcp"),
        ("http://api.example:80", "http://api.example/"),
        ("http://api.example:8080/", "http://api.example:8080/"),
        ("https://api.example:80/", "https://api.example:80/"),
        ("https://[::1]:8443/mcp", "https://[::1]:8443/mcp"),
        ("https://api.example/%7euser/%2fa%3A", "https://api.example/~user/%2Fa%3A"),
        ("https://api.example/a/./b/../c", "https://api.example/a/c"),
        ("https://api.example/a/..", "https://api.example/"),
        ("https://api.example/../../a", "https://api.example/a"),
        ("https://api.example/a/.", "https://api.example/a/"),
        ("https://api.example/a//b", "https://api.example/a//b"),
        ("https://api.example/mcp/", "https://api.example/mcp/"),
        ("https://api.example/Mcp", "https://api.example/Mcp"),
        ("https://api.example/ä b", "https://api.example/%C3%A4%20b"),
        ("https://api.example/%zz", "https://api.example/%zz"),
    ],
)
def test_a_url_has_one_spelling(url: str, same: str) -> None:
    assert normalize_url(url) == same
    assert normalize_url(same) == same


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/mcp",
        "//api.example/mcp",
        "ftp://api.example/mcp",
        "https:///mcp",
        "https://user@api.example/mcp",
        "https://api.example:99999/mcp",
        "https://api.example:x/mcp",
        "https://[::1/mcp",
    ],
)
def test_what_is_no_url_of_a_request_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        normalize_url(url)


def test_query_and_fragment_are_left_out() -> None:
    assert without_query("https://a/b?c#d") == "https://a/b"
    assert without_query("https://a/b#d?c") == "https://a/b"
