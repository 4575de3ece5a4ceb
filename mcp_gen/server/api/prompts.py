"""Methods that register and remove prompts and completions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar, overload

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import (
    check_callable,
    check_options,
    check_type,
    explains_calls,
    name_of,
    with_name,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.options import check_unknown_arguments
from mcp_gen.server.prompts.registry import FunctionPrompt, HandledPrompt
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.options import UnknownArguments
    from mcp_gen.server.prompts.completion import Completions
    from mcp_gen.server.prompts.registry import PromptHandler, PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_wire import common

__all__ = ["CompletionsApi", "PromptsApi"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = frozenset({"name", "title", "description", "icons", "meta", "tags", "scopes"})


class PromptsApi:
    """Methods that register and remove prompts."""

    prompts: PromptRegistry

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> Callable[[F], F]: ...

    @overload
    def prompt(
        self,
        name: str,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **described: Any) -> Any:
        """Register a function as a prompt; returns the function unchanged.

            @server.prompt(title="Review")
            def review(code: str, depth: int = 1) -> str: ...

        The parameters are the arguments of the prompt. Clients send texts, which are decoded into
        the types of the parameters: numbers, bool, dates, Enum and Literal as written; dataclasses,
        lists and the like as JSON. A parameter with a default is optional. One annotated `Context`
        receives the context of the request and is no argument.

        The function returns a text, a content block, a message (see `user` and `assistant`), a list
        of these, or a GetPromptResult. Texts and blocks become messages of the user.

        Args:
            function: The function; left out where the decorator has options.
            name: Name of the prompt; the default is the name of the function. It may stand first:
                `@server.prompt("review", title="Review")`.
            title: Name for people.
            description: Description; the default is the first paragraph of the docstring.
            icons: Icons of the prompt.
            meta: `_meta` of the list entry.
            unknown_arguments: `"refuse"` arguments without a parameter (-32602), or `"ignore"`
                them; None does as the server. A parameter `**others: str` takes them.
            tags: Tags, to enable, disable and mount prompts by.
            scopes: Scopes that the access token of a request needs, all of them; see `tool`.

        Raises:
            UsageError: a name that is taken, or a parameter whose type cannot be decoded from text.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
        """

        if isinstance(function, str):
            function, described = None, with_name("prompt", function, described)

        def add(function: F) -> F:
            self.add_prompt(function, **described)
            return function

        return add if function is None else add(function)

    @overload
    def add_prompt(
        self,
        function: Callable[..., Any],
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> None: ...

    @overload
    def add_prompt(
        self,
        prompt: common.Prompt,
        handler: PromptHandler,
        /,
        *,
        unknown_arguments: UnknownArguments | None = None,
        scopes: Collection[str] = (),
    ) -> None: ...

    def add_prompt(
        self,
        what: Any,
        handler: Any = None,
        /,
        *,
        unknown_arguments: UnknownArguments | None = None,
        scopes: Collection[str] = (),
        **described: Any,
    ) -> None:
        """Register a function as a prompt, or a `Prompt` with its handler.

        Args:
            function: Function to register; see `prompt`.
            prompt: A `Prompt` that describes the prompt, together with `handler`.
            handler: Function `handler(ctx, arguments)`. It receives the arguments as texts. All
                required arguments are present, and none that the `Prompt` does not name.
            unknown_arguments: As in `prompt`.
            scopes: As in `prompt`.
            name: As in `prompt`, for a function; so are `title`, `description`, `icons`,
                `meta` and `tags`.

        Raises:
            UsageError: see `prompt`; or a `Prompt` without a handler or with options.
        """
        if isinstance(what, Wire):
            prompt: latest.Prompt = restate(what, mcp_wire.LATEST).value
            if handler is None or described:
                raise UsageError(
                    f"prompt {prompt.name!r}: expected a handler, and nothing else: "
                    "the Prompt says how it is described"
                )
            check_unknown_arguments(f"prompt {prompt.name}", unknown_arguments)
            check_callable(f"prompt {prompt.name!r}: handler", handler, ("ctx", "arguments"))
            self.prompts.add(HandledPrompt(prompt, handler, unknown_arguments, scopes))
            return
        if handler is not None:
            raise UsageError("a handler goes with a Prompt; a function needs none")
        if described:
            name = name_of(what) if callable(what) else what
            check_options(f"prompt {name}", "prompt", described, _OPTIONS)
            meta, example = described.get("meta"), 'meta={"example.com/key": 1}'
            check_type(f"prompt {name}: meta", meta, dict, example)
        described["description"] = described.get("description") or _summary(what)
        check_unknown_arguments("prompt", unknown_arguments)
        name = described.pop("name", None)
        self.prompts.add(FunctionPrompt(what, name, unknown_arguments, scopes=scopes, **described))

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt. Requests in progress go on.

        Raises:
            UsageError: there is no prompt of that name.
        """
        self.prompts.listing.items.remove(name)

    def disable_prompt(self, name: str) -> None:
        """Hide a prompt from clients, until `enable_prompt`; see `disable_tool`.

        Raises:
            UsageError: there is no prompt of that name.
        """
        self.prompts.listing.items.disable(name)

    def enable_prompt(self, name: str) -> None:
        """Show a prompt that was disabled.

        Raises:
            UsageError: there is no prompt of that name.
        """
        self.prompts.listing.items.enable(name)


def _summary(function: Callable[..., Any]) -> str | None:
    """Return the first paragraph of the docstring."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.partition("\n\n")[0].split()) or None


class CompletionsApi(PromptsApi):
    """Methods that register and remove prompts and completion functions."""

    completions: Completions
    resources: ResourceRegistry

    @explains_calls("server.completion", '@server.completion("prompt", "argument")')
    def completion(self, name: str, argument: str, /) -> Callable[[F], F]:
        """Return a decorator that registers a completion function (`completion/complete`).

            @server.completion("users://{id}/profile", "id")
            def ids(value: str) -> list[str]: ...

        The function receives the text typed so far. A second parameter `arguments: Mapping[str,
        str]` receives the arguments chosen already, by name; it is empty until 2025-03-26, where
        clients do not send them. The function returns texts, the best first, or a `Completion`. The
        first 100 texts are sent.

        Arguments of the types Enum, Literal and bool are completed without a function.

        Args:
            name: Name of a prompt, or a URI template.
            argument: Argument of the prompt, or variable of the template.

        Raises:
            UsageError: no such prompt or template, no such argument, or one that has a function.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
        """

        def add(function: F) -> F:
            self.add_completion(name, argument, function)
            return function

        return add

    def add_completion(self, name: str, argument: str, function: Callable[..., Any]) -> None:
        """Register a completion function; see `completion`.

        Args:
            name: Name of a prompt, or a URI template.
            argument: Argument of the prompt, or variable of the template.
            function: Function that returns the suggested values.

        Raises:
            UsageError: see `completion`.
        """
        template = self.resources.templates.items.get(name)
        found = template or self.prompts.listing.items.get(name)
        if found is None:
            raise UsageError(
                f"completion of `{argument}` in {name!r}: there is no prompt and no template of "
                "that name; add it first"
            )
        if argument not in found.choices:
            known = ", ".join(f"`{one}`" for one in found.choices) or "none"
            raise UsageError(
                f"completion of `{argument}` in {name!r}: no such argument; there are: {known}"
            )
        self.completions.add(name, argument, function)

    def remove_completion(self, name: str, argument: str) -> None:
        """Remove a completion function.

        Args:
            name: Name of a prompt, or a URI template.
            argument: Argument of the prompt, or variable of the template.

        Raises:
            UsageError: there is no function for that argument.
        """
        self.completions.remove(name, argument)
