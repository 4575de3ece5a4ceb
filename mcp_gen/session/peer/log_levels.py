"""Log level ranks and the filter a client has set."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import UsageError
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = ["as_json", "at_most", "is_enabled", "level_name", "severity_of"]


_CUT = "... ({} bytes of {} are left out)"


def level_name(level: str | int) -> str:
    """Return the MCP level of a number of the module `logging`; a name is returned as it is."""
    if isinstance(level, str):
        return level
    # Loaded with the first number.
    from mcp_gen.session.peer.log_level import LogLevel

    found = (one for one in reversed(LogLevel) if level >= one)
    return next(found, LogLevel.DEBUG).name.lower()


def at_most(content: Any, max_bytes: int | None) -> Any:
    """Return log data of `as_json` within a limit: longer data is cut, and sent as text.

    Args:
        content: Text or encoded JSON.
        max_bytes: Most bytes of it; None for no limit.
    """
    if max_bytes is None or (content.__class__ is str and len(content) * 4 <= max_bytes):
        return content
    encoded = content.encode() if content.__class__ is str else bytes(content)
    if len(encoded) <= max_bytes:
        return content
    kept = encoded[:max_bytes].decode(errors="ignore")
    return kept + _CUT.format(len(encoded) - len(kept.encode()), len(encoded))


def is_enabled(profile: Profile, least: Any, level: str) -> bool:
    """Return True if a client wants log messages of this level.

    Args:
        profile: Profile of the negotiated revision.
        least: Least severe level that the client has set, see `RequestOrigin.log_level`. None if it
            has set none: then it wants all levels where a session sets the level, and no messages
            where each request sets its own.
        level: Level of the message.

    Raises:
        UsageError: there is no such level.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
    """
    severity = severity_of(profile, level)
    if least is None:
        return profile.log_level_key is None
    return severity >= severity_of(profile, least)


def as_json(data: Any) -> Any:
    """Return log data as text or encoded JSON.

    Raises:
        UsageError: the data is not serializable to JSON, or a number in it is NaN or infinite.
    """
    try:
        if data.__class__ is not str:
            json = encode(data)
            check_finite(data, json, "log")
            return Raw(json)
        if not data.isascii():
            data.encode()  # a lone surrogate cannot be encoded
        return data
    except (NotImplementedError, TypeError, ValueError) as error:
        raise UsageError(f"log: expected a text or other JSON: {error}") from None


def severity_of(profile: Profile, level: Any) -> int:
    """Return the rank of a log level: 0 is the least severe.

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
    """Return the log levels of a revision, by the name of its module, with their ranks."""
    levels: tuple[str, ...] = import_module(f"{module}.methods").LOGGING_LEVELS
    return {level: number for number, level in enumerate(levels)}
