"""Reads data of a tool result as a Python type: `returns=` of calls."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw

from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import InvalidResult, UsageError

__all__ = ["data_from_text", "data_to_json", "typed_data", "typed_value"]

T = TypeVar("T")

_WRAPPED = "result"
"""Key under which servers wrap data that is not an object."""


def data_to_json(value: Any, what: str) -> bytes:
    """Return a value as JSON text; pydantic models are values, too.

    Args:
        value: The value.
        what: Beginning of the error message.

    Raises:
        TypeError, ValueError, NotImplementedError: JSON cannot carry the value.
        UsageError: A number in it is NaN or infinite.
    """
    json = _encode(value)
    check_finite(value, json, what)
    return json


def _encode_other(value: Any) -> Any:
    writer: Any = getattr(value, "__pydantic_serializer__", None)
    if writer is not None:
        return Raw(writer.to_json(value, by_alias=True))
    raise TypeError(f"JSON has nothing for {type(value).__name__}")


_encode = msgspec.json.Encoder(enc_hook=_encode_other).encode


def typed_data(name: str, data: Any, returns: type[T]) -> T:
    """Return the data as a `returns`; unwrap the `result` key if only its value fits.

    Args:
        name: Name of the tool, for messages.
        data: Plain JSON.
        returns: Type that msgspec can decode, or a pydantic model.

    Raises:
        InvalidResult: The data does not fit the type.
        UsageError: Nothing reads that type.
    """
    try:
        return typed_value(data, returns)
    except msgspec.ValidationError as error:
        problem = str(error)
    if data.__class__ is dict and data.keys() == {_WRAPPED}:
        try:
            return typed_value(data[_WRAPPED], returns)
        except msgspec.ValidationError as error:
            problem = str(error)
    raise InvalidResult(f"{name}: {problem}")


def data_from_text(name: str, text: str, returns: type[T]) -> T:
    """Return the text as a `returns`: servers without structured content send JSON as text.

    Raises:
        InvalidResult: The text is not JSON, or it does not fit the type.
        UsageError: Nothing reads that type.
    """
    if returns is str:
        return cast("T", text)
    try:
        return typed_data(name, msgspec.json.decode(text), returns)
    except msgspec.DecodeError:
        raise InvalidResult(f"{name}: expected data, got text that is no JSON") from None


def typed_value(data: Any, returns: type[T]) -> T:
    """Return plain JSON as a `returns`.

    Raises:
        msgspec.ValidationError: The data does not fit the type; the message ends in the path.
        UsageError: Nothing reads that type.
    """
    try:
        return msgspec.convert(data, returns, dec_hook=_by_pydantic)
    except TypeError as error:
        raise UsageError(f"returns={returns!r}: {error}") from None


def _by_pydantic(returns: type[Any], data: Any) -> Any:
    pydantic: Any = sys.modules.get("pydantic")
    if pydantic is None:
        raise UsageError(f"returns: nothing reads {returns.__name__}")
    try:
        return pydantic.TypeAdapter(returns).validate_python(data)
    except pydantic.errors.PydanticUserError:
        raise UsageError(f"returns: nothing reads {returns.__name__}") from None
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"])
        raise ValueError(f"{first['msg']} - at `${path}`") from None
