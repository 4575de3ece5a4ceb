"""Long texts in results, written by a faster encoder where there is one: the extra `fast`.

msgspec looks at a text byte by byte, which for a megabyte takes longer than all else that is done
to send it.
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
"""From how many characters on a text is worth a look."""
_FIELDS = ("contents", "content")


@cache
def long_text_field(kind: type[Any]) -> str:
    """The field of a result that is a list of what may have a text; empty if it has none."""
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    return next((field for field in _FIELDS if field in fields), "")


def pre_encode_texts(result: Any, field: str) -> Any:
    """The same result, its long texts as JSON already."""
    items: Any = getattr(result, field)
    if items.__class__ is not list:
        return result
    for item in items:
        text: Any = getattr(item, "text", None)
        if text.__class__ is str and len(text) >= LONG:
            changed: dict[str, Any] = {field: [_written(item) for item in items]}
            return replace(result, **changed)
    return result


def _written(item: Any) -> Any:
    text: Any = getattr(item, "text", None)
    write = writer()
    if write is None or text.__class__ is not str or len(text) < LONG:
        return item
    try:
        return replace(item, text=Raw(write(text)))
    except (TypeError, ValueError):
        return item  # no text that JSON can hold: the error is the usual encoder's to raise


@cache
def writer() -> Callable[[str], bytes] | None:
    """What writes a text as JSON; None where it is not installed."""
    try:
        return cast("Callable[[str], bytes]", import_module("orjson").dumps)
    except ImportError:
        return None
