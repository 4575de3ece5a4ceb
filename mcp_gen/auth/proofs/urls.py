"""The URL of a proof (`htu`): without query and fragment, and compared normalised."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit, urlunsplit

__all__ = ["normalize_url", "without_query"]

_PORTS = {"http": 80, "https": 443}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")


def without_query(url: str) -> str:
    """Return a URL without its query and fragment."""
    return url.partition("#")[0].partition("?")[0]


def normalize_url(url: str) -> str:
    """Return an http or https URL in one spelling, without query and fragment.

    Scheme and host are in lower case, the port of the scheme is left out, escapes are in upper
    case or resolved, and dot segments are removed.

    Raises:
        ValueError: It is no absolute http or https URL, or it has a user name.

    Source: https://www.rfc-editor.org/rfc/rfc3986.html#section-6.2
    """
    parts = urlsplit(without_query(url))
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not an http or https URL")
    host = parts.hostname.lower()
    if ":" in host:
        host = f"[{host}]"
    if parts.port is not None and parts.port != _PORTS[scheme]:
        host = f"{host}:{parts.port}"
    return urlunsplit((scheme, host, _normalize_path(parts.path), "", ""))


def _normalize_path(path: str) -> str:
    # What may not stand in a path unescaped is escaped; escapes stay as they are until below.
    escaped = quote(path, safe="/%:@!$&'()*+,;=-._~")
    return _without_dot_segments(_ESCAPE.sub(_respell, escaped)) or "/"


def _respell(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16))
    return char if char in _UNRESERVED else escape[0].upper()


def _without_dot_segments(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for place, segment in enumerate(segments):
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
            continue
        if place == len(segments) - 1:
            kept.append("")
    return "/".join(kept)
