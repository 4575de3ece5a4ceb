"""URLs of requests: what is allowed in them, and their parts as they are sent."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from msgspec import Struct

from mcp_gen.auth.fetching.addresses import normal_host
from mcp_gen.core.errors import AuthError, UsageError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["Target", "target_of"]

MAX_URL_CHARS = 8192
"""Characters of a URL; servers commonly refuse longer ones."""
_SAFE = "/%:@!$&'()*+,;=-._~?"
_PORTS = {"http": 80, "https": 443}


class Target(Struct, frozen=True):
    """A URL in parts.

    Args:
        scheme: `http` or `https`.
        host: The host; see `normal_host`.
        port: The port.
        path: Path and query, as sent.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL, without user info and fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port


def target_of(url: str, what: str) -> Target:
    """Return the parts of a URL that a request may be sent to.

    Args:
        url: The URL.
        what: What is there, for the error.

    Raises:
        AuthError: It is no https URL, nor an http URL on loopback; or it is too long, or has
            user info or a character that no URL has. The text does not quote it, as it may hold
            secrets.
    """
    if len(url) > MAX_URL_CHARS:
        raise AuthError(f"{what}: expected a URL of at most {MAX_URL_CHARS} characters")
    if not all("!" <= one != "\\" and one != "\x7f" for one in url):
        raise AuthError(f"{what}: expected a URL without blanks, line breaks and backslashes")
    try:
        parts = urlsplit(url)
        host, port = normal_host(parts.hostname or ""), parts.port
        if port == 0:
            raise ValueError
    except (ValueError, UsageError):
        raise AuthError(f"{what}: expected a URL with a valid host and port") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise AuthError(
            f"{what}: expected an https URL (http is for loopback alone), got "
            f"{parts.scheme[:20]!r} at {host}"
        )
    if "@" in parts.netloc:
        raise AuthError(f"{what}: expected a URL without user and password, at {host}")
    path = quote(parts.path or "/", safe=_SAFE)
    if parts.query:
        path += "?" + quote(parts.query, safe=_SAFE)
    return Target(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, path)
