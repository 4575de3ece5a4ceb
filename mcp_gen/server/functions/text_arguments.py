"""Decodes string arguments into the parameter types of a function."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.envelope import MIN_COMPLEX_BYTES, complexity
from mcp_gen.core.errors import InvalidParams, UsageError
from mcp_gen.server.functions.suggestions import describe_unknown
from mcp_gen.server.functions.text_types import is_written_as_json
from mcp_gen.values.custom_types import is_path_type

if TYPE_CHECKING:
    from mcp_gen.server.functions.signature import Signature

__all__ = ["TextReader", "check_known", "missing_arguments"]


class TextReader:
    """Decoder of the string arguments of one function.

    Numbers, booleans, dates, enums and similar types are written as plain text. Types that JSON
    represents as objects or arrays, such as a dataclass or a list, are written as JSON text.

    Args:
        signature: Signature of the function.

    Raises:
        UsageError: A parameter type cannot be decoded from text.
    """

    def __init__(self, signature: Signature) -> None:
        self._name = signature.name
        self._signature = signature
        self._names = [one.name for one in signature.parameters]
        self._keywords = signature.keywords
        self.required = [one.name for one in signature.parameters if one.required]
        self._json_arguments = {
            one.name
            for one in signature.parameters
            if (is_written_as_json if one.by_pydantic else partial(self._is_structured, one.name))(
                one.hint
            )
        }

    def read(self, arguments: Mapping[str, str], name: str, max_values: int) -> Any:
        """Return the arguments as the Struct of the parameters.

        Args:
            arguments: Strings by argument name.
            name: Public name of the prompt, for error messages.
            max_values: The most keys and items of the JSON text of one argument.

        Raises:
            InvalidParams: An argument is missing or unknown, its text does not fit its type, or it
                is JSON that is too complex.
        """
        if self._signature.refuses_unknown and self._keywords is None:
            check_known(name, arguments, self._names)
        missing = [one for one in self.required if one not in arguments]
        if missing:
            raise missing_arguments(name, missing)
        values: dict[str, Any] = {
            key: text
            for key, text in arguments.items()
            if self._keywords is not None or key in self._names
        }
        for key in self._json_arguments & values.keys():
            try:
                values[key] = _parse_json_text(values[key], max_values)
            except _TooComplexText as error:
                raise InvalidParams(f"{name}: {error} - at `$.arguments.{key}`") from None
        try:
            return self._signature.convert(values, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidParams(f"{name}: {str(error).replace('`$', '`$.arguments')}") from None

    def _is_structured(self, parameter: str, hint: Any) -> bool:
        try:
            kinds = {_kind(one) for one in _union_members(msgspec.inspect.type_info(hint))}
        except TypeError as error:
            raise self._unsupported(parameter) from error
        if kinds - _PLAIN_KINDS - _JSON_KINDS:
            raise self._unsupported(parameter)
        return not _JSON_KINDS.isdisjoint(kinds)

    def _unsupported(self, parameter: str) -> UsageError:
        return UsageError(
            f"{self._name}: no text becomes the parameter {parameter}; annotate it as str, a "
            "number, bool, a date, a path, Enum or Literal, or as a dataclass, a Struct, a "
            "pydantic model, a list or a dict, which is JSON text"
        )


_PLAIN_KINDS = frozenset(
    f"{name}Type"
    for name in (
        *("Any", "None", "Bool", "Int", "Float", "Str", "Bytes", "ByteArray", "MemoryView"),
        *("DateTime", "Time", "Date", "TimeDelta", "UUID", "Decimal", "Enum", "Literal"),
    )
)
"""Types, as msgspec names them, that are written as plain text."""
_JSON_KINDS = frozenset(
    f"{name}Type"
    for name in (
        *("List", "Set", "FrozenSet", "VarTuple", "Tuple", "Dict", "TypedDict", "NamedTuple"),
        *("Struct", "Dataclass"),
    )
)
"""Types, as msgspec names them, that are written as JSON text."""


def _union_members(info: Any) -> list[Any]:
    while isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    if isinstance(info, msgspec.inspect.UnionType):
        return [arm for one in info.types for arm in _union_members(one)]
    return [info]


def _kind(info: Any) -> str:
    """Return the name that msgspec has for a type; a path is a text."""
    kind = type(info).__name__
    return "StrType" if kind == "CustomType" and is_path_type(info.cls) else kind


class _TooComplexText(Exception):
    """The JSON text has too many values, or is nested too deeply."""


def _parse_json_text(text: str, max_values: int) -> Any:
    """Return the value of a JSON object or array; return any other text unchanged.

    Raises:
        _TooComplexText: It must not be decoded.
    """
    try:
        data = text.encode()
        if len(data) > min(max_values, MIN_COMPLEX_BYTES):
            # Checks that it is JSON, and makes no value of it.
            msgspec.json.decode(data, type=msgspec.Raw)
            why = complexity(data, max_values)
            if why is not None:
                raise _TooComplexText(why)
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return value if value.__class__ in (dict, list) else text


def check_known(name: str, given: Collection[str], known: Collection[str]) -> None:
    """Check that a prompt has all arguments of a request.

    Raises:
        InvalidParams: It does not; the message names the nearest arguments.
    """
    unknown = describe_unknown(given, known)
    if unknown is not None:
        raise InvalidParams(f"{name}: {unknown}")


def missing_arguments(name: str, missing: list[str]) -> InvalidParams:
    """Return the error for missing required arguments."""
    named = ", ".join(f"`{one}`" for one in missing)
    plural = "s" if len(missing) > 1 else ""
    return InvalidParams(f"{name}: expected the argument{plural} {named} - at `$.arguments`")
