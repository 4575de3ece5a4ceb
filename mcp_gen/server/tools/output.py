"""How what a tool returns becomes the result of a call: as content, or as data and content."""

from __future__ import annotations

from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.server.content.blocks import Structured
from mcp_gen.server.content.results import (
    as_block,
    as_text,
    is_alternative_result,
    is_block,
    is_result,
    of_revision,
    to_json,
)
from mcp_gen.server.functions import pydantic_types
from mcp_gen.server.functions.json_schema import json_schema, of_pydantic
from mcp_gen.server.functions.json_types import JsonTypeReader, bare
from mcp_gen.server.tools.return_annotations import classes_of
from mcp_wire import UNSET, latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import TypeAdapter

    from mcp_gen.server.functions.schema_validation import CompiledSchema
    from mcp_wire import common

__all__ = ["Output", "output_of_hint", "output_of_schema"]

_PLAIN = frozenset({bool, dict, float, int, list, str, NoneType})
"""What most tools return, and what is no wire type for certain."""


class Output:
    """Results of a tool that promises no data: texts and blocks."""

    def schema(self) -> dict[str, Any] | None:
        """The schema of the data that clients are promised."""
        return None

    def result(self, value: Any, revision: str, seen: bool) -> common.CallToolResult:
        """What the tool returned, as a result of a revision.

        What the tool made of wire types itself stays as it is. Results that are `seen` by hooks
        hold plain values, others may hold encoded ones.

        Raises:
            UsageError: the tool promised something else.
            TypeError: JSON cannot carry it.
        """
        if value.__class__ not in _PLAIN:
            if is_result(value):
                return value
            if is_block(value):
                return latest.CallToolResult(content=[value])
            if isinstance(value, Structured):
                value = [*value.content, cast("Any", value).data]
        results = of_revision(revision)
        if value is None:
            return results.of_texts(())
        many = isinstance(value, (list, tuple))
        values = cast("Sequence[Any]", value) if many else [value]
        if any(map(is_block, values)):
            return latest.CallToolResult(content=list(map(as_block, values)))
        return results.of_texts(map(as_text, values))


class _DataOutput(Output):
    """Results of a tool that promises data."""

    def __init__(self, what: str) -> None:
        self._what = what

    @cached_property
    def _is_object(self) -> bool:
        return (self.schema() or {}).get("type") == "object"

    def result(self, value: Any, revision: str, seen: bool) -> common.CallToolResult:
        """What the tool returned, as a result of a revision; see `Output.result`."""
        content: Sequence[Any] | None = None
        if value.__class__ not in _PLAIN:
            if is_result(value):
                if not is_alternative_result(type(value)):
                    self._check_result(value)
                return value
            if isinstance(value, Structured):
                content, value = value.content, cast("Any", value).data
        try:
            json = self._json(value)
        except (msgspec.ValidationError, ValueError) as error:
            raise self._broken() from error
        return of_revision(revision).of_data(value, json, self._is_object, seen, content)

    def _json(self, value: Any) -> bytes:
        """The value as JSON.

        Raises:
            ValueError: it is not what was promised.
        """
        raise NotImplementedError

    def _check_result(self, result: Any) -> None:
        """A result that the tool made itself holds what was promised, or says that it failed."""
        if result.is_error:
            return
        if getattr(result, "structured_content", None) in (None, UNSET):
            raise self._broken() from ValueError("it has no structured content")

    def _broken(self) -> UsageError:
        # What the value is instead is for the log alone: it may hold what no peer should see.
        return UsageError(f"{self._what}: the result is not what the tool's output schema says")


class _HintOutput(_DataOutput):
    """Data of a type that msgspec writes."""

    def __init__(self, what: str, hint: Any) -> None:
        super().__init__(what)
        self._hint = hint
        self._classes = classes_of(hint)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return json_schema(self._hint)

    def schema(self) -> dict[str, Any]:
        """The schema of the type."""
        return self._schema

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self._hint)

    def _json(self, value: Any) -> bytes:
        json = to_json(value)
        if self._classes is not None and value.__class__ not in self._classes:
            # Type checkers see to the rest; here it is for functions that none has seen.
            self._decoder.decode(json)
        return json


class _PydanticOutput(_DataOutput):
    """Data of a type that pydantic writes."""

    def __init__(self, what: str, hint: Any) -> None:
        super().__init__(what)
        self._hint = hint
        self._class = bare(hint)
        self._is_model = hasattr(self._class, "__pydantic_serializer__")

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return pydantic_types.adapter(self._hint, self._what)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return of_pydantic(self._adapter)

    def schema(self) -> dict[str, Any]:
        """The schema of what pydantic writes."""
        return self._schema

    def _json(self, value: Any) -> bytes:
        if self._is_model and not isinstance(value, self._class):
            # Of other classes pydantic writes the fields it finds, which may be none.
            raise ValueError(f"expected {self._hint}, got {type(value).__name__}")
        return pydantic_types.dump(self._adapter, value)


class _SchemaOutput(_DataOutput):
    """Data that a JSON Schema describes."""

    def __init__(self, what: str, raw: CompiledSchema) -> None:
        super().__init__(what)
        self._raw = raw

    def schema(self) -> dict[str, Any]:
        """The schema as it was written."""
        return self._raw.schema

    def _json(self, value: Any) -> bytes:
        json = to_json(value)
        self._raw.check(msgspec.json.decode(json))
        return json

    def _check_result(self, result: Any) -> None:
        super()._check_result(result)
        # At revisions that hold objects alone, others are wrapped.
        as_promised = self._is_object or isinstance(result, latest.CallToolResult)
        if as_promised and not getattr(result, "is_error", None):
            try:
                self._raw.check(msgspec.json.decode(to_json(result.structured_content)))
            except msgspec.ValidationError as error:
                raise self._broken() from error


def output_of_hint(what: str, hint: Any, reader: JsonTypeReader) -> Output:
    """What makes results of data of a type; of content, where the type is None."""
    if hint is None:
        return Output()
    return (
        _PydanticOutput(what, hint)
        if JsonTypeReader.PYDANTIC in reader
        else _HintOutput(what, hint)
    )


def output_of_schema(what: str, schema: Any) -> Output:
    """What makes results of data that a JSON Schema describes.

    Raises:
        UsageError: no schema that is understood here; see `RawSchema`.
    """
    from mcp_gen.server.functions.schema_validation import CompiledSchema

    return _SchemaOutput(what, CompiledSchema(schema, f"{what}: output schema", moves=True))
