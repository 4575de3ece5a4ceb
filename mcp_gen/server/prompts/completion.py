"""Completion functions for prompt arguments and template variables (`completion/complete`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.functions.text_types import Choices, is_text_convertible
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_wire import common

__all__ = ["Completions"]

F = TypeVar("F", bound=Callable[..., Any])
MAX_VALUES = 100
"""Maximum number of values in a completion.

Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
"""


class _Completer:
    """Completion function of one argument. It takes the value so far and the other arguments."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self._what = what
        self._signature = Signature(function)
        parameters = self._signature.parameters
        self._names = [one.name for one in parameters]
        if len(parameters) not in (1, 2) or not is_text_convertible(parameters[0].hint):
            raise UsageError(
                f"{what}: {self._signature.name} takes `value: str`, then if it likes "
                "`arguments: Mapping[str, str]`, and the context anywhere"
            )
        if self._signature.returns is str:
            raise UsageError(f"{what}: {self._signature.name} returns a str, not a list of them")

    async def __call__(self, ctx: Context, value: str, arguments: Mapping[str, str]) -> Any:
        """Return the return value of the function."""
        given = dict(zip(self._names, (value, arguments), strict=False))
        made = await self._signature.call(self._signature.struct(**given), ctx)
        if isinstance(made, str):
            raise TypeError(f"{self._what}: expected a list of texts, got one text")
        return made


class Completions:
    """Completion functions of a server, by prompt or template and argument.

    Args:
        changed: Called when completions become available: with each new function, and with each
            prompt or template that has arguments with known values.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._completers: dict[tuple[str, str], _Completer] = {}

    def add_choices(self, choices: Choices) -> None:
        """Report possible values of the arguments of a new prompt or template."""
        if any(choices.values()):
            self._changed()

    def add(self, name: str, argument: str, function: Callable[..., Any]) -> None:
        """Add the completion function of an argument.

        Args:
            name: Name of the prompt, or URI template.
            argument: Name of the argument or variable.
            function: The completion function.

        Raises:
            UsageError: The argument has a function already, or its signature is not valid.
        """
        what = f"completion of `{argument}` in {name!r}"
        if (name, argument) in self._completers:
            raise UsageError(f"{what}: there is a function already; remove that one first")
        self._completers[name, argument] = _Completer(function, what)
        self._changed()

    def remove(self, name: str, argument: str) -> None:
        """Remove the completion function of an argument.

        Raises:
            UsageError: The argument has no function.
        """
        if self._completers.pop((name, argument), None) is None:
            raise UsageError(
                f"completion of `{argument}` in {name!r}: there is no function to remove"
            )

    async def complete(
        self,
        ctx: Context,
        name: str,
        argument: common.CompletionArgument,
        chosen: Mapping[str, str],
        choices: Choices,
    ) -> latest.Completion:
        """Return completions of an argument, best first.

        Args:
            ctx: Context of the request.
            name: Name of the prompt, or URI template.
            argument: Name and current value of the argument.
            chosen: Arguments that the user has chosen already.
            choices: Possible values by argument name, used for an argument without function.
        """
        completer = self._completers.get((name, argument.name))
        if completer is not None:
            return _completion(await completer(ctx, argument.value, chosen))
        prefix = argument.value.casefold()
        known = choices.get(argument.name, ())
        return _completion([one for one in known if one.casefold().startswith(prefix)])


def _completion(made: Any) -> latest.Completion:
    """Return a completion from a function's return value, cut to `MAX_VALUES`."""
    total: int | None = None
    has_more: bool | None = None
    if isinstance(made, Wire) and type(made).__name__ == latest.Completion.__name__:
        given = cast("latest.Completion", made)
        values, total, has_more = given.values, given.total, given.has_more
    else:
        values = list(cast("Iterable[str]", made or ()))
        total, has_more = len(values), False
    if len(values) > MAX_VALUES:
        total, has_more = total or len(values), True
        values = values[:MAX_VALUES]
    return latest.Completion(values=values, total=total, has_more=has_more)
