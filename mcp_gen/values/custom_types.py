"""Hooks of msgspec: paths and pydantic models among its own types, to JSON and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import NoneType
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from mcp_wire import UnknownContent

__all__ = [
    "convert",
    "decoder",
    "is_model_type",
    "is_path_type",
    "to_json",
    "to_plain",
]

T = TypeVar("T")

_JSON_NAMES = {
    NoneType: "null",
    bool: "bool",
    dict: "object",
    float: "float",
    int: "int",
    list: "array",
    str: "str",
}
_AT = " - at `$"


def is_path_type(kind: type[Any]) -> bool:
    """Return True for `pathlib.Path` and the other classes of paths. Loads no `pathlib`."""
    pathlib: Any = sys.modules.get("pathlib")
    return pathlib is not None and issubclass(kind, pathlib.PurePath)


def is_model_type(kind: type[Any]) -> bool:
    """Return True if pydantic knows how to read and write the class. Loads no pydantic."""
    return hasattr(kind, "__get_pydantic_core_schema__") or "__pydantic_core_schema__" in vars(kind)


# --- from JSON ---


class _Misread(ValueError):
    """A value that a hook refuses. Msgspec makes a ValidationError of it, with the path.

    Args:
        message: What is wrong.
        below: Path below the value that the hook was given.
    """

    def __init__(self, message: str, below: str = "") -> None:
        super().__init__(message)
        self.below = below


def decoder(kind: Any, *, hooked: bool) -> Callable[[bytes | Raw], Any]:
    """Return the function that decodes JSON to a type.

    Args:
        kind: A type of msgspec, with paths and pydantic models in it.
        hooked: There are some in it: False makes a faster function.

    Raises (the function):
        msgspec.ValidationError: The value does not fit; the message ends in the path.
        msgspec.DecodeError: The text is not valid JSON.
    """
    if not hooked:
        return msgspec.json.Decoder(kind).decode
    return partial(_decode_hooked, msgspec.json.Decoder(kind, dec_hook=_read).decode)


def _decode_hooked(decode: Callable[[bytes | Raw], Any], data: bytes | Raw) -> Any:
    try:
        return decode(data)
    except msgspec.ValidationError as error:
        raise _with_whole_path(error) from None


def convert(value: Any, kind: Any, *, strict: bool = True) -> Any:
    """Convert plain JSON to a type, which may be a path or a pydantic model, or hold some.

    Args:
        value: Plain JSON.
        kind: The type.
        strict: False: strings may be converted to numbers, booleans or null.

    Raises:
        msgspec.ValidationError: The value does not fit; the message ends in the path.
        TypeError: Msgspec cannot read the type.
    """
    try:
        return msgspec.convert(value, kind, strict=strict, str_keys=True, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise _with_whole_path(error) from None


def _read(kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if is_path_type(kind):
        if value.__class__ is not str:
            found = _JSON_NAMES.get(value.__class__, value.__class__.__name__)
            raise _Misread(f"Expected `str`, got `{found}`")
        return kind(value)
    if not is_model_type(kind):
        raise TypeError(f"JSON has nothing for {kind.__name__}")
    # Loaded when used: pydantic is optional, and slow to import.
    from pydantic import ValidationError

    # Loaded with pydantic.
    from mcp_gen.values import pydantic_types

    try:
        # As JSON, where a text stands for a date, also in strict models.
        return pydantic_types.adapter_of(kind).validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        raise _Misread(*pydantic_types.first_error(error)) from None


def _with_whole_path(error: msgspec.ValidationError) -> msgspec.ValidationError:
    """Return the error with the path inside a value that a hook has refused."""
    inner = error.__cause__
    if not isinstance(inner, _Misread) or not inner.below:
        return error
    above = str(error)[len(str(inner)) :].removeprefix(_AT).removesuffix("`")
    return msgspec.ValidationError(f"{inner}{_AT}{above}{inner.below}`")


# --- to JSON ---


def _write(value: Any) -> Any:
    if isinstance(value, UnknownContent):
        return Raw(value.raw)
    writer: Any = getattr(value, "__pydantic_serializer__", None)
    if writer is not None:
        return Raw(writer.to_json(value, by_alias=True))
    if is_path_type(value.__class__):
        return str(value)
    raise TypeError(f"JSON has nothing for {type(value).__name__}")


def _write_plain(value: Any) -> Any:
    written = _write(value)
    return msgspec.json.decode(written) if isinstance(written, Raw) else written


to_json = msgspec.json.Encoder(enc_hook=_write).encode
"""Encode a value of any kind as JSON; raises TypeError for what JSON cannot carry."""


def to_plain(value: Any) -> Any:
    """Return a value of any kind as plain JSON.

    Raises:
        TypeError: JSON cannot carry it.
    """
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_write_plain)
