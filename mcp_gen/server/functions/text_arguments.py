"""Arguments that travel as texts, read into the types of a function's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.errors import InvalidParams, UsageError

if TYPE_CHECKING:
    from mcp_gen.server.functions.signature import Signature

__all__ = ["TextReader"]


class TextReader:
    """Reads the arguments of one function.

    A number, a truth value, a date, an Enum and the like stand in the text as they are; what JSON
    writes as an object or an array, such as a dataclass or a list, is JSON text.

    Raises:
        UsageError: a parameter of a type that no text becomes.
    """

    def __init__(self, signature: Signature) -> None:
        self._name = signature.name
        self._struct = signature.struct
        fields = msgspec.structs.fields(signature.struct)
        self._names = frozenset(field.encode_name for field in fields)
        self.required = [field.encode_name for field in fields if field.required]
        self._as_json = {
            field.encode_name
            for field in fields
            if self._is_structured(field.encode_name, field.type)
        }

    def read(self, arguments: Mapping[str, str], name: str) -> Any:
        """The arguments as the struct of the function's parameters; others are left out.

        `name` is that under which the function is offered.

        Raises:
            InvalidParams: an argument is missing, or its text is none of its type.
        """
        missing = [one for one in self.required if one not in arguments]
        if missing:
            raise missing_arguments(name, missing)
        values: dict[str, Any] = {
            key: text for key, text in arguments.items() if key in self._names
        }
        for key in self._as_json & values.keys():
            values[key] = _parsed(values[key])
        try:
            return msgspec.convert(values, self._struct, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidParams(f"{name}: {str(error).replace('`$', '`$.arguments')}") from None

    def _is_structured(self, parameter: str, hint: Any) -> bool:
        try:
            msgspec.json.schema(hint)
            kinds = {type(one).__name__ for one in _arms(msgspec.inspect.type_info(hint))}
        except TypeError as error:
            raise self._refuse(parameter) from error
        if kinds - _AS_IT_IS - _AS_JSON:
            raise self._refuse(parameter)
        return not _AS_JSON.isdisjoint(kinds)

    def _refuse(self, parameter: str) -> UsageError:
        return UsageError(
            f"{self._name}: no text becomes the parameter {parameter}; annotate it as str, a "
            "number, bool, a date, Enum or Literal, or as a dataclass, a Struct, a list or a dict, "
            "which is JSON text"
        )


_AS_IT_IS = frozenset(
    f"{name}Type"
    for name in (
        *("Any", "None", "Bool", "Int", "Float", "Str", "Bytes", "ByteArray", "MemoryView"),
        *("DateTime", "Time", "Date", "TimeDelta", "UUID", "Decimal", "Enum", "Literal"),
    )
)
_AS_JSON = frozenset(
    f"{name}Type"
    for name in (
        *("List", "Set", "FrozenSet", "VarTuple", "Tuple", "Dict", "TypedDict", "NamedTuple"),
        *("Struct", "Dataclass"),
    )
)


def _arms(info: Any) -> list[Any]:
    while isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    if isinstance(info, msgspec.inspect.UnionType):
        return [arm for one in info.types for arm in _arms(one)]
    return [info]


def _parsed(text: str) -> Any:
    """JSON if it is an object or an array; else the text, which the type may take or refuse."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return value if value.__class__ in (dict, list) else text


def missing_arguments(name: str, missing: list[str]) -> InvalidParams:
    """The error where arguments are required that did not come."""
    named = ", ".join(f"`{one}`" for one in missing)
    plural = "s" if len(missing) > 1 else ""
    return InvalidParams(f"{name}: expected the argument{plural} {named} - at `$.arguments`")
