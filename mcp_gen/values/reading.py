"""Reads plain JSON as a type of any kind: msgspec or pydantic does it, as annotations decide."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.values.custom_types import convert
from mcp_gen.values.json_types import NotJsonType, json_reader_for

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["read_value"]


def read_value(
    data: Any, kind: Any, what: str, *, strict: bool = True, at: str | None = None
) -> Any:
    """Return plain JSON as a value of a type.

    Args:
        data: Plain JSON.
        kind: The type.
        what: Beginning of the message of a UsageError.
        strict: False: a string may be converted to a number, a boolean or null.
        at: Name of the member of an object that the data is, for the path; None: it is the root.

    Raises:
        msgspec.ValidationError: The data does not fit; the message ends in the path.
        UsageError: Neither msgspec nor pydantic can read the type.
    """
    if kind is object:
        return data
    try:
        reader = json_reader_for(kind)
    except NotJsonType as error:
        raise UsageError(f"{what}: {error}") from None
    if reader.by_pydantic:
        # Loaded when used: pydantic is optional, and slow to import.
        from mcp_gen.values import pydantic_types

        path = "$" if at is None else f"$.{at}"
        given = msgspec.json.encode(data) if strict else data
        return pydantic_types.read(_adapter(kind, what), given, path, strings=not strict)
    try:
        return convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        if at is None:
            raise
        message, _, path = str(error).partition(" - at `$")
        raise msgspec.ValidationError(f"{message} - at `$.{at}{path or '`'}") from None
    except TypeError as error:
        raise UsageError(f"{what}: {error}") from None


def _adapter(kind: Any, what: str) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(kind, what)
    except TypeError:
        return _cached_adapter.__wrapped__(kind, what)  # metadata that cannot be hashed


@lru_cache(maxsize=256)
def _cached_adapter(kind: Any, what: str) -> TypeAdapter[Any]:
    # Loaded when used: pydantic is optional, and slow to import.
    from mcp_gen.values import pydantic_types

    return pydantic_types.adapter(kind, what)
