"""URLs of authorization: which are safe, which a resource covers, and well-known ones."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from mcp_gen.core.errors import AuthError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = [
    "covers",
    "is_safe_url",
    "origin_of",
    "require_safe_url",
    "resource_of",
    "shown_issuer",
    "well_known",
]

PORTS = {"http": 80, "https": 443}
_DOTS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_PLAIN = re.compile(r"[!-\[\]^-~]+")
"""Printable ASCII without blanks and backslashes."""


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a URL; None if it is no URL of http or https."""
    parts = _parts(url)
    return None if parts is None else _origin(parts)


def is_safe_url(url: str) -> bool:
    """Return True if a URL is https, or http on loopback, without user info and fragment."""
    parts = _parts(url)
    if parts is None or "@" in parts.netloc or "#" in url:
        return False
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def require_safe_url(url: str, what: str) -> str:
    """Return a URL that secrets and users may be sent to.

    Args:
        url: The URL.
        what: What it is, for the error.

    Raises:
        AuthError: It is no https URL, nor on loopback.
    """
    if not is_safe_url(url):
        raise AuthError(
            f"{what} is not safe: expected an https URL (http on loopback alone) without user "
            f"info and fragment, got {shown_issuer(url)}; its operator has to correct it"
        )
    return url


def covers(resource: str, url: str) -> bool:
    """Return True if a resource identifier is that of a URL, or of a path above it.

    Scheme, host and port are the same, and the path of the resource is the path of the URL or
    whole segments at its beginning. A slash at the end makes no difference.

    Args:
        resource: The resource identifier.
        url: The URL of the server.

    Source: https://www.rfc-editor.org/rfc/rfc8707.html#section-2
    """
    wide, narrow = _parts(resource), _parts(url)
    if wide is None or narrow is None or "#" in resource or "@" in wide.netloc:
        return False
    if _origin(wide) != _origin(narrow) or (wide.query and wide.query != narrow.query):
        return False
    if _DOTS.search(wide.path) or _DOTS.search(narrow.path):
        return False
    return f"{narrow.path.rstrip('/')}/".startswith(f"{wide.path.rstrip('/')}/")


def resource_of(url: str) -> str:
    """Return the canonical resource identifier of a server's URL.

    Scheme and host are in lower case; there is no default port, query, fragment or last slash.

    Raises:
        AuthError: It is no URL of http or https.
    """
    parts = _parts(url)
    if parts is None:
        raise AuthError("the URL of the server: expected an http or https URL")
    scheme, host, port = _origin(parts)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port == PORTS[scheme] else f"{shown}:{port}"
    return f"{scheme}://{authority}{parts.path}".rstrip("/")


def well_known(url: str, suffix: str, *, path: bool = True) -> str:
    """Return the well-known URL of a resource or issuer, inserted before its path.

    Args:
        url: The resource or the issuer.
        suffix: Name below `/.well-known/`.
        path: False for the URL at the root.

    Source: https://www.rfc-editor.org/rfc/rfc8414.html#section-3.1
    """
    parts = urlsplit(url)
    behind = parts.path.rstrip("/") if path else ""
    return f"{parts.scheme}://{parts.netloc}/.well-known/{suffix}{behind}"


def shown_issuer(url: str) -> str:
    """Return scheme, host and path of a URL in quotes, cut short, for errors and logs."""
    parts = _parts(url)
    if parts is None:
        return "a text that is no URL"
    host = parts.netloc.rpartition("@")[2]
    return repr(f"{parts.scheme}://{host}{parts.path}"[:200])


def _parts(url: str) -> SplitResult | None:
    if not _PLAIN.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        # Reading the port checks it.
        known = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if known else None


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    host = (parts.hostname or "").removesuffix(".")
    return parts.scheme, host, PORTS[parts.scheme] if parts.port is None else parts.port
