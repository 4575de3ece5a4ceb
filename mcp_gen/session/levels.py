"""How severe log messages are, and which of them a client wants to hear."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.session.lifecycle import Caller
    from mcp_wire.profile import Profile

__all__ = ["is_heard", "rank"]


def is_heard(caller: Caller, meta: dict[str, Any] | None, level: str) -> bool:
    """Whether a client wants to hear a message of this level, as a part of its request.

    Where levels are set for a session, everything is until the client has set one; where they are
    set by each request, nothing is unless it has.

    Raises:
        UsageError: there is no such level.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
    """
    profile = caller.profile
    severity = rank(profile, level)
    if profile.log_level_key is not None:
        least = meta.get(profile.log_level_key) if meta else None
        return least is not None and severity >= rank(profile, least)
    least = caller.session.log_level if caller.session else None
    return least is None or severity >= rank(profile, least)


def rank(profile: Profile, level: Any) -> int:
    """How severe a level is: 0 is the least.

    Raises:
        UsageError: there is no such level.
    """
    ranks = ranks_of(profile.module)
    try:
        return ranks[level]
    except (KeyError, TypeError):
        raise UsageError(f"no log level {level!r}; there are {', '.join(ranks)}") from None


@cache
def ranks_of(module: str) -> dict[str, int]:
    """The levels of the revision with this module, and how severe each is."""
    levels: tuple[str, ...] = import_module(f"{module}.methods").LOGGING_LEVELS
    return {level: number for number, level in enumerate(levels)}
