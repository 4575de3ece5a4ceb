"""Scopes: which ones to ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["OFFLINE", "choose_scopes", "is_scope"]

OFFLINE = "offline_access"
"""Scope that asks for a refresh token.

https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess
"""
_SCOPE = re.compile(r"[!#-\[\]-~]+")


def is_scope(text: str) -> bool:
    """Return True if a text is one scope: printable ASCII without blanks, quotes, backslashes."""
    return _SCOPE.fullmatch(text) is not None


def choose_scopes(
    *,
    configured: Sequence[str] | None,
    challenged: Sequence[str] | None,
    resource: Sequence[str] | None,
    server: Sequence[str] | None,
    previous: Sequence[str] = (),
    offline: bool = True,
) -> tuple[str, ...] | None:
    """Return the scopes to ask for; None to leave the choice to the authorization server.

    The scopes of the challenge and those of the user; without both, all of the resource. Scopes
    that were asked for before are asked for again, so that none is lost.

    Args:
        configured: Scopes of the user; None if the user gave none.
        challenged: Scopes of the challenge; None if it named none.
        resource: `scopes_supported` of the resource.
        server: `scopes_supported` of the authorization server.
        previous: Scopes that were asked for or granted before.
        offline: True to ask for a refresh token where the authorization server has a scope for it.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
    """
    if configured is None and challenged is None:
        first: Iterable[str] = resource or ()
    else:
        first = [*(configured or ()), *(challenged or ())]
    found = [one for one in dict.fromkeys([*previous, *first]) if is_scope(one)]
    offered = server is not None and OFFLINE in server
    if not offered and OFFLINE not in (configured or ()):
        # A resource should not name it: only the authorization server knows if there is one.
        found = [one for one in found if one != OFFLINE]
    if found and offered and offline and OFFLINE not in found:
        found.append(OFFLINE)
    return tuple(found) or None
