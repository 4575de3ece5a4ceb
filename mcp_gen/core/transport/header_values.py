"""Encodes and decodes header values (plain, or `=?base64?...?=`) and finds the values they repeat.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from typing import Any, cast

__all__ = [
    "REPEATED",
    "about_what",
    "decoded_value",
    "encoded_value",
    "matches_value",
    "named_by",
    "value_at",
]

REPEATED = ("name", "uri")
"""Members of params that one header repeats, whichever is present."""

_OPEN, _CLOSE = b"=?base64?", b"?="
_ENCODED = re.compile(rb"=\?base64\?(.*)\?=")
_SENT = re.compile(rb"[\t\x20-\x7e]*")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""Text that is a header's value as it is: visible ASCII with blanks inside."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_fields: dict[type[Any], str] = {}
"""The repeated member of each params type."""


def decoded_value(value: bytes) -> str | None:
    """Return the text a header value stands for; None if it is malformed.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    value = value.strip(b" \t")
    encoded = _ENCODED.fullmatch(value)
    try:
        if encoded is not None:
            return b64decode(encoded[1], validate=True).decode()
        return value.decode("ascii") if _SENT.fullmatch(value) else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def encoded_value(text: str) -> bytes:
    """Return the header value that stands for this text; see `decoded_value`."""
    if (not text or _PLAIN.fullmatch(text)) and not (
        text.startswith("=?base64?") and text.endswith("?=")
    ):
        return text.encode("ascii")
    return _OPEN + b64encode(text.encode()) + _CLOSE


def matches_value(given: bytes | None, value: Any) -> bool:
    """Return True if a header repeats an argument. An absent or null one has no header."""
    if value is None or given is None:
        return value is given
    text = decoded_value(given)
    if text is None or value is True or value is False:
        return text is not None and text == ("true" if value else "false")
    if isinstance(value, str):
        return text == value
    if isinstance(value, int | float):
        return _is_number(text, value)
    # Not of the kind that its schema has: the tool refuses it.
    return True


def _is_number(text: str, value: float) -> bool:
    """Return True if a text is this number in JSON notation, which all readers read alike."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    try:
        return (float(text) if found["rest"] else int(text)) == value
    except ValueError:
        return False  # so many digits that nobody counts them


def about_what(params: Any) -> str | None:
    """Return the name or URI a request is about."""
    if isinstance(params, dict):
        members = cast("dict[str, Any]", params)
        found = [members.get(name) for name in REPEATED]
        return next((one for one in found if isinstance(one, str)), None)
    field = _fields.get(params.__class__)
    if field is None:
        field = _fields[params.__class__] = next((n for n in REPEATED if hasattr(params, n)), "")
    return getattr(params, field) if field else None


def named_by(params: Any, field: tuple[str, str]) -> str | None:
    """Return what an extension's request is about; `field` is its attribute and its JSON name."""
    attribute, wire = field
    if not wire:
        return None
    if isinstance(params, dict):
        found = cast("dict[str, Any]", params).get(wire)
    else:
        found = getattr(params, attribute, None)
    return found if isinstance(found, str) else None


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    """Return the argument at a path; None if there is none."""
    for name in path:
        if not isinstance(values, dict):
            return None
        values = cast("dict[str, Any]", values).get(name)
    return values
