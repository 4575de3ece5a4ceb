"""Which types JSON carries: told from annotations alone, so that nothing is built for it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections import abc
from collections.abc import Iterable
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import Meta, Raw, Struct, UnsetType

from mcp_gen.server.functions.json_overlap import (
    ARRAYS,
    OBJECTS,
    STRINGS,
    is_ambiguous_union,
    is_named_tuple,
)

__all__ = ["JsonTypeReader", "NotJsonType", "bare", "json_reader_for", "metadata"]


class NotJsonType(Exception):
    """A type that JSON cannot carry. The message says which, and what to use instead."""


class JsonTypeReader(enum.Flag):
    """Whose types an annotation is made of: who can read them."""

    ANY = 0
    """Builtins, dataclasses and the like: msgspec reads them, and pydantic could."""
    MSGSPEC = enum.auto()
    PYDANTIC = enum.auto()


_LEAVES = frozenset({Any, None, NoneType, bool, int, float, *STRINGS})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MUTABLE = (ARRAYS - {tuple, frozenset}) | OBJECTS
_CONSTRAINTS: tuple[tuple[tuple[str, ...], frozenset[Any], str], ...] = (
    (("gt", "ge", "lt", "le", "multiple_of"), frozenset({int, float}), "numbers"),
    (
        ("min_length", "max_length"),
        ARRAYS | OBJECTS | {str, bytes, bytearray, memoryview},
        "texts, arrays and objects",
    ),
    (("pattern",), frozenset({str}), "texts"),
    (("tz",), frozenset({datetime.datetime, datetime.time}), "times"),
)
"""Which of Meta's constraints are about what."""


def json_reader_for(hint: Any) -> JsonTypeReader:
    """Who can read a type.

    Raises:
        NotJson: nobody.
    """
    try:
        hash(hint)
    except TypeError:
        # Metadata that cannot be hashed, and so cannot be kept.
        return _look(hint, frozenset())
    return _known(hint)


def bare(hint: Any) -> Any:
    """The type below names and metadata: `int` for `Annotated[int, ...]`, and for a NewType."""
    while True:
        origin = get_origin(hint)
        if origin is Annotated or origin is Final:
            hint = get_args(hint)[0]
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint


def metadata(hint: Any) -> tuple[Any, ...]:
    """What `Annotated` adds to a type."""
    return getattr(hint, "__metadata__", ())


def _look(hint: Any, inside: frozenset[Any]) -> JsonTypeReader:
    """`inside` are the classes that led here: those that contain themselves are fine."""
    if isinstance(hint, (list, dict, set)):
        raise _none_of_ours(cast("object", hint))  # no type at all, and not hashable
    if get_origin(hint) is Annotated:
        return _look(hint.__origin__, inside) | _metadata(hint)
    hint = bare(hint)
    origin = get_origin(hint)
    if origin is None:
        return _plain(hint, inside)
    arguments = get_args(hint)
    if origin is Literal:
        return _literal(hint)
    if origin is Union or origin is UnionType:
        found = _all(arguments, inside)
        if JsonTypeReader.PYDANTIC not in found and is_ambiguous_union(map(bare, arguments)):
            raise NotJsonType(
                f"{hint}: two of these look alike as JSON: use one of them, or Structs with tags"
            )
        return found
    if origin in ARRAYS:
        if origin in _SETS and any(_class_of(one) in _MUTABLE for one in arguments):
            raise NotJsonType(f"{hint}: what is in a set must be hashable: use a list")
        return _all((one for one in arguments if one not in (..., ())), inside)
    if origin in OBJECTS:
        if arguments:
            _check_key(hint, arguments[0])
        return _all(arguments, inside)
    if isinstance(origin, type):
        return _plain(origin, inside) | _all(arguments, inside)
    raise _none_of_ours(hint)


@lru_cache(maxsize=4096)
def _known(hint: Any) -> JsonTypeReader:
    return _look(hint, frozenset())


def _class_of(hint: Any) -> Any:
    hint = bare(hint)
    return get_origin(hint) or hint


def _all(hints: Iterable[Any], inside: frozenset[Any]) -> JsonTypeReader:
    found = JsonTypeReader.ANY
    for hint in hints:
        found |= _look(hint, inside)
    if found is JsonTypeReader.MSGSPEC | JsonTypeReader.PYDANTIC:
        raise NotJsonType("types of msgspec and of pydantic do not go together: use one of them")
    return found


def _plain(hint: Any, inside: frozenset[Any]) -> JsonTypeReader:
    if hint in _LEAVES or hint in ARRAYS or hint in OBJECTS or hint in inside:
        return JsonTypeReader.ANY
    if isinstance(hint, TypeVar):
        if hint.__constraints__:
            raise NotJsonType(f"{hint}: a type variable with constraints stands for no type")
        return _look(hint.__bound__, inside) if hint.__bound__ else JsonTypeReader.ANY
    if isinstance(hint, type):
        return _class(cast("type[Any]", hint), inside)
    raise _none_of_ours(hint)


def _class(kind: type[Any], inside: frozenset[Any]) -> JsonTypeReader:
    if kind is Raw or kind is UnsetType:
        return JsonTypeReader.MSGSPEC
    if issubclass(kind, enum.Enum):
        return _enum(kind)
    if issubclass(kind, Struct):
        return JsonTypeReader.MSGSPEC | _fields(kind, kind.__struct_fields__, inside)
    if hasattr(kind, "__get_pydantic_core_schema__") or "__pydantic_core_schema__" in vars(kind):
        return JsonTypeReader.PYDANTIC
    if dataclasses.is_dataclass(kind):
        return _fields(kind, [field.name for field in dataclasses.fields(kind)], inside)
    if is_typeddict(kind) or is_named_tuple(kind):
        return _fields(kind, list(kind.__annotations__), inside)
    attributes: Any = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return JsonTypeReader.MSGSPEC | _fields(kind, [one.name for one in attributes], inside)
    raise _none_of_ours(kind)


def _fields(kind: type[Any], names: Iterable[str], inside: frozenset[Any]) -> JsonTypeReader:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:
        return JsonTypeReader.ANY  # it may be defined further down
    try:
        known = (_without_marks(hints[name]) for name in names if name in hints)
        return _all(known, inside | {kind})
    except NotJsonType as error:
        raise NotJsonType(f"{kind.__name__}: {error}") from None


def _without_marks(hint: Any) -> Any:
    """What a TypedDict's Required, NotRequired and ReadOnly are about."""
    while getattr(get_origin(hint), "_name", "") in ("Required", "NotRequired", "ReadOnly"):
        (hint,) = get_args(hint)
    return hint


def _enum(kind: type[enum.Enum]) -> JsonTypeReader:
    values: list[object] = [member.value for member in kind]
    if not values or not any(all(type(one) is t for one in values) for t in (int, str)):
        raise NotJsonType(f"{kind.__name__}: the values of an enum are all texts, or all integers")
    return JsonTypeReader.ANY


def _literal(hint: Any) -> JsonTypeReader:
    if all(type(value) in (str, int, bool, NoneType) for value in get_args(hint)):
        return JsonTypeReader.ANY
    raise NotJsonType(f"{hint}: literals are texts, integers, booleans and None")


def _check_key(hint: Any, key: Any) -> None:
    kind = _class_of(key)
    is_enum = isinstance(kind, type) and issubclass(kind, enum.Enum)
    if kind in STRINGS or kind in (Any, int, float, Literal, Union, UnionType) or is_enum:
        return
    if not isinstance(kind, TypeVar):
        raise NotJsonType(f"{hint}: the keys of a JSON object are texts: use `dict[str, ...]`")


def _metadata(hint: Any) -> JsonTypeReader:
    found = JsonTypeReader.ANY
    kind = _class_of(hint)
    for one in metadata(hint):
        if type(one).__module__.partition(".")[0] in ("pydantic", "annotated_types"):
            found |= JsonTypeReader.PYDANTIC
        elif isinstance(one, Meta):
            found |= _constraints(kind, one)
    return found


def _constraints(kind: Any, meta: Meta) -> JsonTypeReader:
    found = JsonTypeReader.ANY
    for names, kinds, what in _CONSTRAINTS:
        for name in names:
            if getattr(meta, name) is None:
                continue
            if kind not in kinds:
                raise NotJsonType(
                    f"`{name}` is about {what}, not about {_name(kind)}: put it where that is, as "
                    "in `Annotated[int, Meta(ge=1)] | None`"
                )
            found = JsonTypeReader.MSGSPEC
    return found


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _none_of_ours(hint: Any) -> NotJsonType:
    return NotJsonType(
        f"JSON has nothing for {_name(hint)}: use builtins, dataclasses, TypedDicts, Structs, "
        "attrs classes, enums or pydantic models"
    )
