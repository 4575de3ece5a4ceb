"""Finds what in a value cannot be JSON, for error messages. Used after encoding has failed."""

from __future__ import annotations

from typing import Any

from mcp_gen.core.checks.finite import MAX_PATH, members_of
from mcp_gen.core.errors import UsageError
from mcp_gen.values.custom_types import to_json

__all__ = ["not_json"]

MAX_DEPTH = 500
"""Maximum depth that is looked into: a value may hold itself."""


def not_json(value: Any, what: str, path: str = "$") -> UsageError | None:
    """Return the error for a value that JSON cannot carry, or None if it can.

    Args:
        value: The value, whose encoding has failed.
        what: Beginning of the error message.
        path: JSON path of the value.

    Returns:
        An error whose message ends in the path of what cannot be encoded.
    """
    why = _why_not(value)
    if why is None:
        return None
    for _ in range(MAX_DEPTH):
        found = _first_fault(value)
        if found is None:
            break
        step, value, why = found
        path += step
    else:
        why = "it holds itself, or is nested too deeply"
    if value.__class__ is dict:
        why = _wrong_key(value) or why
    shown = path if len(path) <= MAX_PATH else f"{path[:MAX_PATH]}..."
    return UsageError(f"{what}: {why} - at `{shown}`")


def _first_fault(value: Any) -> tuple[str, Any, str] | None:
    for step, member in members_of(value):
        why = _why_not(member)
        if why is not None:
            return step, member, why
    return None


def _wrong_key(value: dict[Any, Any]) -> str | None:
    """Return the message for a key that is not the reason of any member."""
    for key in value:
        if _why_not({key: None}) is not None:
            return f"the keys of a JSON object are texts, not {type(key).__name__}"
    return None


def _why_not(value: Any) -> str | None:
    try:
        to_json(value)
    except RecursionError:
        return "it holds itself, or is nested too deeply"
    except UnicodeEncodeError:
        return "a text with half of a surrogate pair, which UTF-8 cannot hold"
    except Exception as error:
        # Encoding calls methods of the value: they can raise anything.
        return str(error) or type(error).__name__
    return None
