"""A function's parameters as a msgspec struct: its JSON Schema, and decoding straight into it."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context import Context

__all__ = ["Parameter", "Signature", "json_schema"]

_NO_DEFAULT = inspect.Parameter.empty


class Parameter(Struct, frozen=True):
    """What a caller gives: its name, its annotation, its default or `inspect.Parameter.empty`."""

    name: str
    hint: Any
    default: Any
    by_pydantic: bool = False
    """Whether pydantic reads it; all else is msgspec's."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is _NO_DEFAULT


class Signature:
    """What a handler takes and returns. Types are only looked at when first needed."""

    UNANNOTATED = _NO_DEFAULT
    """What `returns` is where the function does not say."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.is_async = inspect.iscoroutinefunction(function)
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise UsageError(f"{self.name}: an annotation names nothing known: {error}") from None
        self.returns: Any = hints.pop("return", _NO_DEFAULT)
        self.context_name = ""
        self.parameters: list[Parameter] = []
        """What callers give, in the order of the function."""
        for parameter in inspect.signature(function).parameters.values():
            self._add(parameter, hints)

    def _add(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"{self.name}: *{parameter.name}: name each parameter instead")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(f"{self.name}: {parameter.name} must be usable as a keyword")
        if parameter.name not in hints:
            raise UsageError(
                f"{self.name}: annotate {parameter.name}, so that callers see its type"
            )
        if hints[parameter.name] is Context:
            self.context_name = parameter.name
        else:
            hint, default = hints[parameter.name], parameter.default
            self.parameters.append(Parameter(parameter.name, hint, default))

    @property
    def doc(self) -> str | None:
        """The function's docstring."""
        return self.function.__doc__

    @cached_property
    def struct(self) -> type[Struct]:
        """The parameters as a struct, names as they are."""
        fields: list[Any] = [
            (one.name, one.hint) if one.required else (one.name, one.hint, _default(one.default))
            for one in self.parameters
        ]
        return msgspec.defstruct(f"{self.name}_arguments", fields, kw_only=True)

    @cached_property
    def decode(self) -> Callable[[bytes | msgspec.Raw], Any]:
        """From JSON to the struct."""
        return msgspec.json.Decoder(self.struct).decode

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters: always an object."""
        schema = json_schema(self.struct)
        schema.pop("title", None)
        return schema

    def convert(self, values: Mapping[str, Any], *, strict: bool = True) -> Any:
        """From JSON that is decoded already to the struct.

        Unless `strict`, a text may stand for a number, a boolean or null.

        Raises:
            msgspec.ValidationError: not what the function takes; the message ends in the path.
        """
        return msgspec.convert(values, self.struct, strict=strict, str_keys=True)

    async def call(self, values: Struct, ctx: Context) -> Any:
        """Call the function; one that is not async runs in a thread, so that it may block."""
        named = self.arguments(values, ctx)
        if self.is_async:
            return await self.function(**named)
        return await asyncio.to_thread(self.function, **named)

    def arguments(self, values: Struct, ctx: Context) -> dict[str, Any]:
        """The keyword arguments of a call."""
        named = msgspec.structs.asdict(values)
        if self.context_name:
            named[self.context_name] = ctx
        return named


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type; definitions it shares stand under `$defs`.

    Raises:
        UsageError: a type that JSON cannot carry.
    """
    try:
        (schema,), definitions = msgspec.json.schema_components(
            (kind,), ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        raise UsageError(f"no JSON Schema for {kind!r}: {error}") from None
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        # The root itself, not a reference to it: clients look for `type` there.
        schema = definitions.pop(name) if not _refers(definitions, name) else definitions[name]
    return {**schema, "$defs": definitions} if definitions else dict(schema)


def _refers(definitions: dict[str, Any], name: str) -> bool:
    return f'"#/$defs/{name}"'.encode() in msgspec.json.encode(definitions)


def _default(value: Any) -> Any:
    if value.__class__ in (list, dict, set):
        # A default that a call could change is copied for each.
        return msgspec.field(default_factory=partial(copy.copy, value))
    return value
