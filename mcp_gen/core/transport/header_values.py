"""Encodes and decodes header values (plain, or `=?base64?...?=`) that mirror params of the message.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from typing import Any, cast

__all__ = [
    "decoded_value",
    "encoded_value",
    "matches_value",
    "mirrored_param",
    "value_at",
]

_PREFIX, _SUFFIX = b"=?base64?", b"?="
_ENCODED = re.compile(rb"=\?base64\?(.*)\?=")
_ALLOWED = re.compile(rb"[\t\x20-\x7e]*")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""Text that is sent unencoded: visible ASCII, with spaces inside."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")


def decoded_value(value: bytes) -> str | None:
    """Return the text that a header value encodes; None if the value is malformed.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    value = value.strip(b" \t")
    encoded = _ENCODED.fullmatch(value)
    try:
        if encoded is not None:
            return b64decode(encoded[1], validate=True).decode()
        return value.decode("ascii") if _ALLOWED.fullmatch(value) else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def encoded_value(text: str) -> bytes:
    """Return the header value that encodes a text; see `decoded_value`."""
    if (not text or _PLAIN.fullmatch(text)) and not (
        text.startswith("=?base64?") and text.endswith("?=")
    ):
        return text.encode("ascii")
    return _PREFIX + b64encode(text.encode()) + _SUFFIX


def matches_value(given: bytes | None, value: Any) -> bool:
    """Return True if a header value mirrors an argument.

    Args:
        given: The header value; None if the header is absent.
        value: The argument; None if it is absent or null, and then the header must be absent.
    """
    if value is None or given is None:
        return value is given
    text = decoded_value(given)
    if text is None or value is True or value is False:
        return text is not None and text == ("true" if value else "false")
    if isinstance(value, str):
        return text == value
    if isinstance(value, int | float):
        return _is_number(text, value)
    # The argument's type is not the one in the tool's schema: the tool rejects the call.
    return True


def _is_number(text: str, value: float) -> bool:
    """Return True if a text is this number in JSON notation, which all readers parse alike."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    try:
        return (float(text) if found["rest"] else int(text)) == value
    except ValueError:
        return False  # more digits than Python converts


def mirrored_param(params: Any, field: tuple[str, str]) -> str | None:
    """Return the parameter that the name header repeats; None if params lack it.

    Args:
        params: Params as a wire type or as plain JSON.
        field: The parameter's Python name and JSON name.
    """
    attribute, wire = field
    if isinstance(params, dict):
        found = cast("dict[str, Any]", params).get(wire)
    else:
        found = getattr(params, attribute, None)
    return found if isinstance(found, str) else None


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    """Return the argument at a path of property names; None if there is none."""
    for name in path:
        if not isinstance(values, dict):
            return None
        values = cast("dict[str, Any]", values).get(name)
    return values
