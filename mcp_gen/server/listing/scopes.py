"""Scopes that items need: checks of the `scopes` option, and of the token of a request."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from mcp_gen.core.errors import InsufficientScope, UsageError
from mcp_gen.server.context.context import origin_of, outer_of, runtime_of

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = [
    "NO_SCOPES",
    "check_scopes",
    "granted_scopes",
    "hides_unauthorized",
    "missing_scopes",
    "require_scopes",
    "scopes_of",
]

NO_SCOPES: frozenset[str] = frozenset()

# https://www.rfc-editor.org/rfc/rfc6749#section-3.3
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


def check_scopes(scopes: Any, what: str) -> frozenset[str]:
    """Return the given scopes.

    Args:
        scopes: Collection of texts; None for none.
        what: Beginning of the error message.

    Raises:
        UsageError: A text instead of a collection of texts, or an entry that is no scope.
    """
    if scopes is None:
        return NO_SCOPES
    if isinstance(scopes, str) or not isinstance(scopes, Collection):
        meant = scopes.split() if isinstance(scopes, str) else ["files:read"]
        raise UsageError(f"{what}={scopes!r}: expected several texts: write {meant!r}")
    given: list[Any] = list(cast("Any", scopes))
    for one in given:
        if not isinstance(one, str) or not _SCOPE.fullmatch(one):
            raise UsageError(
                f"{what}: {one!r} is no scope: expected a text without spaces, quotes and "
                "backslashes, such as 'files:read'"
            )
    return frozenset(given)


def scopes_of(item: object) -> frozenset[str]:
    """Return the scopes that a registered item needs."""
    scopes: frozenset[str] = getattr(item, "scopes", NO_SCOPES)
    return scopes


def granted_scopes(ctx: Context) -> frozenset[str] | None:
    """Return the scopes of the token of a request; None on transports without tokens."""
    admission = origin_of(ctx).admission
    if admission is None:
        return None
    return NO_SCOPES if admission.token is None else admission.token.scopes


def missing_scopes(ctx: Context, scopes: frozenset[str]) -> frozenset[str]:
    """Return the scopes that the token of a request lacks.

    None is missing on transports without tokens (stdio, sockets, in the process): their clients
    have the rights of the process. Over HTTP without a token, all are.
    """
    granted = granted_scopes(ctx)
    return NO_SCOPES if granted is None else scopes - granted


def require_scopes(ctx: Context, scopes: frozenset[str]) -> None:
    """Check the scopes of the token of a request, and note them: a task that it makes needs them.

    Raises:
        InsufficientScope: The token lacks some of them.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-challenge-handling
    """
    origin = origin_of(ctx)
    if origin.admission is None:
        return
    missing = missing_scopes(ctx, scopes)
    if missing:
        raise InsufficientScope(missing)
    origin.required_scopes |= scopes


def hides_unauthorized(ctx: Context) -> bool:
    """Return True if this server or an outer one hides items whose scopes the token lacks."""
    if runtime_of(ctx).hide_unauthorized:
        return True
    outer = outer_of(ctx)
    return outer is not None and hides_unauthorized(outer)
