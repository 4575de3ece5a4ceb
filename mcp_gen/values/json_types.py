"""Decides from annotations alone whether msgspec or pydantic can decode a type."""

from __future__ import annotations

import datetime
import enum
import sys
from collections import abc
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
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

from mcp_gen.values.custom_types import is_model_type, is_path_type
from mcp_gen.values.json_overlap import (
    ARRAYS,
    OBJECTS,
    STRINGS,
    is_ambiguous_union,
    is_named_tuple,
)

__all__ = [
    "JsonTypeReader",
    "NotJsonType",
    "bare",
    "cached_by_hint",
    "json_reader_for",
    "metadata",
    "without_qualifiers",
]

R = TypeVar("R")


class NotJsonType(Exception):
    """A type is not JSON-serializable; the message names it and what to use instead."""


class JsonTypeReader(enum.Flag):
    """Library that the types in an annotation require for decoding, and what else they hold."""

    ANY = 0
    """Builtins, dataclasses and similar types: msgspec decodes them, and pydantic could."""
    MSGSPEC = enum.auto()
    """Struct, attrs classes, Raw or `Meta` constraints."""
    PYDANTIC = enum.auto()
    """Metadata of pydantic or annotated_types, or a pydantic dataclass: pydantic alone reads it."""
    MODEL = enum.auto()
    """Classes of pydantic: pydantic reads what they stand in, or hooks of msgspec read them."""
    PATH = enum.auto()
    """Paths: pydantic reads them, and for msgspec its hooks do."""
    ARM = enum.auto()
    """A class of pydantic or a path in a union with more than None, which msgspec cannot read."""
    EXTRA = enum.auto()
    """Not a library: some type has JSON Schema keywords of its author's own."""
    FLOATS = enum.auto()
    """Not a library: some value may be a float, which may be NaN or infinite."""

    @property
    def by_pydantic(self) -> bool:
        """True if pydantic decodes and encodes the whole type, False if msgspec does."""
        value = self._value_
        return value & _FOR_PYDANTIC != 0 and not value & _FOR_MSGSPEC

    @property
    def is_hooked(self) -> bool:
        """True if hooks of msgspec decode parts of the type."""
        return self._value_ & _HOOKED != 0 and not self.by_pydantic

    @property
    def has_extra(self) -> bool:
        """True if some type has JSON Schema keywords of its author's own."""
        return self._value_ & _EXTRA != 0

    @property
    def has_floats(self) -> bool:
        """True if some value may be a float."""
        return self._value_ & _FLOATS != 0


# As numbers: an operation of flags takes a microsecond, and a parameter of a tool needs several.
_FOR_MSGSPEC: int = JsonTypeReader.MSGSPEC.value
_FOR_PYDANTIC: int = JsonTypeReader.PYDANTIC.value | JsonTypeReader.MODEL.value
_HOOKED: int = JsonTypeReader.MODEL.value | JsonTypeReader.PATH.value
_EXTRA: int = JsonTypeReader.EXTRA.value
_FLOATS: int = JsonTypeReader.FLOATS.value
_BOTH = JsonTypeReader.MSGSPEC | JsonTypeReader.PYDANTIC
_OF_PYDANTIC = JsonTypeReader.MODEL | JsonTypeReader.PYDANTIC
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
"""Constraints of `msgspec.Meta`, with the types that each applies to and their description."""


def cached_by_hint(read: Callable[[Any], R]) -> Callable[[Any], R]:
    """Make a function read each type hint once: servers have many tools.

    Hints count as one if they are equal, as `Annotated[int, 1]` and `Annotated[int, True]` are:
    what is returned must not contain their metadata.
    """
    cached = lru_cache(maxsize=4096)(read)

    @wraps(read)
    def read_once(hint: Any) -> R:
        try:
            return cached(hint)
        except TypeError:
            if _is_hashable(hint):
                raise
            # Metadata that cannot be hashed cannot be cached.
            return read(hint)

    return read_once


def _is_hashable(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True


@cached_by_hint
def json_reader_for(hint: Any) -> JsonTypeReader:
    """Return the library that decodes a type.

    Raises:
        NotJsonType: Neither library can decode it.
    """
    found = _reader_of(hint, frozenset())
    if JsonTypeReader.ARM in found and not found.by_pydantic:
        raise NotJsonType(
            f"{_name(hint)}: a path or a pydantic model stands in no union but with None, unless "
            "pydantic reads all of it: use one of the types, or pydantic models alone"
        )
    return found


def bare(hint: Any) -> Any:
    """Return the type without aliases and metadata: `int` for `Annotated[int, ...]`."""
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
    """Return the metadata that `Annotated` adds to a type."""
    return getattr(hint, "__metadata__", ())


def _reader_of(hint: Any, enclosing: frozenset[Any]) -> JsonTypeReader:
    """Return the reader of a hint. Recursion into `enclosing` classes is allowed."""
    if isinstance(hint, (list, dict, set)):
        raise _not_json_type(cast("object", hint))  # not a type, and not hashable
    if get_origin(hint) is Annotated:
        return _not_both(_reader_of(hint.__origin__, enclosing) | _reader_of_metadata(hint))
    hint = bare(hint)
    origin = get_origin(hint)
    if origin is None:
        return _reader_of_plain(hint, enclosing)
    arguments = get_args(hint)
    if origin is Literal:
        return _reader_of_literal(hint)
    if origin is Union or origin is UnionType:
        found = _reader_of_all(arguments, enclosing)
        arms = [one for one in map(bare, arguments) if one is not NoneType]
        if len(arms) > 1 and any(_is_hooked(_class_of(arm)) for arm in arms):
            found |= JsonTypeReader.ARM
        if not found & _OF_PYDANTIC and is_ambiguous_union(arms):
            raise NotJsonType(
                f"{hint}: two of these look alike as JSON: use one of them, or Structs with tags"
            )
        return found
    if origin in ARRAYS:
        if origin in _SETS and any(_class_of(one) in _MUTABLE for one in arguments):
            raise NotJsonType(f"{hint}: what is in a set must be hashable: use a list")
        return _reader_of_all((one for one in arguments if one not in (..., ())), enclosing)
    if origin in OBJECTS:
        if arguments:
            _check_key(hint, arguments[0])
        return _reader_of_all(arguments, enclosing)
    if isinstance(origin, type):
        return _not_both(_reader_of_plain(origin, enclosing) | _reader_of_all(arguments, enclosing))
    raise _not_json_type(hint)


def _class_of(hint: Any) -> Any:
    hint = bare(hint)
    return get_origin(hint) or hint


def _reader_of_all(hints: Iterable[Any], enclosing: frozenset[Any]) -> JsonTypeReader:
    found = JsonTypeReader.ANY
    for hint in hints:
        found |= _reader_of(hint, enclosing)
    return _not_both(found)


def _not_both(found: JsonTypeReader) -> JsonTypeReader:
    if _BOTH in found:
        raise NotJsonType("types of msgspec and of pydantic do not go together: use one of them")
    return found


def _is_hooked(kind: Any) -> bool:
    """Return True if hooks of msgspec decode the class, when it stands among types of msgspec."""
    return isinstance(kind, type) and (is_path_type(kind) or is_model_type(kind))


def _reader_of_plain(hint: Any, enclosing: frozenset[Any]) -> JsonTypeReader:
    if hint is float or hint is Any or hint in ARRAYS or hint in OBJECTS:
        return JsonTypeReader.FLOATS
    if hint in _LEAVES or hint in enclosing:
        return JsonTypeReader.ANY
    if isinstance(hint, TypeVar):
        if hint.__constraints__:
            raise NotJsonType(f"{hint}: a type variable with constraints stands for no type")
        return _reader_of(Any if hint.__bound__ is None else hint.__bound__, enclosing)
    if isinstance(hint, type):
        return _reader_of_class(cast("type[Any]", hint), enclosing)
    raise _not_json_type(hint)


def _reader_of_class(kind: type[Any], enclosing: frozenset[Any]) -> JsonTypeReader:
    if kind is Raw or kind is UnsetType:
        return JsonTypeReader.MSGSPEC
    if issubclass(kind, enum.Enum):
        return _reader_of_enum(kind)
    if issubclass(kind, Struct):
        return _of_msgspec(kind, kind.__struct_fields__, enclosing)
    if is_path_type(kind):
        return JsonTypeReader.PATH
    if is_model_type(kind):
        # Msgspec would read a pydantic dataclass as any other, without its validators.
        whole = hasattr(kind, "__dataclass_fields__")
        reader = JsonTypeReader.PYDANTIC if whole else JsonTypeReader.MODEL
        return reader | _content_of_model(kind, enclosing)
    if hasattr(kind, "__dataclass_fields__"):
        # Loaded with the first dataclass.
        from dataclasses import fields

        return _reader_of_fields(kind, [field.name for field in fields(kind)], enclosing)
    if is_typeddict(kind) or is_named_tuple(kind):
        if _is_unknown_to_pydantic(kind):
            return _of_msgspec(kind, list(kind.__annotations__), enclosing)
        return _reader_of_fields(kind, list(kind.__annotations__), enclosing)
    attributes: Any = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return _of_msgspec(kind, [one.name for one in attributes], enclosing)
    raise _not_json_type(kind)


def _is_unknown_to_pydantic(kind: Any) -> bool:
    """Return True for a TypedDict that pydantic refuses: of `typing`, before Python 3.12."""
    return sys.version_info < (3, 12) and type(kind).__module__ == "typing"


def _of_msgspec(kind: type[Any], names: Iterable[str], enclosing: frozenset[Any]) -> JsonTypeReader:
    """Return the reader of a class that msgspec alone knows."""
    found = _reader_of_fields(kind, names, enclosing)
    try:
        return _not_both(found | JsonTypeReader.MSGSPEC)
    except NotJsonType as error:
        raise NotJsonType(f"{kind.__name__}: {error}") from None


def _reader_of_fields(
    kind: type[Any], names: Iterable[str], enclosing: frozenset[Any]
) -> JsonTypeReader:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:
        return JsonTypeReader.FLOATS  # the name may be defined further down
    try:
        field_hints = (without_qualifiers(hints[name]) for name in names if name in hints)
        return _reader_of_all(field_hints, enclosing | {kind})
    except NotJsonType as error:
        raise NotJsonType(f"{kind.__name__}: {error}") from None


def _content_of_model(kind: Any, enclosing: frozenset[Any]) -> JsonTypeReader:
    """Return EXTRA and FLOATS for a pydantic type, at any depth."""
    fields: dict[str, Any] | None = getattr(kind, "model_fields", None)
    found = JsonTypeReader.FLOATS if fields is None else JsonTypeReader.ANY
    if getattr(kind, "model_config", {}).get("json_schema_extra"):
        found |= JsonTypeReader.EXTRA
    for field in (fields or {}).values():
        found |= _reader_of_pydantic_metadata((field, *field.metadata))
        try:
            found |= _reader_of(field.annotation, enclosing | {kind})
        except NotJsonType:
            found |= JsonTypeReader.FLOATS  # pydantic knows more types than this module
    return found & (JsonTypeReader.EXTRA | JsonTypeReader.FLOATS)


def _reader_of_pydantic_metadata(given: Iterable[Any]) -> JsonTypeReader:
    extra = any(getattr(one, "json_schema_extra", None) for one in given)
    return JsonTypeReader.PYDANTIC | (JsonTypeReader.EXTRA if extra else JsonTypeReader.ANY)


def without_qualifiers(hint: Any) -> Any:
    """Return the type inside Required, NotRequired and ReadOnly of a TypedDict."""
    while getattr(get_origin(hint), "_name", "") in ("Required", "NotRequired", "ReadOnly"):
        (hint,) = get_args(hint)
    return hint


def _reader_of_enum(kind: type[enum.Enum]) -> JsonTypeReader:
    values: list[object] = [member.value for member in kind]
    if not values or not any(all(type(one) is t for one in values) for t in (int, str)):
        raise NotJsonType(f"{kind.__name__}: the values of an enum are all texts, or all integers")
    return JsonTypeReader.ANY


def _reader_of_literal(hint: Any) -> JsonTypeReader:
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


def _reader_of_metadata(hint: Any) -> JsonTypeReader:
    found = JsonTypeReader.ANY
    kind = _class_of(hint)
    for one in metadata(hint):
        if type(one).__module__.partition(".")[0] in ("pydantic", "annotated_types"):
            found |= _reader_of_pydantic_metadata((one,))
        elif isinstance(one, Meta):
            found |= _reader_of_constraints(kind, one)
            if one.extra_json_schema:
                found |= JsonTypeReader.EXTRA
    return found


def _reader_of_constraints(kind: Any, meta: Meta) -> JsonTypeReader:
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


def _not_json_type(hint: Any) -> NotJsonType:
    return NotJsonType(
        f"JSON has nothing for {_name(hint)}: use builtins, dataclasses, TypedDicts, Structs, "
        "attrs classes, enums, paths, dates or pydantic models"
    )
