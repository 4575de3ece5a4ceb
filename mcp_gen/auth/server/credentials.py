"""Reads the credentials of a request: one token, in the header `Authorization`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from mcp_gen.core.transport.headers import Headers

__all__ = ["BadCredentials", "RequestCredentials", "read_credentials"]

# https://www.rfc-editor.org/rfc/rfc6750#section-2.1
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")
SCHEMES = {b"bearer": "Bearer", b"dpop": "DPoP"}


class RequestCredentials(NamedTuple):
    """The token of a request, and how it was shown."""

    scheme: str
    token: str


class BadCredentials(NamedTuple):
    """Credentials that cannot be read: the status and what was expected."""

    status: int
    expected: str


def read_credentials(
    scope: Mapping[str, Any], headers: Headers, max_token_bytes: int
) -> RequestCredentials | BadCredentials | None:
    """Return the credentials of a request; None if it has none.

    Args:
        scope: The ASGI scope.
        headers: The headers of the request.
        max_token_bytes: The longest token that is read.
    """
    if _is_in_query(scope.get("query_string", b"")):
        return BadCredentials(400, "the token in the header Authorization, not in the URL")
    line = headers.raw.get(b"authorization")
    if line is None:
        return None
    if sum(name == b"authorization" for name, _ in scope["headers"]) != 1:
        return BadCredentials(400, "one header Authorization, got several")
    scheme, _, token = line.strip(b" \t").partition(b" ")
    known = SCHEMES.get(scheme.lower())
    if known is None:
        # Credentials of another kind are no token: the challenge says which are taken.
        return None
    token = token.strip(b" ")
    if len(token) > max_token_bytes:
        return BadCredentials(401, "a shorter token")
    if not _TOKEN.fullmatch(token):
        return BadCredentials(400, f"the header Authorization: {known} and one token")
    return RequestCredentials(known, token.decode("ascii"))


def _is_in_query(query: bytes) -> bool:
    return any(
        unquote_to_bytes(pair.partition(b"=")[0]) == b"access_token" for pair in query.split(b"&")
    )
