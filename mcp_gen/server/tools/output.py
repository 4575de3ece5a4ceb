"""Converts the return value of a tool to a `CallToolResult`: content, or structured content."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import UsageError
from mcp_gen.server.content.blocks import Structured
from mcp_gen.server.content.results import (
    as_block,
    as_text,
    check_blocks,
    check_built_result,
    finite_json,
    is_alternative_result,
    is_block,
    is_result,
    to_json,
    unserializable,
    with_data_text,
)
from mcp_gen.server.tools.return_annotations import accepted_classes
from mcp_gen.values import pydantic_types
from mcp_gen.values.custom_types import decoder
from mcp_gen.values.json_schema import json_schema, schema_of_adapter
from mcp_gen.values.json_types import JsonTypeReader, bare
from mcp_wire import UNSET, latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import TypeAdapter

    from mcp_gen.server.functions.schema_validation import CompiledSchema

__all__ = ["Encode", "Output", "output_for_schema", "output_for_type"]

Encode: TypeAlias = Callable[[Any], Any]
"""Makes the `CallToolResult` of a call from the return value of the tool."""

_PATH = r" - at `\$[^`]*`$"
_NUMBERS = frozenset({bool, float, int})
_PLAIN = frozenset({bool, dict, float, int, list, str, NoneType})
"""Classes of most return values. They are never wire types."""


class Encoders(dict[tuple[str, bool], Encode]):
    """Encoders of one output, by revision and whether hooks see the results; built at first use."""

    def __init__(self, build: Callable[[str, bool], Encode]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, key: tuple[str, bool]) -> Encode:
        made = self[key] = self._build(*key)
        return made


class Output:
    """Output of a tool without output schema: texts and content blocks."""

    def schema(self) -> dict[str, Any] | None:
        """Return the output schema, or None."""
        return None

    @cached_property
    def encoders(self) -> Encoders:
        """The encoders that have been built."""
        return Encoders(self.encoder)

    def encoder(self, revision: str, seen: bool) -> Encode:
        """Return the function that makes results at a revision from return values of the tool.

        Wire types stay as they are. The function raises UsageError if a value does not match the
        output schema, and TypeError if it is not JSON-serializable.

        Args:
            revision: Protocol revision of the results.
            seen: Hooks see the results: they must hold plain values. False: they may hold encoded
                ones.
        """
        types = mcp_wire.types(revision)
        result_type, text_type = types.CallToolResult, types.TextContent

        def encode(value: Any) -> Any:
            if value.__class__ not in _PLAIN:
                if is_result(value):
                    if not is_alternative_result(type(value)):
                        check_built_result(value)
                    return value
                if is_block(value):
                    check_blocks([value])
                    return latest.CallToolResult(content=[value])
                if isinstance(value, Structured):
                    value = [*value.content, cast("Any", value).data]
            if value is None:
                return result_type(content=[])
            is_sequence = isinstance(value, (list, tuple))
            values = cast("Sequence[Any]", value) if is_sequence else [value]
            if any(map(is_block, values)):
                check_blocks(values)
                return latest.CallToolResult(content=list(map(as_block, values)))
            try:
                return result_type(content=[text_type(text=as_text(one)) for one in values])
            except UsageError:
                finite_json(value)  # raises with the path from the root
                raise

        return encode


class _DataOutput(Output):
    """Output of a tool with an output schema.

    Args:
        what: Name of the tool, for error messages.
        unchecked: Classes of values that match the output schema; others are checked.
        floats: A value may hold floats, which may be NaN or infinite.
    """

    def __init__(
        self, what: str, unchecked: frozenset[type] = frozenset(), *, floats: bool = True
    ) -> None:
        self._what = what
        self._unchecked = unchecked
        self._to_json = finite_json if floats else to_json
        """Encodes a value. Where types hold no floats, nothing is checked."""

    @cached_property
    def _is_object(self) -> bool:
        return (self.schema() or {}).get("type") == "object"

    def encoder(self, revision: str, seen: bool) -> Encode:
        """Return the function that makes results at a revision; see `Output.encoder`."""
        types, holds = mcp_wire.types(revision), mcp_wire.profile(revision).structured_content
        result_type, text_type = types.CallToolResult, types.TextContent
        unchecked, is_object = self._unchecked, self._is_object
        to_json = self._to_json
        # The output schema is wrapped by the same rule when it is projected.
        is_wrapped = not is_object and holds == "object"

        def encode(value: Any) -> Any:
            content: Sequence[Any] | None = None
            if value.__class__ not in _PLAIN:
                if is_result(value):
                    if not is_alternative_result(type(value)):
                        self._check_result(value)
                    return value
                if isinstance(value, Structured):
                    content, value = value.content, cast("Any", value).data
                    check_blocks(content)
            try:
                json = to_json(value) if value.__class__ in unchecked else self._json(value)
            except msgspec.ValidationError as error:
                raise self._schema_mismatch(error) from error
            except UsageError:
                raise
            except Exception as error:
                cause = unserializable(value, error, self._named)
                if cause is error and isinstance(error, ValueError):
                    raise self._schema_mismatch() from error
                raise cause from error
            if content is None:
                blocks = [text_type(text=value if isinstance(value, str) else json.decode())]
            else:
                blocks = with_data_text(content, json, is_object=is_object)
            if holds == "none":
                return result_type(content=blocks)
            if value.__class__ in _NUMBERS:
                data: Any = value
            else:
                # Raw: what is encoded already is not encoded once more.
                data = msgspec.json.decode(json) if seen else Raw(json)
            if is_wrapped:
                data = {"result": data}
            return result_type(content=blocks, structured_content=data)

        return encode

    def _json(self, value: Any) -> bytes:
        """Return the value as JSON.

        Raises:
            ValueError: The value does not match the output schema.
        """
        raise NotImplementedError  # each kind of data output has its own

    def _check_result(self, result: Any) -> None:
        """Check that a result built by the tool has structured content, or is an error."""
        check_built_result(result)
        if result.is_error:
            return
        if getattr(result, "structured_content", None) in (None, UNSET):
            raise self._schema_mismatch() from ValueError("it has no structured content")

    @property
    def _named(self) -> str:
        return f"{self._what}: the result"

    def _schema_mismatch(self, error: Exception | None = None) -> UsageError:
        # The value appears only in the log: it may hold data that no peer should see. Paths of
        # msgspec name the fields of the schema, and no keys that are data.
        at = re.search(_PATH, str(error)) if error.__class__ is msgspec.ValidationError else None
        where = at[0] if at else ""
        return UsageError(f"{self._named} is not what the tool's output schema says{where}")


class _HintOutput(_DataOutput):
    """Output of a type that msgspec encodes."""

    def __init__(self, what: str, hint: Any, *, floats: bool, extra: bool) -> None:
        classes = accepted_classes(hint)
        self._extra = _extra_of(what, hint) if extra else None
        unchecked = frozenset[type]() if self._extra else classes or frozenset()
        super().__init__(what, unchecked, floats=floats)
        self._hint = hint
        self._accepted = classes

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return json_schema(self._hint)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the type."""
        return self._schema

    @cached_property
    def _decode(self) -> Callable[[bytes | Raw], Any]:
        return decoder(self._hint, hooked=True)

    def _json(self, value: Any) -> bytes:
        json = self._to_json(value)
        if self._accepted is not None and value.__class__ not in self._accepted:
            # Of values of another class; type checkers cover the rest.
            self._decode(json)
        if self._extra is not None:
            self._extra.check(msgspec.json.decode(json))
        return json


class _PydanticOutput(_DataOutput):
    """Output of a type that pydantic encodes."""

    def __init__(self, what: str, hint: Any, *, floats: bool, extra: bool) -> None:
        super().__init__(what, floats=floats)
        self._hint = hint
        self._floats = floats
        self._extra = _extra_of(what, hint) if extra else None
        self._class = bare(hint)
        self._is_model = hasattr(self._class, "__pydantic_serializer__")

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return pydantic_types.adapter(self._hint, self._what)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return schema_of_adapter(self._adapter)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the pydantic type, in serialization mode."""
        return self._schema

    def _json(self, value: Any) -> bytes:
        if self._is_model and not isinstance(value, self._class):
            # Pydantic would serialize another class with the fields it finds, possibly none.
            raise ValueError(f"expected {self._hint}, got {type(value).__name__}")
        json = pydantic_types.dump(self._adapter, value)
        if self._floats:
            check_finite(value, json, "the result")
        if self._extra is not None:
            self._extra.check(msgspec.json.decode(json))
        return json


class _SchemaOutput(_DataOutput):
    """Output with a user-written JSON Schema."""

    def __init__(self, what: str, compiled_schema: CompiledSchema) -> None:
        super().__init__(what)
        self._compiled_schema = compiled_schema

    def schema(self) -> dict[str, Any]:
        """Return the schema as written."""
        return self._compiled_schema.schema

    def _json(self, value: Any) -> bytes:
        json = self._to_json(value)
        self._compiled_schema.check(msgspec.json.decode(json))
        return json

    def _check_result(self, result: Any) -> None:
        super()._check_result(result)
        # Revisions that allow only objects wrap other values.
        is_unwrapped = self._is_object or isinstance(result, latest.CallToolResult)
        if is_unwrapped and not getattr(result, "is_error", None):
            try:
                self._compiled_schema.check(msgspec.json.decode(to_json(result.structured_content)))
            except msgspec.ValidationError as error:
                raise self._schema_mismatch() from error


def output_for_type(what: str, hint: Any, reader: JsonTypeReader) -> Output:
    """Return the output for a return type.

    Args:
        what: Name of the tool, for error messages.
        hint: Type of the structured content; None for unstructured content.
        reader: Library that encodes the type.
    """
    if hint is None:
        return Output()
    made = _PydanticOutput if reader.by_pydantic else _HintOutput
    return made(what, hint, floats=reader.has_floats, extra=reader.has_extra)


def _extra_of(what: str, hint: Any) -> CompiledSchema | None:
    # Loaded with the first tool that has such keywords.
    from mcp_gen.server.functions.extra_keywords import extra_of_type

    return extra_of_type(hint, f"tool {what}: its result")


def output_for_schema(what: str, schema: Any, *, checked: bool = True) -> Output:
    """Return the output for a user-written JSON Schema.

    Args:
        what: Name of the tool, for error messages.
        schema: The output schema.
        checked: Check now that the schema is valid, not at the first call.

    Raises:
        UsageError: The schema is not valid, or not supported; see `CompiledSchema`.
    """
    # Loaded with the first user-written schema.
    from mcp_gen.server.functions.schema_validation import CompiledSchema

    made = CompiledSchema(schema, f"{what}: output schema", moves=True)
    if checked:
        made.check_schema()
    return _SchemaOutput(what, made)
