"""`WWW-Authenticate` lines of a resource server."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mcp_gen.core.errors import UsageError

__all__ = ["Challenger", "checked_scopes"]

_SCOPE = re.compile(r"[!#-\[\]-~]+")
_NOT_QUOTED = re.compile(r"[^ !#-\[\]-~]+")
"""Characters outside of what `error_description` may have."""
MAX_SCOPES_CHARS = 1000
"""Longest list of scopes in a challenge that repeats those already granted."""
NOT_ASKED = frozenset({"offline_access"})
"""Scopes that a resource does not need, and so does not ask for."""


class Challenger:
    """Writes challenges of the schemes that a server takes.

    Args:
        scopes: Scopes that each request needs.
        bearer: True if bearer tokens are taken.
        dpop_algorithms: JWS algorithms of DPoP proofs; none if DPoP is not taken.

    Source: https://www.rfc-editor.org/rfc/rfc6750#section-3,
        https://www.rfc-editor.org/rfc/rfc9449#section-7.1
    """

    def __init__(
        self, scopes: Collection[str], *, bearer: bool, dpop_algorithms: Sequence[str]
    ) -> None:
        self._scopes = tuple(dict.fromkeys(scopes))
        self._bearer = bearer
        self._algorithms = " ".join(dpop_algorithms)

    def lines(
        self,
        metadata_url: str | None,
        *,
        error: str | None = None,
        description: str = "",
        dpop: bool = False,
        more: Collection[str] = (),
        granted: Collection[str] = (),
    ) -> list[tuple[bytes, bytes]]:
        """Return the lines of one response: Bearer first, for clients that read no further.

        Args:
            metadata_url: URL of the metadata of this resource; None if there is none.
            error: The error code; None if the request had no credentials.
            description: What was expected.
            dpop: True if the request came with DPoP: its challenge alone says what was wrong.
            more: Scopes that the operation needs beside those of each request.
            granted: Scopes of the token. They are repeated: a client may ask for no others than
                those of the challenge, and would lose them.
        """
        scopes = [*self._scopes, *_others(more, self._scopes)]
        repeated = [*scopes, *_others(granted, [*scopes, *NOT_ASKED])]
        if len(" ".join(repeated)) <= MAX_SCOPES_CHARS:
            scopes = repeated
        shared = {"scope": " ".join(scopes), "resource_metadata": metadata_url or ""}
        told = {"error": error or "", "error_description": _NOT_QUOTED.sub("_", description)}
        found: list[tuple[bytes, bytes]] = []
        if self._bearer:
            found.append(_line("Bearer", {} if dpop else told, shared))
        if self._algorithms:
            found.append(
                _line("DPoP", told if dpop or not self._bearer else {}, shared, self._algorithms)
            )
        return found


def checked_scopes(option: str, given: Collection[str]) -> tuple[str, ...]:
    """Return the scopes of an option, without repetitions.

    Args:
        option: The name of the option.
        given: Its value.

    Raises:
        UsageError: It is a single text, or a scope has a character that no scope can have.
    """
    if isinstance(given, str):
        raise UsageError(f"{option}={given!r}: expected a list of scopes")
    for scope in given:
        if not _SCOPE.fullmatch(scope):
            raise UsageError(f"{option}: {scope!r}: expected printable ASCII without spaces")
    return tuple(dict.fromkeys(given))


def _others(given: Collection[str], known: Collection[str]) -> list[str]:
    """Return further scopes; a peer may have chosen them, so what cannot be one is left out."""
    return sorted(one for one in set(given) - set(known) if _SCOPE.fullmatch(one))


def _line(
    scheme: str, told: dict[str, str], shared: dict[str, str], algorithms: str = ""
) -> tuple[bytes, bytes]:
    parameters = told | shared | {"algs": algorithms}
    text = ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)
    return b"www-authenticate", f"{scheme} {text}".strip().encode("ascii")
