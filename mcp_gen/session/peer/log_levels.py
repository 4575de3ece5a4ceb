"""Log level ranks and the filter a client has set."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_gen.core.errors import UsageError
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = ["as_json", "is_enabled", "severity_of"]


def is_enabled(profile: Profile, least: Any, level: str) -> bool:
    """Return True if a client wants log messages of this level.

    `least` is the level that the client has set, see `Caller.log_level`. While it is None, all
    levels are wanted where they are set for a session, and none where each request sets its own.

    Raises:
        UsageError: there is no such level.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
    """
    severity = severity_of(profile, level)
    if least is None:
        return profile.log_level_key is None
    return severity >= severity_of(profile, least)


def as_json(data: Any) -> Any:
    """What is logged, encoded where it is no text.

    Raises:
        UsageError: JSON cannot carry it.
    """
    try:
        if data.__class__ is not str:
            return Raw(encode(data))
        if not data.isascii():
            data.encode()  # half of a surrogate pair is no text
        return data
    except (NotImplementedError, TypeError, ValueError) as error:
        raise UsageError(f"log: expected a text or other JSON: {error}") from None


def severity_of(profile: Profile, level: Any) -> int:
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
