"""Elicitation forms: schema from a type, value from an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeVar,
    cast,
)
from typing import get_type_hints as type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import NODEFAULT, inspect

from mcp_gen.core.errors import InvalidResult, UsageError
from mcp_gen.server.input_requests.form_choices import literals_in, options, title_of
from mcp_gen.values.custom_types import convert, is_model_type, is_path_type, to_plain
from mcp_gen.values.field_texts import text_in
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.input_requests.model_forms import ModelField

__all__ = ["Form", "elicitation_form"]

T = TypeVar("T")

_ALLOWED = (
    "str, int, float, bool, datetime, date, another text such as a path, a Literal or an Enum of "
    "texts, or a list of one of these two"
)
_TEXTS = {"title", "description"}
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "email": _EMAIL.fullmatch,
    "uri": lambda text: urlsplit(text).scheme,
    "date": lambda text: msgspec.convert(text, date),
    "date-time": lambda text: msgspec.convert(text, datetime),
}
_TEXTS_READ = (
    inspect.DecimalType,
    inspect.TimeDeltaType,
    inspect.TimeType,
    inspect.UUIDType,
)
"""Types that JSON has as text, in formats that forms do not name."""
_LISTS = (inspect.ListType, inspect.SetType, inspect.FrozenSetType, inspect.VarTupleType)
_FORM_TYPES = (inspect.DataclassType, inspect.StructType, inspect.TypedDictType)


class _Field:
    """One field of a form: its schema, and the checks of its answer that msgspec does not make."""

    def __init__(self, owner: str, field: inspect.Field, hint: Any) -> None:
        self.name = field.encode_name
        self.where = f"{owner}.{field.name}"
        kind, extra, self.nullable = _unwrap(field.type)
        self.required = field.required and not self.nullable
        self.fill_null = field.required and self.nullable
        self.is_integer = isinstance(kind, inspect.IntType)
        self.format: str | None = extra.pop("format", None)
        common = {key: extra.pop(key) for key in _TEXTS & extra.keys()}
        if extra:
            raise self._error(f"forms have no `{min(extra)}`")
        text = text_in(hint)
        if text is not None:
            common.setdefault("description", text)
        default = self._default(field)
        if default is not None and default != []:
            common["default"] = default
        self.schema = self._build_schema(kind, hint, common)

    def _error(self, what: str) -> UsageError:
        return UsageError(f"{self.where}: {what}")

    def _default(self, field: inspect.Field) -> Any:
        default = field.default
        if field.default_factory is not NODEFAULT:
            default = field.default_factory()
        return None if default is NODEFAULT else to_plain(default)

    def _build_schema(self, kind: inspect.Type, hint: Any, common: dict[str, Any]) -> Any:
        if isinstance(kind, inspect.StrType):
            return self._string_schema(kind, common)
        if self.format is not None:
            raise self._error(f"the format {self.format!r} is for texts")
        if isinstance(kind, inspect.DateTimeType):
            return latest.StringSchema(format="date-time", **common)
        if isinstance(kind, inspect.DateType):
            return latest.StringSchema(format="date", **common)
        if isinstance(kind, _TEXTS_READ) or _is_path(kind):
            return latest.StringSchema(**common)
        if isinstance(kind, inspect.BoolType):
            return latest.BooleanSchema(**common)
        if isinstance(kind, inspect.IntType | inspect.FloatType):
            return self._number_schema(kind, common)
        if isinstance(kind, _LISTS):
            return self._multi_select(kind, hint, common)
        return self._single_select(kind, hint, common)

    def _string_schema(self, kind: inspect.StrType, common: dict[str, Any]) -> latest.StringSchema:
        if kind.pattern is not None:
            raise self._error("forms have no patterns; say in `description` what is wanted")
        if self.format is not None and self.format not in _FORMATS:
            raise self._error(f"format {self.format!r}: expected one of {', '.join(_FORMATS)}")
        form: Any = self.format
        return latest.StringSchema(
            min_length=kind.min_length, max_length=kind.max_length, format=form, **common
        )

    def _number_schema(
        self, kind: inspect.IntType | inspect.FloatType, common: dict[str, Any]
    ) -> latest.NumberSchema:
        if kind.multiple_of is not None:
            raise self._error("forms have no `multiple_of`; say in `description` what is wanted")
        minimum, maximum = kind.ge, kind.le
        if isinstance(kind, inspect.IntType):
            minimum = kind.gt + 1 if kind.gt is not None else minimum
            maximum = kind.lt - 1 if kind.lt is not None else maximum
        elif kind.gt is not None or kind.lt is not None:
            raise self._error("forms have no open bounds; use `ge` and `le`")
        return latest.NumberSchema(
            type="integer" if self.is_integer else "number",
            minimum=minimum,
            maximum=maximum,
            **common,
        )

    def _single_select(self, kind: inspect.Type, hint: Any, common: dict[str, Any]) -> Any:
        texts, titles = self._choices(kind, hint)
        if titles is None:
            return latest.UntitledSingleSelectEnumSchema(enum=texts, **common)
        return latest.TitledSingleSelectEnumSchema(one_of=options(texts, titles), **common)

    def _multi_select(self, kind: Any, hint: Any, common: dict[str, Any]) -> Any:
        texts, titles = self._choices(_unwrap(kind.item_type)[0], hint)
        common |= {"min_items": kind.min_length, "max_items": kind.max_length}
        if titles is None:
            items = latest.UntitledEnumItems(enum=texts)
            return latest.UntitledMultiSelectEnumSchema(items=items, **common)
        titled = latest.TitledEnumItems(any_of=options(texts, titles))
        return latest.TitledMultiSelectEnumSchema(items=titled, **common)

    def _choices(self, kind: inspect.Type, hint: Any) -> tuple[list[str], list[str] | None]:
        """Return the values to choose from, and their titles; None if they have no titles."""
        if isinstance(kind, inspect.EnumType):
            members = list(kind.cls)
            values = [member.value for member in members]
            titles = [title_of(member) for member in members]
        elif isinstance(kind, inspect.LiteralType):
            # From the hint, because msgspec sorts the values of a Literal.
            values, titles = [one for one in literals_in(hint) if one is not None], None
        else:
            raise self._error(f"a field of a form is {_ALLOWED}")
        if not all(isinstance(value, str) for value in values):
            raise self._error("what a form lets choose from are texts")
        return values, titles

    def check(self, value: Any) -> str | None:
        """Return an error text if an answer does not match the format of the field, else None."""
        matches = _FORMATS.get(self.format or "")
        if matches is None or not isinstance(value, str):
            return None
        try:
            ok = matches(value)
        except ValueError:
            ok = False
        return None if ok else f"expected {self.format} - at `$.{self.name}`"


class Form(Generic[T]):
    """Elicitation form of a dataclass, attrs class, Struct, TypedDict or pydantic model.

    Attributes:
        schema: The `requestedSchema` that is sent to clients.

    Args:
        kind: The type. Each field is a str, int, float, bool, datetime, date, another type that is
            text in JSON (a path, a time, a UUID), a Literal or an Enum of texts, or a list of one
            of these two.

    Raises:
        UsageError: No form can be made of the type; the message names the field and the reason.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._fields: Sequence[_Field | ModelField]
        self._is_model = _is_model(kind)
        if self._is_model:
            # Loaded with the first form that is of pydantic.
            from mcp_gen.server.input_requests.model_forms import fields_of_model

            self._fields = fields_of_model(kind)
        else:
            self._fields = _fields_of(kind)
        self.schema = latest.ElicitationSchema(
            properties={field.name: field.schema for field in self._fields},
            required=[field.name for field in self._fields if field.required] or None,
        )

    def read(self, content: Mapping[str, Any]) -> T:
        """Return the answers as a value of the type; members without a field are ignored.

        Raises:
            InvalidResult: The form does not allow an answer; the message ends in its path.
        """
        answers: dict[str, Any] = {}
        for field in self._fields:
            if field.name in content:
                value = answers[field.name] = content[field.name]
                if field.is_integer and isinstance(value, float) and value.is_integer():
                    answers[field.name] = int(value)
            elif field.fill_null:
                answers[field.name] = None
        try:
            made = self._read(answers)
        except msgspec.ValidationError as error:
            raise InvalidResult(str(error)) from None
        for field in self._fields:
            problem = field.check(answers.get(field.name))
            if problem:
                raise InvalidResult(problem)
        return made

    def _read(self, answers: Mapping[str, Any]) -> T:
        made: T
        if self._is_model:
            # Loaded with the first form that is of pydantic.
            from mcp_gen.server.input_requests.model_forms import read_model

            made = read_model(self._kind, answers)
        else:
            made = convert(answers, self._kind)
        return made


def _fields_of(kind: type[Any]) -> list[_Field]:
    """Return the fields of a form of a class that msgspec reads; see `Form`."""
    name = getattr(kind, "__name__", repr(kind))
    try:
        info = inspect.type_info(kind)
    except (TypeError, NameError) as error:
        raise UsageError(f"{name}: this is no form: {error}") from None
    if not isinstance(info, _FORM_TYPES) or getattr(info, "array_like", False):
        raise _no_form(name)
    if getattr(info, "tag", None) is not None:
        raise UsageError(f"{name}: a form has no tag: there is nothing to tell apart")
    hints = type_hints(kind, include_extras=True)
    return [_Field(name, field, hints.get(field.name)) for field in info.fields]


def _no_form(name: str) -> UsageError:
    return UsageError(
        f"{name}: a form is a dataclass, an attrs class, a Struct, a TypedDict or a pydantic "
        "model: write a class with a field for each answer"
    )


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and is_model_type(cast("type[Any]", kind))


def _is_path(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.CustomType) and is_path_type(kind.cls)


def elicitation_form(kind: type[T]) -> Form[T]:
    """Return the form of a type, from a cache of the 256 types used last.

    Raises:
        UsageError: No form can be made of the type; the message names the field and the reason.
    """
    wanted: Any = kind
    if isinstance(wanted, list | dict | set):  # not hashable
        raise _no_form(repr(kind))
    made: Form[T] = _form_of(wanted)
    return made


# Bounded, because a handler may define its form type in every call.
@lru_cache(maxsize=256)
def _form_of(kind: Any) -> Any:
    return Form(kind)


def _unwrap(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any], bool]:
    """Return a type without metadata and None, its extra JSON schema, and if None was allowed."""
    notes: dict[str, Any] = {}
    nullable = False
    while True:
        if isinstance(kind, inspect.Metadata):
            # The outer metadata overrides the inner one.
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
