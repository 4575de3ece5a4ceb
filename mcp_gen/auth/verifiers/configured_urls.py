"""URLs that an operator configures: checked when they are given, so that no mistake waits."""

from __future__ import annotations

from urllib.parse import urlsplit

from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["check_url"]


def check_url(what: str, url: str) -> None:
    """Check a URL of a resource, an issuer or a metadata document.

    Args:
        what: What the URL is, for the error.
        url: The URL.

    Raises:
        UsageError: It is not https (http on loopback), or has a fragment, a user or a character
            that no URL has.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        problem = (
            "an absolute URL"
            if parts.scheme not in ("https", "http") or not host
            else "https; http is for loopback alone"
            if parts.scheme == "http" and not is_loopback(host)
            else "a URL without user, query and fragment"
            if parts.username is not None or parts.query or "#" in url or "?" in url
            else ""
        )
    except ValueError:
        problem = "a URL"
    if not problem and not all("!" <= char <= "~" and char not in '"\\<>' for char in url):
        problem = "printable ASCII, other characters percent-encoded"
    if problem:
        raise UsageError(f"{what}: {url!r}: expected {problem}")
