"""Registry of the prompts of a server, and prompts from functions and descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import InvalidParams, UsageError
from mcp_gen.server.context.blocking import call_in_thread
from mcp_gen.server.context.context import runtime_of
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.functions.text_arguments import TextReader, check_known, missing_arguments
from mcp_gen.server.functions.text_types import choices
from mcp_gen.server.listing.icons import check_icons
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.listing.scopes import check_scopes, require_scopes
from mcp_gen.server.listing.tags import check_tags
from mcp_gen.server.prompts.messages import prompt_result
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.options import UnknownArguments
    from mcp_gen.server.functions.text_types import Choices
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.listing.tags import Visibility
    from mcp_wire import common

__all__ = ["FunctionPrompt", "HandledPrompt", "PromptHandler", "PromptRegistry"]

F = TypeVar("F", bound=Callable[..., Any])
PromptHandler: TypeAlias = "Callable[[Context, dict[str, str]], Any]"
"""`handler(ctx, arguments)`, async or not; it returns what a prompt function may return."""


class _RegisteredPrompt(Protocol):
    """Prompt of the registry."""

    @property
    def name(self) -> str: ...

    @property
    def scopes(self) -> frozenset[str]:
        """Scopes that the token of a request needs."""
        ...

    @property
    def choices(self) -> Choices:
        """Possible values by argument name; empty if any value is possible."""
        ...

    def describe(self) -> latest.Prompt:
        """Return the description that clients see."""
        ...

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of the server that the prompt is added to."""
        ...

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        """Call the prompt's function and return its return value.

        Raises:
            InvalidParams: An argument is missing, or does not fit its type.
        """
        ...


class FunctionPrompt:
    """Prompt that calls a function.

    Args:
        function: The function; its parameters are the arguments of the prompt.
        name: Name of the prompt; None: the function's.
        unknown_arguments: `refuse` or `ignore` arguments without a parameter; None: the default of
            the server.
        **described: Other fields of the description.

    Raises:
        UsageError: A parameter has no type, or one that cannot be decoded from text.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None,
        unknown_arguments: UnknownArguments | None = None,
        **described: Any,
    ) -> None:
        self._function = function
        self._signature = Signature(function, keywords=True)
        self._unknown_arguments = unknown_arguments
        self.name = self._signature.name if name is None else name
        check_plain(described.get("meta"), f"prompt {self.name}", "$._meta")
        check_icons(f"prompt {self.name}", described.get("icons"))
        self.tags = check_tags(described.pop("tags", None), f"prompt {self.name}: tags")
        self.scopes = check_scopes(described.pop("scopes", None), f"prompt {self.name}: scopes")
        self._described = described
        self._reader = TextReader(self._signature)

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of a server."""
        self._signature.refuses_unknown = (self._unknown_arguments or unknown_arguments) == "refuse"

    def describe(self) -> latest.Prompt:
        """Return the description that clients see."""
        return self._prompt

    @cached_property
    def _prompt(self) -> latest.Prompt:
        required = self._reader.required
        properties: dict[str, Any] = self._signature.input_schema.get("properties", {})
        arguments = [
            latest.PromptArgument(
                name=name,
                title=schema.get("title"),
                description=schema.get("description"),
                required=True if name in required else None,
            )
            for name, schema in properties.items()
        ]
        return latest.Prompt(name=self.name, arguments=arguments or None, **self._described)

    @property
    def choices(self) -> Choices:
        """Possible values by argument name; empty if any value is possible."""
        return {one.name: choices(one.hint) for one in self._signature.parameters}

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        """Call the function with the decoded arguments.

        Raises:
            InvalidParams: An argument is missing, or does not fit its type.
        """
        most = runtime_of(ctx).kernel.limits.peer.max_values
        values = self._reader.read(arguments, self.name, most)
        return await self._signature.call(values, ctx)


class HandledPrompt:
    """Prompt with a user-written description and a handler.

    Args:
        prompt: The description.
        handler: Receives the context and the declared arguments.
        unknown_arguments: `refuse` or `ignore` arguments that are not declared; None: the default
            of the server.
        scopes: Scopes that the token of a request needs.
    """

    def __init__(
        self,
        prompt: latest.Prompt,
        handler: PromptHandler,
        unknown_arguments: UnknownArguments | None = None,
        scopes: Collection[str] = (),
    ) -> None:
        self._unknown_arguments = unknown_arguments
        self.scopes = check_scopes(scopes, f"prompt {prompt.name}: scopes")
        check_plain(prompt.meta, f"prompt {prompt.name}", "$._meta")
        check_icons(f"prompt {prompt.name}", prompt.icons)
        self.name = prompt.name
        self._prompt = prompt
        self._handler = handler
        self._is_async = inspect.iscoroutinefunction(handler)
        self._names = [one.name for one in prompt.arguments or ()]
        self._required = [one.name for one in prompt.arguments or () if one.required]

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of a server."""
        self._unknown_arguments = self._unknown_arguments or unknown_arguments

    def describe(self) -> latest.Prompt:
        """Return the description that clients see."""
        return self._prompt

    @property
    def choices(self) -> Choices:
        """Empty values by argument name: any value is possible."""
        return {one.name: () for one in self._prompt.arguments or ()}

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        """Call the handler with the declared arguments.

        Raises:
            InvalidParams: A required argument is missing, or one is not declared.
        """
        if self._unknown_arguments != "ignore":
            check_known(self.name, arguments, self._names)
        missing = [name for name in self._required if name not in arguments]
        if missing:
            raise missing_arguments(self.name, missing)
        given = {name: arguments[name] for name in self._names if name in arguments}
        if self._is_async:
            return await self._handler(ctx, given)
        return await call_in_thread(ctx, partial(self._handler, ctx, given), {})


class PromptRegistry:
    """Registry of a server's prompts, in insertion order. Supports `len` and iteration.

    Args:
        changed: Called after each change of the list.
        hints: Cache hints of the server.
        visibility: Tags whose items clients see; None: all.
    """

    def __init__(
        self, changed: Callable[[], None], hints: Hints, visibility: Visibility | None = None
    ) -> None:
        self.listing: Listing[_RegisteredPrompt] = Listing(
            "prompt",
            result="ListPromptsResult",
            field="prompts",
            describe=lambda prompt: prompt.describe(),
            changed=changed,
            hints=hints,
            visibility=visibility,
        )
        self.completable: Callable[[Choices], None] | None = None
        """Called with the possible values of the arguments of each new prompt."""
        self.unknown_arguments: UnknownArguments = "refuse"
        """Default of the prompts: what is done with arguments that they do not have."""

    def __len__(self) -> int:
        return len(self.listing.items)

    def __iter__(self) -> Iterator[latest.Prompt]:
        return (prompt.describe() for prompt in self.listing.items)

    def add(self, prompt: _RegisteredPrompt) -> None:
        """Add a prompt.

        Raises:
            UsageError: The name is taken or empty.
        """
        if not prompt.name:
            raise UsageError("a prompt needs a name that is not empty")
        prompt.use_defaults(unknown_arguments=self.unknown_arguments)
        self.listing.items.add(prompt.name, prompt)
        if self.completable is not None:
            self.completable(prompt.choices)

    async def get(
        self, ctx: Context, params: common.GetPromptRequestParams
    ) -> common.GetPromptResult | common.InputRequiredResult:
        """Return the messages of the prompt that a `prompts/get` request names.

        Raises:
            InvalidParams: The prompt is unknown, or its arguments do not fit.
            InsufficientScope: The token of the request lacks scopes of the prompt.
        """
        prompt = self.listing.find(ctx, params.name)
        if prompt is None:
            raise InvalidParams(f"unknown prompt: {params.name}")
        if prompt.scopes:
            require_scopes(ctx, prompt.scopes)
        made = ctx.allow(await prompt.fill_in(ctx, params.arguments or {}))
        return prompt_result(made, prompt.describe().description)
