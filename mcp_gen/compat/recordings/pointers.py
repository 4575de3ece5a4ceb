"""JSON pointers: find and replace parts of a message.

Source: https://www.rfc-editor.org/rfc/rfc6901
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.core.errors import UsageError

__all__ = ["EVERY", "Pointer", "pointer_matches", "read_pointer", "replaced_at"]

EVERY = "*"
"""Segment that stands for each member of an object, or each entry of an array."""

Pointer = tuple[str, ...]


def read_pointer(text: str) -> Pointer:
    """Return the segments of a JSON pointer.

    Args:
        text: The pointer, such as `/params/arguments/body`. A segment `*` stands for all.

    Raises:
        UsageError: it does not begin with `/`.
    """
    if not text.startswith("/"):
        raise UsageError(f"expected a JSON pointer such as /params/arguments/body, got {text!r}")
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in text[1:].split("/"))


def replaced_at(value: Any, pointer: Pointer, replace: Callable[[Any], Any]) -> Any:
    """Return a JSON value in which what a pointer points to is replaced; a copy where it is.

    Args:
        value: The value.
        pointer: The segments of the pointer.
        replace: Returns the new value, given the old one.
    """
    if not pointer:
        return replace(value)
    name, rest = pointer[0], pointer[1:]
    if is_object(value):
        return {
            key: replaced_at(one, rest, replace) if name in (key, EVERY) else one
            for key, one in value.items()
        }
    if is_array(value):
        return [
            replaced_at(one, rest, replace) if name in (str(number), EVERY) else one
            for number, one in enumerate(value)
        ]
    return value


def pointer_matches(pointer: Pointer, path: tuple[str, ...]) -> bool:
    """Return True if a path is what a pointer points to, or is inside of that."""
    return len(path) >= len(pointer) and all(
        name in (one, EVERY) for name, one in zip(pointer, path, strict=False)
    )
