"""Elicitation forms of pydantic models and dataclasses: fields from their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import repeat
from typing import Any, get_args

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.server.input_requests.form_choices import options, title_of
from mcp_gen.values import pydantic_types
from mcp_gen.values.json_types import bare
from mcp_wire import latest

__all__ = ["ModelField", "fields_of_model", "read_model"]

Schema = dict[str, Any]

_FORMATS = frozenset({"date", "date-time", "email", "uri"})
_TEXT_FORMATS = frozenset({"duration", "path", "time", "uuid"})
"""Formats that forms do not name: the field is a text, which pydantic reads."""
_NAMES = {
    "maxItems": "max_items",
    "maxLength": "max_length",
    "maximum": "maximum",
    "minItems": "min_items",
    "minLength": "min_length",
    "minimum": "minimum",
}
_IGNORED = ("title", "type", "uniqueItems")


class ModelField:
    """One field of a form; see the fields of `Form`.

    Args:
        owner: Name of the model, for error messages.
        name: Name of the field in JSON.
        schema: Its JSON Schema, without references.
        nullable: None is a value of it.
        required: It has no default.
        info: What pydantic knows of the field; None if that is unclear.
    """

    def __init__(
        self, owner: str, name: str, schema: Schema, *, nullable: bool, required: bool, info: Any
    ) -> None:
        self.name = name
        self.required = required and not nullable
        self.fill_null = required and nullable
        self.is_integer = schema.get("type") == "integer"
        self._where = f"{owner}.{name}"
        self._members = _enum_in(getattr(info, "annotation", None))
        common = {"title": getattr(info, "title", None), "description": schema.get("description")}
        if schema.get("default") not in (None, []):
            common["default"] = schema["default"]
        rest = {key: value for key, value in schema.items() if key not in _IGNORED}
        for key in common:
            rest.pop(key, None)
        rest.pop("default", None)
        self.schema: Any = self._built(schema.get("type"), rest, common)

    def _error(self, what: str) -> UsageError:
        return UsageError(f"{self._where}: {what}")

    def _built(self, kind: Any, rest: Schema, common: Schema) -> Any:
        if "const" in rest:
            rest["enum"] = [rest.pop("const")]
        if "enum" in rest:
            return self._single_select(rest.pop("enum"), common)
        if kind == "array":
            return self._multi_select(rest, common)
        if kind == "string":
            form = rest.pop("format", None)
            if form not in _TEXT_FORMATS:
                common["format"] = form
            if form is not None and form not in _FORMATS | _TEXT_FORMATS:
                raise self._error(f"forms have no format {form!r}")
            return latest.StringSchema(**common, **self._bounds(rest))
        if kind in ("integer", "number"):
            if kind == "integer":
                _close_bounds(rest)
            return latest.NumberSchema(type=kind, **common, **self._bounds(rest))
        if kind == "boolean" and not rest:
            return latest.BooleanSchema(**common)
        raise self._error(
            "a field of a form is str, int, float, bool, datetime, date, another text such as a "
            "path, a Literal or an Enum of texts, or a list of one of these two"
        )

    def _bounds(self, rest: Schema) -> Schema:
        for key in sorted(rest.keys() - _NAMES.keys()):
            raise self._error(f"forms have no `{key}`; say in `description` what is wanted")
        return {_NAMES[key]: value for key, value in rest.items()}

    def _single_select(self, texts: list[Any], common: Schema) -> Any:
        self._check_texts(texts)
        if self._members is None:
            return latest.UntitledSingleSelectEnumSchema(enum=texts, **common)
        return latest.TitledSingleSelectEnumSchema(one_of=self._options(texts), **common)

    def _multi_select(self, rest: Schema, common: Schema) -> Any:
        texts: list[Any] = rest.pop("items", {}).get("enum", [None])
        self._check_texts(texts)
        common |= self._bounds(rest)
        if self._members is None:
            items = latest.UntitledEnumItems(enum=texts)
            return latest.UntitledMultiSelectEnumSchema(items=items, **common)
        titled = latest.TitledEnumItems(any_of=self._options(texts))
        return latest.TitledMultiSelectEnumSchema(items=titled, **common)

    def _check_texts(self, texts: list[Any]) -> None:
        if not all(isinstance(text, str) for text in texts):
            raise self._error("what a form lets choose from are texts")

    def _options(self, texts: list[str]) -> list[latest.EnumOption]:
        titles = {member.value: title_of(member) for member in self._members or ()}
        return options(texts, [titles.get(text, text) for text in texts])

    def check(self, value: Any) -> str | None:
        """Return None: pydantic checks all."""
        return None


def fields_of_model(kind: Any) -> list[ModelField]:
    """Return the fields of a form.

    Args:
        kind: A pydantic model, or a pydantic dataclass.

    Raises:
        UsageError: No form can be made of it; the message names the field and the reason.
    """
    name: str = kind.__name__
    schemas, shared = pydantic_types.schemas(
        {name: pydantic_types.adapter_of(kind)}, "validation", {}
    )
    whole = _resolved(schemas[name], shared)[0]
    if whole.get("type") != "object" or "properties" not in whole:
        raise UsageError(f"{name}: a form is a model with fields")
    properties: Schema = whole["properties"]
    known: Mapping[str, Any] = getattr(kind, "__pydantic_fields__", {})
    infos = known.values() if len(known) == len(properties) else repeat(None)
    required = whole.get("required", ())
    fields: list[ModelField] = []
    for (field, given), info in zip(properties.items(), infos, strict=False):
        schema, nullable = _resolved(given, shared)
        if "items" in schema:
            schema = {**schema, "items": _resolved(schema["items"], shared)[0]}
        made = ModelField(
            name, field, schema, nullable=nullable, required=field in required, info=info
        )
        fields.append(made)
    return fields


def read_model(kind: Any, answers: Mapping[str, Any]) -> Any:
    """Return the answers of a form as a model.

    Raises:
        msgspec.ValidationError: An answer does not fit; the message ends in the path.
    """
    adapter = pydantic_types.adapter_of(kind)
    return pydantic_types.read(adapter, msgspec.json.encode(answers), "$")


def _resolved(schema: Schema, shared: Schema) -> tuple[Schema, bool]:
    """Return a schema without references and without null, and if null was a value."""
    reference = schema.get("$ref")
    if reference is not None:
        target, nullable = _resolved(shared[reference.removeprefix("#/$defs/")], shared)
        # What a class says of itself is no label of the field.
        kept = {key: one for key, one in target.items() if key not in ("description", "title")}
        if target.get("type") == "object":
            kept = target
        own = {key: one for key, one in schema.items() if key != "$ref"}
        return {**kept, **own}, nullable
    arms: list[Schema] = schema.get("anyOf", [])
    others = [arm for arm in arms if arm.get("type") != "null"]
    if len(others) < len(arms) and len(others) == 1:
        own = {key: one for key, one in schema.items() if key != "anyOf"}
        return {**_resolved(others[0], shared)[0], **own}, True
    return schema, False


def _close_bounds(rest: Schema) -> None:
    """Write the open bounds of an integer as closed ones."""
    if "exclusiveMinimum" in rest:
        rest["minimum"] = rest.pop("exclusiveMinimum") + 1
    if "exclusiveMaximum" in rest:
        rest["maximum"] = rest.pop("exclusiveMaximum") - 1


def _enum_in(hint: Any) -> type[Enum] | None:
    """Return the Enum in an annotation, alone, in a list or with None; None if there is none."""
    kind = bare(hint)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return next((found for one in get_args(kind) if (found := _enum_in(one))), None)
