"""Forms: the flat schema that a user fills in, made from a type, and the type made from answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import NODEFAULT, inspect

from mcp_gen.core.errors import InvalidParams, UsageError
from mcp_wire import latest

__all__ = ["Form", "elicitation_form"]

T = TypeVar("T")

_ALLOWED = (
    "str, int, float, bool, datetime, date, a Literal or an Enum of texts, or a list of one of "
    "these two"
)
_TEXTS = {"title", "description"}
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "email": _EMAIL.fullmatch,
    "uri": lambda text: urlsplit(text).scheme,
    "date": lambda text: msgspec.convert(text, date),
    "date-time": lambda text: msgspec.convert(text, datetime),
}
_LISTS = (inspect.ListType, inspect.SetType, inspect.FrozenSetType, inspect.VarTupleType)
_FORM_TYPES = (inspect.DataclassType, inspect.StructType, inspect.TypedDictType)


class _Field:
    """One field of a form: its schema, and what must be seen to in its answers."""

    def __init__(self, owner: str, field: inspect.Field, hint: Any) -> None:
        self.name = field.encode_name
        self.where = f"{owner}.{field.name}"
        kind, extra, self.nullable = _unwrapped(field.type)
        self.required = field.required and not self.nullable
        self.fill = field.required and self.nullable
        self.whole = isinstance(kind, inspect.IntType)
        self.format: str | None = extra.pop("format", None)
        said = {key: extra.pop(key) for key in _TEXTS & extra.keys()}
        if extra:
            raise self._wrong(f"forms have no `{min(extra)}`")
        default = self._default(field)
        if default is not None and default != []:
            said["default"] = default
        self.schema = self._made(kind, hint, said)

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.where}: {what}")

    def _default(self, field: inspect.Field) -> Any:
        default = field.default
        if field.default_factory is not NODEFAULT:
            default = field.default_factory()
        return None if default is NODEFAULT else msgspec.to_builtins(default)

    def _made(self, kind: inspect.Type, hint: Any, said: dict[str, Any]) -> Any:
        if isinstance(kind, inspect.StrType):
            return self._text(kind, said)
        if self.format is not None:
            raise self._wrong(f"the format {self.format!r} is for texts")
        if isinstance(kind, inspect.DateTimeType):
            return latest.StringSchema(format="date-time", **said)
        if isinstance(kind, inspect.DateType):
            return latest.StringSchema(format="date", **said)
        if isinstance(kind, inspect.BoolType):
            return latest.BooleanSchema(**said)
        if isinstance(kind, inspect.IntType | inspect.FloatType):
            return self._number(kind, said)
        if isinstance(kind, _LISTS):
            return self._several(kind, hint, said)
        return self._one(kind, hint, said)

    def _text(self, kind: inspect.StrType, said: dict[str, Any]) -> latest.StringSchema:
        if kind.pattern is not None:
            raise self._wrong("forms have no patterns; say in `description` what is wanted")
        if self.format is not None and self.format not in _FORMATS:
            raise self._wrong(f"format {self.format!r}: expected one of {', '.join(_FORMATS)}")
        form: Any = self.format
        return latest.StringSchema(
            min_length=kind.min_length, max_length=kind.max_length, format=form, **said
        )

    def _number(
        self, kind: inspect.IntType | inspect.FloatType, said: dict[str, Any]
    ) -> latest.NumberSchema:
        if kind.multiple_of is not None:
            raise self._wrong("forms have no `multiple_of`; say in `description` what is wanted")
        low, high = kind.ge, kind.le
        if isinstance(kind, inspect.IntType):
            low = kind.gt + 1 if kind.gt is not None else low
            high = kind.lt - 1 if kind.lt is not None else high
        elif kind.gt is not None or kind.lt is not None:
            raise self._wrong("forms have no open bounds; use `ge` and `le`")
        return latest.NumberSchema(
            type="integer" if self.whole else "number", minimum=low, maximum=high, **said
        )

    def _one(self, kind: inspect.Type, hint: Any, said: dict[str, Any]) -> Any:
        texts, titles = self._choices(kind, hint)
        if titles is None:
            return latest.UntitledSingleSelectEnumSchema(enum=texts, **said)
        return latest.TitledSingleSelectEnumSchema(one_of=_options(texts, titles), **said)

    def _several(self, kind: Any, hint: Any, said: dict[str, Any]) -> Any:
        texts, titles = self._choices(_unwrapped(kind.item_type)[0], hint)
        said |= {"min_items": kind.min_length, "max_items": kind.max_length}
        if titles is None:
            items = latest.UntitledEnumItems(enum=texts)
            return latest.UntitledMultiSelectEnumSchema(items=items, **said)
        options = latest.TitledEnumItems(any_of=_options(texts, titles))
        return latest.TitledMultiSelectEnumSchema(items=options, **said)

    def _choices(self, kind: inspect.Type, hint: Any) -> tuple[list[str], list[str] | None]:
        """The values to choose from, and what they are called where they have names."""
        if isinstance(kind, inspect.EnumType):
            members = list(kind.cls)
            values = [member.value for member in members]
            titles = [_title(member) for member in members]
        elif isinstance(kind, inspect.LiteralType):
            # As they were written: msgspec gives them sorted.
            values, titles = [one for one in _literals(hint) if one is not None], None
        else:
            raise self._wrong(f"a field of a form is {_ALLOWED}")
        if not all(isinstance(value, str) for value in values):
            raise self._wrong("what a form lets choose from are texts")
        return values, titles

    def check(self, value: Any) -> str | None:
        """What is wrong with an answer beyond its type."""
        good = _FORMATS.get(self.format or "")
        if good is None or not isinstance(value, str):
            return None
        try:
            ok = good(value)
        except ValueError:
            ok = False
        return None if ok else f"expected {self.format} - at `$.{self.name}`"


class Form(Generic[T]):
    """A type as a form. `schema` is what clients get."""

    def __init__(self, kind: type[T]) -> None:
        name = getattr(kind, "__name__", repr(kind))
        try:
            info = inspect.type_info(kind)
        except (TypeError, NameError) as error:
            raise UsageError(f"{name}: this is no form: {error}") from None
        if not isinstance(info, _FORM_TYPES) or getattr(info, "array_like", False):
            raise UsageError(f"{name}: a form is a dataclass, a Struct or a TypedDict")
        if getattr(info, "tag", None) is not None:
            raise UsageError(f"{name}: a form has no tag: there is nothing to tell apart")
        hints = type_hints(kind, include_extras=True)
        self._kind = kind
        self._fields = [_Field(name, field, hints.get(field.name)) for field in info.fields]
        self.schema = latest.ElicitationSchema(
            properties={field.name: field.schema for field in self._fields},
            required=[field.name for field in self._fields if field.required] or None,
        )

    def read(self, content: Mapping[str, Any]) -> T:
        """The filled-in form; what it has no field for is left out.

        Raises:
            InvalidParams: an answer that the form does not allow; the message ends in the path.
        """
        answers: dict[str, Any] = {}
        for field in self._fields:
            if field.name in content:
                value = answers[field.name] = content[field.name]
                if field.whole and isinstance(value, float) and value.is_integer():
                    answers[field.name] = int(value)
            elif field.fill:
                answers[field.name] = None
        try:
            made = msgspec.convert(answers, self._kind)
        except msgspec.ValidationError as error:
            raise InvalidParams(str(error)) from None
        for field in self._fields:
            wrong = field.check(answers.get(field.name))
            if wrong:
                raise InvalidParams(wrong)
        return made


def elicitation_form(kind: type[T]) -> Form[T]:
    """The form of a type, made once.

    Raises:
        UsageError: a type that no form can be made of; the message says which field, and why.
    """
    wanted: Any = kind
    made: Form[T] = _form_of(wanted)
    return made


# Bounded: a handler may define its form anew in every call.
@lru_cache(maxsize=256)
def _form_of(kind: Any) -> Any:
    return Form(kind)


def _unwrapped(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any], bool]:
    """A type without its notes and without None, the notes, and whether None was there."""
    notes: dict[str, Any] = {}
    nullable = False
    while True:
        if isinstance(kind, inspect.Metadata):
            # What stands outside says more than what stands inside.
            inner: dict[str, Any] | None = getattr(kind, "extra_json_schema", None)
            notes = {**(inner or {}), **notes}
            kind = kind.type
            continue
        if isinstance(kind, inspect.UnionType):
            arms = [arm for arm in kind.types if not isinstance(arm, inspect.NoneType)]
            nullable = nullable or len(arms) < len(kind.types)
            if len(arms) == 1:
                kind = arms[0]
                continue
        if isinstance(kind, inspect.LiteralType):
            nullable = nullable or None in kind.values
        return kind, notes, nullable


def _literals(hint: Any) -> list[Any]:
    """The values of the Literals in a hint, in the order in which they were written."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return list(inner)
    if origin is Annotated:
        return _literals(inner[0])
    if origin in (Union, UnionType, list, set, frozenset, tuple):
        return [value for arm in inner for value in _literals(arm)]
    return []


def _title(member: Enum) -> str:
    return member.name.replace("_", " ").capitalize()


def _options(texts: Sequence[str], titles: Sequence[str]) -> list[latest.EnumOption]:
    return [
        latest.EnumOption(const=text, title=title)
        for text, title in zip(texts, titles, strict=True)
    ]
