"""Tools from functions: input schema from the annotations, arguments decoded once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import check_type
from mcp_gen.server.context.options import UnknownArguments, check_unknown_arguments
from mcp_gen.server.functions.docstrings import parse_docstring
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.listing.icons import check_icons
from mcp_gen.server.tools.output import output_for_schema, output_for_type
from mcp_gen.server.tools.return_annotations import is_structured
from mcp_gen.server.tools.tool import ServerTool, TaskSupport, plain_arguments
from mcp_gen.values.json_types import JsonTypeReader
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.functions.schema_validation import CompiledSchema

__all__ = ["FunctionTool"]


class FunctionTool(ServerTool):
    """Tool that calls a function.

    Args:
        function: The function; see `Signature`.
        name: Name of the tool; by default the function's.
        title: Display name.
        description: Description; by default the docstring without its parameter section.
        annotations: Behaviour hints for clients.
        icons: Icons with `https:` or `data:` URIs.
        meta: `_meta` of the tool.
        input_schema: JSON Schema that replaces the one from the annotations. Arguments are
            validated against it, then decoded by the annotations.
        output_schema: JSON Schema that replaces the one from the return annotation. Results are
            validated against it.
        timeout_s: Seconds after which a call fails; None: no limit.
        run_in_thread: Run a function that is not async in a thread. None: the server's default.
        task: Task support; None: the tool never runs as a task.
        immediate_message: First status message of a task.
        retry: True if a task whose worker was lost may be run again.
        unknown_arguments: `refuse` arguments that the function does not have, or `ignore` them;
            None: the default of the server. With `input_schema` that schema decides.

    Raises:
        UsageError: The name, a schema, an icon, the signature or a combination of options is not
            valid.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        task: TaskSupport | None = None,
        immediate_message: str | None = None,
        retry: bool = False,
        unknown_arguments: UnknownArguments | None = None,
    ) -> None:
        self.signature = Signature(function, keywords=True)
        name = self.signature.name if name is None else name
        super().__init__(
            name,
            timeout_s=timeout_s,
            run_in_thread=run_in_thread,
            task=task,
            immediate_message=immediate_message,
            retry=retry,
        )
        what = f"tool {name}"
        if unknown_arguments is not None:
            check_unknown_arguments(what, unknown_arguments)
        if unknown_arguments is not None and input_schema is not None:
            raise UsageError(
                f"tool {name}: unknown_arguments=: input_schema= says which arguments there are: "
                "write `additionalProperties` into it"
            )
        # A server may say otherwise until a call or a list needs the schema.
        self._has_default = unknown_arguments is None and input_schema is None
        self.signature.refuses_unknown = input_schema is None and unknown_arguments != "ignore"
        if icons is not None:
            check_icons(what, icons)
        if meta is not None:
            check_type(f"{what}: meta", meta, dict, 'meta={"example.com/key": 1}')
            check_plain(meta, what, "$._meta")
        if annotations is not None:
            example = "annotations=ToolAnnotations(read_only_hint=True)"
            check_type(f"{what}: annotations", annotations, Wire, example)
        if run_in_thread and self.signature.is_async:
            raise UsageError(f"tool {name}: an async function runs on the loop, not in a thread")
        self._description = description
        self._described: dict[str, Any] = {
            "title": title,
            "annotations": annotations,
            "icons": icons,
            "meta": meta,
        }
        self._compiled_schema = None if input_schema is None else _input_schema(name, input_schema)
        has_extra = self._compiled_schema is None and self.signature.has_extra_schema
        self._checks_arguments = has_extra or self._compiled_schema is not None
        if has_extra:
            # At once, for the errors; unless a type is defined further down.
            with suppress(NameError):
                self._checks_arguments = self._extra_keywords is not None
        if output_schema is not None:
            self.output = output_for_schema(name, output_schema)
        else:
            hint = is_structured(self.signature.returns)
            reader = self.signature.reader_of("its result", hint) if hint else JsonTypeReader.ANY
            self.output = output_for_type(name, hint, reader)
        self._calls_directly = self.signature.is_async and self.signature.plan is None

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of a server; see `ServerTool.use_defaults`."""
        if self._has_default:
            self._has_default = False
            self.signature.refuses_unknown = unknown_arguments == "refuse"

    @property
    def by_annotations(self) -> bool:
        """Return True if msgspec can derive the input schema from the annotations alone."""
        return not self._checks_arguments and not any(
            one.by_pydantic for one in self.signature.parameters
        )

    def marked_schema(self) -> Mapping[str, Any] | None:
        """Return the input schema if its author has written any part of it; None if not."""
        if self._compiled_schema is not None:
            return self._compiled_schema.schema
        return self.signature.extra_schema

    def _describe(self) -> latest.Tool:
        signature = self.signature
        return latest.Tool(
            name=self.name,
            description=self._description or parse_docstring(signature.doc).text,
            input_schema=self._compiled_schema.schema
            if self._compiled_schema
            else signature.input_schema,
            output_schema=self.output.schema(),
            **self._described,
        )

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """Decode the arguments of a call for the function; see `ServerTool.decode`."""
        if self._checks_arguments:
            return self._checked(arguments)
        if isinstance(arguments, Raw):
            return self.signature.decode(arguments)
        return self.signature.convert(arguments or {})

    def _checked(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """Decode arguments that also have to match a schema: one that was given, or of keywords."""
        plain = plain_arguments(arguments)
        if self._compiled_schema is not None:
            self._compiled_schema.check(plain)
        if isinstance(arguments, Raw):
            made = self.signature.decode(arguments)
        else:
            made = self.signature.convert(arguments or {})
        if self._compiled_schema is None and self._extra_keywords is not None:
            self._extra_keywords.check(plain)
        return made

    @cached_property
    def _extra_keywords(self) -> CompiledSchema | None:
        """Schema of what authors have added to the types of parameters; None if nothing."""
        # Loaded with the first tool that has such keywords.
        from mcp_gen.server.functions.extra_keywords import extra_of_parameters

        hints = {one.name: one.hint for one in self.signature.parameters}
        return extra_of_parameters(hints, f"tool {self.name}")

    def call(self, ctx: Context, arguments: Any) -> Awaitable[Any]:
        """Call the function. One that is not async runs in a thread, where it may block."""
        if self._calls_directly:
            called: Awaitable[Any] = self.signature.invoke(arguments, ctx)
            return called if self.timeout_s is None else self._within_timeout(called)
        running = self.signature.call(arguments, ctx, threads=self._in_thread(ctx))
        return running if self.timeout_s is None else self._within_timeout(running)


def _input_schema(name: str, schema: dict[str, Any]) -> CompiledSchema:
    # Imported here: few tools have their own input schema.
    from mcp_gen.server.tools.schema_tool import input_schema_of

    return input_schema_of(name, schema)
