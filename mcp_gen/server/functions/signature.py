"""A function's parameters as a msgspec struct: its JSON Schema, and decoding straight into it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.blocking import BlockingContext, call_in_thread
from mcp_gen.server.functions import pydantic_types
from mcp_gen.server.functions.dependencies import (
    Depends,
    context_for,
    context_kind,
    depends_of,
    plan_of,
)
from mcp_gen.server.functions.docstrings import parse_docstring
from mcp_gen.server.functions.function import NO_DEFAULT, inspect_function
from mcp_gen.server.functions.json_schema import Member, json_schema, of_parameters
from mcp_gen.server.functions.json_types import (
    JsonTypeReader,
    NotJsonType,
    json_reader_for,
    metadata,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from mcp_gen.server.context.context import Context

__all__ = ["Parameter", "Signature", "json_schema"]


class Parameter(Struct, frozen=True):
    """What a caller gives: its name, its annotation, its default or `Signature.REQUIRED`."""

    name: str
    hint: Any
    default: Any
    by_pydantic: bool = False
    """Whether pydantic reads it; all else is msgspec's."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is NO_DEFAULT

    @property
    def description(self) -> str | None:
        """A text in the annotation: `Annotated[int, "how many"]`."""
        return next((one for one in metadata(self.hint) if isinstance(one, str)), None)


class Signature:
    """What a handler takes and returns.

    What is made of its types is made when first needed: a server may have thousands of handlers.
    That there can be made something of them is checked at once.

    Raises:
        UsageError: a parameter without a type, or with one that JSON cannot carry.
    """

    REQUIRED = NO_DEFAULT
    """What the `default` of a parameter is where it has none."""
    UNANNOTATED = NO_DEFAULT
    """What `returns` is where the function does not say."""

    def __init__(self, function: Callable[..., Any]) -> None:
        found = inspect_function(function)
        self._callee = found
        self.function: Callable[..., Any] = found.function
        self.name = found.name
        self.is_async = found.is_async
        if inspect.isgeneratorfunction(found.definition) or inspect.isasyncgenfunction(
            found.definition
        ):
            raise UsageError(f"{self.name} yields: a handler returns all it has, in a list")
        self.returns: Any = found.hints.get("return", NO_DEFAULT)
        """The annotation of the result; `UNANNOTATED` without one."""
        self.parameters: list[Parameter] = []
        """What callers give, in the order of the function."""
        self._contexts: list[tuple[str, Any]] = []
        wanted: dict[str, Depends] = {}
        for parameter in found.parameters:
            self._add(parameter, found.hints, wanted)
        self.plan = plan_of(self.name, wanted) if wanted else None
        """The dependencies that the function asks for."""

    @property
    def doc(self) -> str | None:
        """The function's docstring."""
        return self._callee.doc

    def _add(
        self, parameter: inspect.Parameter, hints: Mapping[str, Any], wanted: dict[str, Depends]
    ) -> None:
        name, default = parameter.name, parameter.default
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"{self.name}: *{name}: name each parameter instead")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(f"{self.name}: {name} must be usable as a keyword")
        if name not in hints:
            raise UsageError(self._untyped(name))
        hint = hints[name]
        depends = depends_of(hint)
        kind = context_kind(hint)
        if depends is not None:
            wanted[name] = depends
        elif kind is not None:
            if kind is BlockingContext and self.is_async:
                raise UsageError(f"{self.name}: {name}: an async function takes a Context")
            self._contexts.append((name, kind))
        elif isinstance(default, Depends):
            raise UsageError(f"{self.name}: {name}: write `Annotated[..., Depends(...)]` instead")
        else:
            info = pydantic_types.field_info(default)
            if info is not None:
                hint, default = Annotated[hint, info], pydantic_types.default_of(info, NO_DEFAULT)
            reader = self.reader_of(name, hint)
            self.parameters.append(
                Parameter(name, hint, default, JsonTypeReader.PYDANTIC in reader)
            )

    def _untyped(self, name: str) -> str:
        if name in ("self", "cls"):
            return (
                f"{self.name}: a method has its {name} when its object is there: "
                f"offer the bound method, as in `server.add_tool(thing.{self.name})`"
            )
        return f"{self.name}: annotate {name}, so that callers see its type"

    def reader_of(self, what: str, hint: Any) -> JsonTypeReader:
        """Who can read, and write, what the function has under a type.

        Raises:
            UsageError: nobody, as JSON.
        """
        try:
            return json_reader_for(hint)
        except NotJsonType as error:
            raise UsageError(f"{self.name}: {what}: {error}") from None

    # --- what callers give ---

    @cached_property
    def struct(self) -> type[Struct]:
        """The parameters as a struct, names as they are. What pydantic reads is raw in it."""
        fields: list[Any] = []
        for one in self.parameters:
            hint = Raw if one.by_pydantic else one.hint
            fields.append(
                (one.name, hint) if one.required else (one.name, hint, self.default_of(one))
            )
        # A function that takes nothing says so in its schema, and so it is held to that.
        return msgspec.defstruct(
            f"{self.name}_arguments", fields, kw_only=True, forbid_unknown_fields=not fields
        )

    def default_of(self, parameter: Parameter) -> Any:
        """The default of a parameter that has one, as that of a struct's field."""
        value = parameter.default
        if value.__class__ in (list, dict, set):
            # A default that a call could change is copied for each.
            return msgspec.field(default_factory=partial(copy.copy, value))
        return value

    @cached_property
    def adapters(self) -> dict[str, TypeAdapter[Any]]:
        """What reads the parameters that are pydantic's."""
        return {
            one.name: pydantic_types.adapter(one.hint, f"{self.name}: {one.name}")
            for one in self.parameters
            if one.by_pydantic
        }

    @cached_property
    def decode(self) -> Callable[[bytes | Raw], Any]:
        """From JSON to the struct.

        Raises:
            msgspec.ValidationError: not what the function takes; the message ends in the path.
            msgspec.DecodeError: not JSON.
        """
        decode = msgspec.json.Decoder(self.struct).decode
        if not self.adapters:
            return decode
        return lambda data: self._with_adapters(decode(data))

    def convert(self, values: Mapping[str, Any], *, strict: bool = True) -> Any:
        """From JSON that is decoded already to the struct.

        Unless `strict`, a text may stand for a number, a boolean or null: so do the arguments of
        prompts and the variables of templates.

        Raises:
            msgspec.ValidationError: not what the function takes; the message ends in the path.
        """
        if not self.adapters:
            return msgspec.convert(values, self.struct, strict=strict, str_keys=True)
        known = self.adapters.keys() & values.keys()
        raw = {name: Raw(msgspec.json.encode(values[name])) for name in known}
        made = msgspec.convert({**values, **raw}, self.struct, strict=strict, str_keys=True)
        return self._with_adapters(made, None if strict else values)

    def _with_adapters(self, made: Any, strings: Mapping[str, Any] | None = None) -> Any:
        for name, adapter in self.adapters.items():
            raw = getattr(made, name)
            if raw.__class__ is Raw:
                given = raw if strings is None else strings[name]
                value = pydantic_types.read(
                    adapter, given, f"$.{name}", strings=strings is not None
                )
                setattr(made, name, value)
        return made

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters: always an object.

        Descriptions are those in the annotations, or else in the docstring.
        """
        texts = parse_docstring(self.doc).parameters if self.parameters else {}
        return of_parameters(
            [
                Member(
                    one.name,
                    one.hint,
                    one.default,
                    one.description or texts.get(one.name),
                    self.adapters.get(one.name),
                )
                for one in self.parameters
            ]
        )

    # --- calling ---

    @cached_property
    def invoke(self) -> Callable[[Any, Context], Any]:
        """Calls the function, which asks for no dependencies: `invoke(values, ctx)`.

        What an async function returns has to be awaited.
        """
        given = [f"{one.name}=values.{one.name}" for one in self.parameters]
        given += [
            f"{name}={'ctx.blocking' if kind is BlockingContext else 'ctx'}"
            for name, kind in self._contexts
        ]
        # Written out once: taking the struct apart anew for each call takes as long as the rest.
        made: Callable[[Any, Context], Any] = eval(
            f"lambda values, ctx: function({', '.join(given)})", {"function": self.function}
        )
        return made

    def arguments(self, values: Struct, ctx: Context) -> dict[str, Any]:
        """The keyword arguments of a call, without dependencies."""
        named = msgspec.structs.asdict(values)
        for name, kind in self._contexts:
            named[name] = context_for(kind, ctx)
        return named

    async def call(self, values: Struct, ctx: Context, *, threads: bool = True) -> Any:
        """Call the function, with the dependencies it asks for.

        One that is not async runs in a thread, so that it may block; without `threads` it must not.
        """
        named = self.arguments(values, ctx)
        on_loop = self.is_async or not threads
        if self.plan is not None:
            return await self.plan.run(ctx, self.function, named, on_loop=on_loop, threads=threads)
        if self.is_async:
            return await self.function(**named)
        if on_loop:
            made = self.function(**named)
        else:
            made = await call_in_thread(ctx, self.function, named)
        return await made if inspect.iscoroutine(made) else made
