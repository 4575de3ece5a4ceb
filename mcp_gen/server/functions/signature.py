"""Function parameters as a msgspec Struct: JSON Schema, decoder and call."""

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
from mcp_gen.server.functions.dependencies import (
    Depends,
    build_plan,
    context_for,
    context_kind,
    dependency_in,
)
from mcp_gen.server.functions.docstrings import parse_docstring
from mcp_gen.server.functions.function import NO_DEFAULT, FunctionInfo, Passed, inspect_function
from mcp_gen.values import pydantic_types
from mcp_gen.values.custom_types import convert, decoder
from mcp_gen.values.field_texts import text_in
from mcp_gen.values.json_schema import Member, json_schema, schema_of_parameters
from mcp_gen.values.json_types import (
    JsonTypeReader,
    NotJsonType,
    json_reader_for,
    metadata,
)
from mcp_gen.values.reading import read_value

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from mcp_gen.server.context.context import Context

__all__ = ["Parameter", "Signature", "json_schema"]


_ANY = JsonTypeReader.ANY


class Parameter(Struct, frozen=True):
    """One argument of a handler, supplied by the caller."""

    name: str
    hint: Any
    default: Any
    """Default value, or `Signature.REQUIRED`."""
    by_pydantic: bool = False
    """True if pydantic decodes it; msgspec decodes all others."""

    @property
    def required(self) -> bool:
        """True if the parameter has no default."""
        return self.default is NO_DEFAULT

    @property
    def description(self) -> str | None:
        """Description in the annotation: `Annotated[int, "how many"]`."""
        return text_in(self.hint)


class Signature:
    """Parameters and return type of a handler.

    The types are checked at once. Schemas and decoders are built at first use, because a server may
    have thousands of handlers.

    Args:
        function: The handler; see `inspect_function`.
        keywords: Accept a `**` parameter, which takes all arguments without a parameter.

    Raises:
        UsageError: The function is a generator, or a parameter has no type, has one that is not
            JSON-serializable, or cannot be passed by keyword.
    """

    REQUIRED = NO_DEFAULT
    """Value of `Parameter.default` for a parameter without default."""
    UNANNOTATED = NO_DEFAULT
    """Value of `returns` for a function without return annotation."""

    def __init__(self, function: Callable[..., Any], *, keywords: bool = False) -> None:
        found = inspect_function(function)
        # Not all of it: what a server keeps for each of its tools, garbage collections look at.
        self._definition = found.definition
        self.function: Callable[..., Any] = found.function
        self.name = found.name
        self.is_async = found.is_async
        if inspect.isgeneratorfunction(found.definition) or inspect.isasyncgenfunction(
            found.definition
        ):
            raise UsageError(f"{self.name} yields: a handler returns all it has, in a list")
        self.returns: Any = found.hints.get("return", NO_DEFAULT)
        """The return annotation, or `UNANNOTATED`."""
        self.parameters: list[Parameter] = []
        """Parameters supplied by the caller, in the order of the function."""
        self.keywords: Parameter | None = None
        """The `**` parameter; its type is that of each argument it takes."""
        self.refuses_unknown = False
        """True if arguments without a parameter are refused. To be set before anything is decoded.
        """
        self._takes_keywords = keywords
        self.has_extra_schema = False
        """True if a parameter has JSON Schema keywords of its author's own."""
        self.is_hooked = False
        """True if hooks of msgspec decode parts of the parameters."""
        self._reserved = frozenset[str]()
        """Names whose arguments the `**` parameter does not take; empty without one."""
        self._contexts: list[tuple[str, Any]] = []
        wanted: dict[str, Depends] = {}
        for parameter in found.parameters:
            self._add(parameter, found, wanted)
        self.plan = build_plan(self.name, wanted) if wanted else None
        """Plan of the function's dependencies; None if it has none."""

    @property
    def doc(self) -> str | None:
        """The docstring of the function."""
        return self._definition.__doc__

    def _add(self, parameter: Passed, found: FunctionInfo, wanted: dict[str, Depends]) -> None:
        name, default, passed = parameter.name, parameter.default, parameter.kind
        hints = found.hints
        if passed is inspect.Parameter.VAR_KEYWORD and self._takes_keywords:
            hint = hints.get(name, Any)
            reader = self.reader_of(name, hint)
            self.has_extra_schema |= reader.has_extra
            self.keywords = Parameter(name, hint, NO_DEFAULT, reader.by_pydantic)
            self._reserved = found.reserved
            return
        if passed in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise UsageError(f"{self.name}: *{name}: name each parameter instead")
        if passed is inspect.Parameter.POSITIONAL_ONLY:
            raise UsageError(f"{self.name}: {name} must be usable as a keyword")
        if name not in hints:
            raise UsageError(self._missing_annotation(name))
        hint = hints[name]
        depends = dependency_in(hint)
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
            if hasattr(hint, "__metadata__"):
                self._check_no_alias(name, hint)
            by_pydantic = False
            if reader is not _ANY:
                self.has_extra_schema |= reader.has_extra
                self.is_hooked |= reader.is_hooked
                by_pydantic = reader.by_pydantic
            self.parameters.append(Parameter(name, hint, default, by_pydantic))

    def _check_no_alias(self, name: str, hint: Any) -> None:
        for one in metadata(hint):
            alias = getattr(one, "validation_alias", None) or getattr(one, "alias", None)
            if alias is not None:
                raise UsageError(
                    f"{self.name}: {name}: alias={alias!r} is for fields of models: name the "
                    "parameter so, or transform the tool"
                )

    def _missing_annotation(self, name: str) -> str:
        if name in ("self", "cls"):
            return (
                f"{self.name}: a method has its {name} when its object is there: "
                f"offer the bound method, as in `server.add_tool(thing.{self.name})`"
            )
        if name in ("ctx", "context"):
            return f"{self.name}: write `{name}: Context`, to get the context of the request"
        return f"{self.name}: annotate {name}, so that callers see its type"

    def reader_of(self, what: str, hint: Any) -> JsonTypeReader:
        """Return the library that decodes and encodes a type of this function.

        Args:
            what: Name of the parameter or result, for the error message.
            hint: The annotation.

        Raises:
            UsageError: The type is not JSON-serializable.
        """
        try:
            return json_reader_for(hint)
        except NotJsonType as error:
            raise UsageError(f"{self.name}: {what}: {error}") from None

    # --- arguments of a call ---

    @cached_property
    def struct(self) -> type[Struct]:
        """Parameters as a Struct with the same names. Parameters of pydantic types are `Raw`."""
        fields: list[Any] = []
        for one in self.parameters:
            hint = Raw if one.by_pydantic else one.hint
            fields.append(
                (one.name, hint) if one.required else (one.name, hint, self.default_of(one))
            )
        if self.keywords is not None:
            fields.append((self.keywords.name, Any, msgspec.field(default_factory=dict)))
        return msgspec.defstruct(
            f"{self.name}_arguments",
            fields,
            kw_only=True,
            forbid_unknown_fields=self.refuses_unknown and self.keywords is None,
        )

    def default_of(self, parameter: Parameter) -> Any:
        """Return the default of an optional parameter, as the default of a Struct field."""
        value = parameter.default
        if value.__class__ in (list, dict, set):
            # Copy mutable defaults for each call.
            return msgspec.field(default_factory=partial(copy.copy, value))
        return value

    @cached_property
    def adapters(self) -> dict[str, TypeAdapter[Any]]:
        """Pydantic adapters by parameter name."""
        return {
            one.name: pydantic_types.adapter(one.hint, f"{self.name}: {one.name}")
            for one in self.parameters
            if one.by_pydantic
        }

    @cached_property
    def decode(self) -> Callable[[bytes | Raw], Any]:
        """Decoder from JSON to the Struct.

        Raises:
            msgspec.ValidationError: The arguments do not fit; the message ends in the path.
            msgspec.DecodeError: The arguments are not valid JSON.
        """
        decode = decoder(self.struct, hooked=self.is_hooked)
        if self.keywords is not None:
            known = self._with_adapters
            return lambda data: self._with_keywords(known(decode(data)), msgspec.json.decode(data))
        if not self.adapters:
            return decode
        return lambda data: self._with_adapters(decode(data))

    def convert(self, values: Mapping[str, Any], *, strict: bool = True) -> Any:
        """Convert decoded JSON to the Struct.

        Args:
            values: Arguments by name.
            strict: False: strings may be converted to numbers, booleans or null, as for prompt
                arguments and template variables.

        Raises:
            msgspec.ValidationError: The arguments do not fit; the message ends in the path.
        """
        made = self._converted(values, strict=strict)
        return made if self.keywords is None else self._with_keywords(made, values, strict=strict)

    def _converted(self, values: Mapping[str, Any], *, strict: bool) -> Any:
        if not self.adapters:
            return convert(values, self.struct, strict=strict)
        known = self.adapters.keys() & values.keys()
        raw = {name: Raw(msgspec.json.encode(values[name])) for name in known}
        made = convert({**values, **raw}, self.struct, strict=strict)
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

    def _with_keywords(self, made: Any, values: Mapping[str, Any], *, strict: bool = True) -> Any:
        """Return the arguments with those that the `**` parameter takes."""
        keywords = self.keywords
        assert keywords is not None
        known = {one.name for one in self.parameters}
        what = f"{self.name}: {keywords.name}"
        named: dict[str, Any] = {}
        for name, value in values.items():
            if name in known:
                continue
            if name in self._reserved:
                # A context, a dependency, or what a partial has bound.
                raise msgspec.ValidationError(f"unknown argument {name!r}")
            named[name] = read_value(value, keywords.hint, what, strict=strict, at=name)
        setattr(made, keywords.name, named)
        return made

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the parameters, always of an object.

        Descriptions come from the annotations, else from the docstring.
        """
        texts = parse_docstring(self.doc).parameters if self.parameters else {}
        return schema_of_parameters(
            [
                Member(
                    one.name,
                    one.hint,
                    one.default,
                    one.description or texts.get(one.name),
                    self.adapters.get(one.name),
                )
                for one in self.parameters
            ],
            closed=self.refuses_unknown,
            others=self._member_of_keywords(),
        )

    def _member_of_keywords(self) -> Member | None:
        one = self.keywords
        if one is None:
            return None
        what = f"{self.name}: {one.name}"
        adapter = pydantic_types.adapter(one.hint, what) if one.by_pydantic else None
        return Member(one.name, one.hint, NO_DEFAULT, None, adapter)

    @property
    def extra_schema(self) -> dict[str, Any] | None:
        """Input schema if parts of it were written by its author, and all types are defined."""
        if not self.has_extra_schema:
            return None
        try:
            return self.input_schema
        except Exception:
            # A type may be defined further down: what is wrong with it is seen at first use.
            self.__dict__.pop("adapters", None)
            return None

    # --- calling ---

    @cached_property
    def invoke(self) -> Callable[[Any, Context], Any]:
        """Direct call of a function without dependencies: `invoke(values, ctx)`.

        The result of an async function has to be awaited.
        """
        given = [f"{one.name}=values.{one.name}" for one in self.parameters]
        if self.keywords is not None:
            given.append(f"**values.{self.keywords.name}")
        given += [
            f"{name}={'ctx.blocking' if kind is BlockingContext else 'ctx'}"
            for name, kind in self._contexts
        ]
        # Compiled once: unpacking the Struct in each call takes as long as the rest of it.
        made: Callable[[Any, Context], Any] = eval(
            f"lambda values, ctx: function({', '.join(given)})", {"function": self.function}
        )
        return made

    def arguments(self, values: Struct, ctx: Context) -> dict[str, Any]:
        """Return the keyword arguments of a call, without dependencies."""
        named = msgspec.structs.asdict(values)
        if self.keywords is not None:
            named |= named.pop(self.keywords.name)
        for name, kind in self._contexts:
            named[name] = context_for(kind, ctx)
        return named

    async def call(self, values: Struct, ctx: Context, *, threads: bool = True) -> Any:
        """Call the function with its dependencies.

        Args:
            values: The decoded arguments.
            ctx: Context of the request.
            threads: Run a function that is not async in a thread, where it may block. False: run it
                on the event loop, where it must not block.

        Returns:
            The result, awaited if necessary.
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
