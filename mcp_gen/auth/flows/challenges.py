"""Challenges of WWW-Authenticate headers, as clients read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from mcp_gen.core.redaction import shown_text

__all__ = ["BearerChallenge", "Challenge", "bearer_challenge", "parse_challenges"]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAM = re.compile(rf'[ \t]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))')
_SCHEME = re.compile(rf"[ \t,]*({_TOKEN})(?:[ \t]+|(?=,)|$)")
_TOKEN68 = re.compile(r"[0-9A-Za-z._~+/-]+=*[ \t]*(?=,|$)")
_SEPARATOR = re.compile(r"[ \t]*,[ \t,]*")
_CODE = re.compile(r"[a-z][a-z0-9._-]{0,63}")
"""Error codes as they are registered. Access tokens have capital letters, or look random."""
_ESCAPED = re.compile(r"\\(.)")

MAX_HEADER_CHARS = 16 * 1024
"""Longer headers are read as if they were not there."""
SCHEMES = ("bearer", "dpop")
"""Schemes whose challenges are about access tokens."""


class Challenge(Struct, frozen=True):
    """One challenge of a WWW-Authenticate header.

    Args:
        scheme: The scheme in lower case.
        params: Parameters by name in lower case; of two with one name, the first.
    """

    scheme: str
    params: Mapping[str, str]


class BearerChallenge(Struct, frozen=True):
    """Parameters of the challenges of a refused request that are about access tokens.

    Args:
        resource_metadata: URL of the metadata of the resource; None if it is not told.
        scopes: Scopes that the request needs; None if they are not told.
        error: Error code, such as `invalid_token` or `insufficient_scope`; None for none.
    """

    resource_metadata: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None


def bearer_challenge(headers: Mapping[str, str]) -> BearerChallenge:
    """Return what the challenges for access tokens say; of two that differ, the first.

    Args:
        headers: Response headers, names in lower case.

    Source: https://www.rfc-editor.org/rfc/rfc9728.html#section-5.1
    """
    found: dict[str, str] = {}
    for challenge in parse_challenges(headers.get("www-authenticate", "")):
        if challenge.scheme in SCHEMES:
            found = {**challenge.params, **found}
    scope = found.get("scope")
    return BearerChallenge(
        resource_metadata=found.get("resource_metadata") or None,
        scopes=tuple(dict.fromkeys(scope.split())) if scope and scope.split() else None,
        error=_code(found.get("error")),
    )


def _code(error: str | None) -> str | None:
    """Return an error code; None for a text that is none, such as the token that was refused."""
    if error is None or not _CODE.fullmatch(error) or shown_text(error) != error:
        return None
    return error


def parse_challenges(header: str) -> list[Challenge]:
    """Return the challenges of a WWW-Authenticate header, up to the first that is malformed.

    Args:
        header: The value; several header lines are joined by commas.

    Source: https://www.rfc-editor.org/rfc/rfc9110.html#section-11.6.1
    """
    return list(_challenges(header)) if len(header) <= MAX_HEADER_CHARS else []


def _challenges(text: str) -> Iterator[Challenge]:
    at = 0
    while (scheme := _SCHEME.match(text, at)) is not None:
        at = scheme.end()
        params: dict[str, str] = {}
        if (token68 := _TOKEN68.match(text, at)) is not None and _PARAM.match(text, at) is None:
            at = token68.end()
        while (param := _PARAM.match(text, at)) is not None:
            name, quoted, plain = param.groups()
            value = plain if quoted is None else _ESCAPED.sub(r"\1", quoted)
            params.setdefault(name.lower(), value)
            at = param.end()
            if (separator := _SEPARATOR.match(text, at)) is None:
                break
            at = separator.end()
        yield Challenge(scheme[1].lower(), params)
