"""Faster JSON encoding of long texts in results, with the optional extra `fast` (orjson).

msgspec checks a text byte by byte. For a megabyte this takes longer than the rest of the response.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, cast

from msgspec import Raw
from msgspec.structs import replace

__all__ = ["LONG", "long_text_field", "pre_encode_texts"]

LONG = 16 * 1024
"""Minimum length of a text, in characters, to be encoded separately."""
_FIELDS = ("contents", "content")


@cache
def long_text_field(kind: type[Any]) -> str:
    """Return the name of a result type's field with content blocks or contents; empty if none."""
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    return next((field for field in _FIELDS if field in fields), "")


def pre_encode_texts(result: Any, field: str) -> Any:
    """Return the result with its long texts replaced by their JSON.

    The result itself is returned if it has no long text. `field` is that of `long_text_field`.
    """
    items: Any = getattr(result, field)
    if items.__class__ is not list:
        return result
    for item in items:
        text: Any = getattr(item, "text", None)
        if text.__class__ is str and len(text) >= LONG:
            changed: dict[str, Any] = {field: [_with_encoded_text(item) for item in items]}
            return replace(result, **changed)
    return result


def _with_encoded_text(item: Any) -> Any:
    text: Any = getattr(item, "text", None)
    encode_text = writer()
    if encode_text is None or text.__class__ is not str or len(text) < LONG:
        return item
    try:
        return replace(item, text=Raw(encode_text(text)))
    except (TypeError, ValueError):
        return item  # not encodable as JSON text: the usual encoder raises the error


@cache
def writer() -> Callable[[str], bytes] | None:
    """Return the fast encoder of one text; None if orjson is not installed."""
    try:
        return cast("Callable[[str], bytes]", import_module("orjson").dumps)
    except ImportError:
        return None
