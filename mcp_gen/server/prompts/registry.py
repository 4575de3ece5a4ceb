"""Prompts: messages made from arguments, for users to pick."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from mcp_gen.core.errors import InvalidParams, UsageError
from mcp_gen.server.context.blocking import call_in_thread
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.functions.text_arguments import TextReader, missing_arguments
from mcp_gen.server.functions.text_types import choices
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.prompts.messages import prompt_result
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.functions.text_types import Choices
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_wire import common

__all__ = ["FunctionPrompt", "HandledPrompt", "PromptHandler", "PromptRegistry"]

F = TypeVar("F", bound=Callable[..., Any])
PromptHandler: TypeAlias = "Callable[[Context, dict[str, str]], Any]"
"""`handler(ctx, arguments)` gives what a prompt may return; it may be async."""


class _Offered(Protocol):
    """A prompt that is offered."""

    @property
    def name(self) -> str: ...

    @property
    def choices(self) -> Choices:
        """The values that each argument can have, by its name; none where that is open."""
        ...

    def describe(self) -> latest.Prompt:
        """What clients see."""
        ...

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        """What the function behind it returns.

        Raises:
            InvalidParams: an argument is missing, or none of its type.
        """
        ...


class FunctionPrompt:
    """One prompt made from a function."""

    def __init__(self, function: Callable[..., Any], name: str | None, **described: Any) -> None:
        self._function = function
        self._signature = Signature(function)
        self.name = self._signature.name if name is None else name
        self._described = described
        self._reader = TextReader(self._signature)

    def describe(self) -> latest.Prompt:
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
        return {one.name: choices(one.hint) for one in self._signature.parameters}

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        values = self._reader.read(arguments, self.name)
        return await self._signature.call(values, ctx)


class HandledPrompt:
    """One prompt as it is described, and what fills it in."""

    def __init__(self, prompt: latest.Prompt, handler: PromptHandler) -> None:
        self.name = prompt.name
        self._prompt = prompt
        self._handler = handler
        self._is_async = inspect.iscoroutinefunction(handler)
        self._names = [one.name for one in prompt.arguments or ()]
        self._required = [one.name for one in prompt.arguments or () if one.required]

    def describe(self) -> latest.Prompt:
        return self._prompt

    @property
    def choices(self) -> Choices:
        return {one.name: () for one in self._prompt.arguments or ()}

    async def fill_in(self, ctx: Context, arguments: dict[str, str]) -> Any:
        missing = [name for name in self._required if name not in arguments]
        if missing:
            raise missing_arguments(self.name, missing)
        given = {name: arguments[name] for name in self._names if name in arguments}
        if self._is_async:
            return await self._handler(ctx, given)
        return await call_in_thread(ctx, partial(self._handler, ctx, given), {})


class PromptRegistry:
    """The prompts of a server: listed, found and filled in."""

    def __init__(self, changed: Callable[[], None], hints: Hints) -> None:
        self.listing: Listing[_Offered] = Listing(
            "prompt",
            result="ListPromptsResult",
            field="prompts",
            describe=lambda offered: offered.describe(),
            changed=changed,
            hints=hints,
        )
        self.completable: Callable[[Choices], None] | None = None
        """Called with the values that each argument of a new prompt can have."""

    def __len__(self) -> int:
        return len(self.listing.items)

    def __iter__(self) -> Iterator[latest.Prompt]:
        return (offered.describe() for offered in self.listing.items)

    def add(self, offered: _Offered) -> None:
        """Add a prompt.

        Raises:
            UsageError: there is one of that name, or it has none.
        """
        if not offered.name:
            raise UsageError("a prompt needs a name that is not empty")
        self.listing.items.add(offered.name, offered)
        if self.completable is not None:
            self.completable(offered.choices)

    async def get(
        self, ctx: Context, params: common.GetPromptRequestParams
    ) -> common.GetPromptResult | common.InputRequiredResult:
        """Fill in the prompt that is named.

        Raises:
            InvalidParams: no such prompt, or arguments that it does not take.
        """
        offered = self.listing.find(ctx, params.name)
        if offered is None:
            raise InvalidParams(f"unknown prompt: {params.name}")
        made = ctx.allow(await offered.fill_in(ctx, params.arguments or {}))
        return prompt_result(made, offered.describe().description)
