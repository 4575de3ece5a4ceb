"""Decorators and methods that add and remove prompts and completions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.prompts.registry import FunctionPrompt, HandledPrompt
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.prompts.completion import Completions
    from mcp_gen.server.prompts.registry import PromptHandler, PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_wire import common

__all__ = ["CompletionsApi", "PromptsApi"]

F = TypeVar("F", bound=Callable[..., Any])


class PromptsApi:
    """Methods that add and remove prompts."""

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
    ) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **described: Any) -> Any:
        """Offer a function as a prompt: its parameters are the blanks to fill in.

        Clients send texts, which are read into the types of the parameters: numbers, bool, dates,
        Enum and Literal as they are, dataclasses, lists and the like as JSON. A parameter with a
        default may be left out; one annotated `Context` is no blank. The function returns a text, a
        content block, a message (see `user` and `assistant`), a list of these, or a
        GetPromptResult; what is no message yet is said by the user.

        Raises:
            UsageError: a name that is taken, or a parameter that no text becomes.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
        """

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
    ) -> None: ...

    @overload
    def add_prompt(self, prompt: common.Prompt, handler: PromptHandler, /) -> None: ...

    def add_prompt(self, what: Any, handler: Any = None, /, **described: Any) -> None:
        """Offer a function as a prompt, see `prompt`; or a Prompt, with what fills it in.

        A handler is called as `handler(ctx, arguments)`, with the texts as they came; those that
        the Prompt says are required are there, and none that it does not name.
        """
        if isinstance(what, Wire):
            prompt: latest.Prompt = project(what, mcp_wire.LATEST).value
            if handler is None or described:
                raise UsageError(
                    f"prompt {prompt.name!r}: expected a handler, and nothing else: "
                    "the Prompt says how it is described"
                )
            self.prompts.add(HandledPrompt(prompt, handler))
            return
        if handler is not None:
            raise UsageError("a handler goes with a Prompt; a function needs none")
        described["description"] = described.get("description") or _summary(what)
        self.prompts.add(FunctionPrompt(what, described.pop("name", None), **described))

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no longer; requests for it that are under way go on.

        Raises:
            UsageError: there is none of that name.
        """
        self.prompts.listing.items.remove(name)


def _summary(function: Callable[..., Any]) -> str | None:
    """The first paragraph of the docstring."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.partition("\n\n")[0].split()) or None


class CompletionsApi:
    """Methods that add and remove completions."""

    completions: Completions
    resources: ResourceRegistry
    prompts: PromptRegistry

    def completion(self, name: str, argument: str, /) -> Callable[[F], F]:
        """Suggest values for an argument of a prompt, or for a variable of a template.

            @server.completion("users://{id}/profile", "id")
            def ids(value: str) -> list[str]: ...

        The function takes the value that has been typed so far; `arguments: Mapping[str, str]`
        behind it are those chosen already, by name (empty until 2025-03-26, where clients do not
        send them). It returns texts, the best first, of which the first 100 are sent, or a
        Completion that knows of more.

        Arguments that are an Enum, a Literal or a bool are completed by themselves.

        Raises:
            UsageError: no such prompt or template, or it has no such argument, or that has a
                function already.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
        """

        def add(function: F) -> F:
            self.add_completion(name, argument, function)
            return function

        return add

    def add_completion(self, name: str, argument: str, function: Callable[..., Any]) -> None:
        """Suggest values with a function; see `completion`."""
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
        """Suggest the values of a function no longer.

        Raises:
            UsageError: there is no function.
        """
        self.completions.remove(name, argument)
