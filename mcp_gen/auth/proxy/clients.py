"""Registration of clients: a client id holds what was registered, so none is stored."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mcp_gen.auth.proxy.sealing import ProxyKeys, random_text
from mcp_gen.auth.proxy.web import EndpointRefusal, WebReply, WebRequest, json_reply

__all__ = ["ProxyClient", "ProxyClients", "is_loopback_redirect", "shown_host"]

MAX_REDIRECTS = 8
MAX_REDIRECT_CHARS = 512
MAX_REDIRECTS_CHARS = 2048
MAX_NAME_CHARS = 80
PURPOSE = "client"
_PLAIN = re.compile(r"[!-~]+")
_UNUSABLE = re.compile(r"[#*\\\"<>^`{|}]")
_LOCAL = re.compile(
    r"http://(?P<host>localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?(?P<rest>[/?].*)?"
)


class ProxyClient(Struct, frozen=True, array_like=True):
    """A client that has registered.

    Args:
        salt: Makes each client id another.
        redirect_uris: Where its users may come back to.
        name: What it calls itself; nobody has checked that.
    """

    salt: str
    redirect_uris: tuple[str, ...]
    name: str = ""

    def redirects_to(self, uri: str) -> bool:
        """Return True if the client registered a redirect URI; the port on loopback may differ.

        Source: https://www.rfc-editor.org/rfc/rfc8252.html#section-7.3
        """
        return any(uri == one or _same_but_port(uri, one) for one in self.redirect_uris)


class _Metadata(Struct):
    redirect_uris: list[str] = []
    client_name: str | None = None
    grant_types: list[str] | None = None
    response_types: list[str] | None = None


class ProxyClients:
    """Registers clients, and knows them again by their id.

    All that is known of a client is signed inside its id. Registration is open to everyone: this
    way it fills no memory, and takes no place of another client.

    Args:
        keys: Signs client ids.
        clock: Returns the time in seconds since 1970.

    Source: https://www.rfc-editor.org/rfc/rfc7591.html#section-3
    """

    def __init__(self, keys: ProxyKeys, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._clock = clock

    def find(self, client_id: str) -> ProxyClient | None:
        """Return a client; None if its id was not issued here."""
        return self._keys.read(PURPOSE, client_id, ProxyClient)

    def register(self, request: WebRequest) -> WebReply:
        """Answer a registration.

        Raises:
            EndpointRefusal: What is to be registered cannot be.
        """
        try:
            asked = msgspec.json.decode(request.body, type=_Metadata)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise EndpointRefusal(
                "invalid_client_metadata", "expected a JSON object with redirect_uris"
            ) from None
        if "authorization_code" not in (asked.grant_types or ["authorization_code"]) or (
            "code" not in (asked.response_types or ["code"])
        ):
            raise EndpointRefusal(
                "invalid_client_metadata", "expected the grant type authorization_code"
            )
        _check_redirects(asked.redirect_uris)
        name = _shown_name(asked.client_name or "")
        # 64 bits tell two registrations of the same apart; the signature is what counts.
        client = ProxyClient(random_text()[:11], tuple(asked.redirect_uris), name)
        told: dict[str, Any] = {
            "client_id": self._keys.sign(PURPOSE, client),
            "client_id_issued_at": int(self._clock()),
            "redirect_uris": asked.redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        }
        return json_reply(told | ({"client_name": name} if name else {}), 201)


def is_loopback_redirect(uri: str) -> bool:
    """Return True if a redirect URI leads to a program on the machine of the user."""
    return _LOCAL.fullmatch(uri) is not None


def shown_host(uri: str) -> str:
    """Return the host that a redirect URI leads to, as a user has to see it."""
    return urlsplit(uri).netloc


def _check_redirects(uris: list[str]) -> None:
    if not 0 < len(uris) <= MAX_REDIRECTS or sum(map(len, uris)) > MAX_REDIRECTS_CHARS:
        raise EndpointRefusal(
            "invalid_redirect_uri",
            f"expected 1 to {MAX_REDIRECTS} redirect URIs of at most {MAX_REDIRECTS_CHARS} "
            "characters together",
        )
    if not all(map(_is_usable, uris)):
        raise EndpointRefusal(
            "invalid_redirect_uri",
            "expected redirect URIs with https, or with http on loopback, without user, fragment "
            "and wildcard",
        )


def _is_usable(uri: str) -> bool:
    if len(uri) > MAX_REDIRECT_CHARS or not _PLAIN.fullmatch(uri) or _UNUSABLE.search(uri):
        return False
    try:
        parts = urlsplit(uri)
        # Reading the port checks it.
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    if not known or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return uri.startswith("https://")
    return parts.scheme == "http" and is_loopback_redirect(uri)


def _same_but_port(one: str, other: str) -> bool:
    first, second = _LOCAL.fullmatch(one), _LOCAL.fullmatch(other)
    return (
        first is not None
        and second is not None
        and first.group("host", "rest") == second.group("host", "rest")
    )


def _shown_name(name: str) -> str:
    """Return a name on one line, without characters that change how others are read."""
    kept = "".join(char if char.isprintable() else " " for char in name[:MAX_NAME_CHARS])
    return " ".join(kept.split())
