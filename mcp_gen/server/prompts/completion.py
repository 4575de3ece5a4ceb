"""Completions: what could stand in a prompt's argument or a template's variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.functions.text_types import Choices, made_of_text
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_wire import common

__all__ = ["Completions"]

F = TypeVar("F", bound=Callable[..., Any])
MAX_VALUES = 100
"""https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion"""


class _Completer:
    """The function that completes one argument: of a value, and of the arguments chosen already."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self._what = what
        self._signature = Signature(function)
        takes = self._signature.parameters
        self._names = [one.name for one in takes]
        if len(takes) not in (1, 2) or not made_of_text(takes[0].hint):
            raise UsageError(
                f"{what}: {self._signature.name} takes `value: str`, then if it likes "
                "`arguments: Mapping[str, str]`, and the context anywhere"
            )
        if self._signature.returns is str:
            raise UsageError(f"{what}: {self._signature.name} returns a str, not a list of them")

    async def __call__(self, ctx: Context, value: str, arguments: Mapping[str, str]) -> Any:
        """What the function returns."""
        given = dict(zip(self._names, (value, arguments), strict=False))
        made = await self._signature.call(self._signature.struct(**given), ctx)
        if isinstance(made, str):
            raise TypeError(f"{self._what}: expected a list of texts, got one text")
        return made


class Completions:
    """The completions of a server: functions, by what they complete."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._completers: dict[tuple[str, str], _Completer] = {}

    def offer(self, choices: Choices) -> None:
        """Something has been added whose arguments can have these values."""
        if any(choices.values()):
            self._changed()

    def add(self, name: str, argument: str, function: Callable[..., Any]) -> None:
        """Complete an argument with a function.

        Raises:
            UsageError: it has one, or the function takes something else.
        """
        what = f"completion of `{argument}` in {name!r}"
        if (name, argument) in self._completers:
            raise UsageError(f"{what}: there is a function already; remove that one first")
        self._completers[name, argument] = _Completer(function, what)
        self._changed()

    def remove(self, name: str, argument: str) -> None:
        """Complete an argument with its function no longer.

        Raises:
            UsageError: it has none.
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
        """What could stand in an argument, the best first."""
        completer = self._completers.get((name, argument.name))
        if completer is not None:
            return _completion(await completer(ctx, argument.value, chosen))
        begun = argument.value.casefold()
        known = choices.get(argument.name, ())
        return _completion([one for one in known if one.casefold().startswith(begun)])


def _completion(made: Any) -> latest.Completion:
    """What a function returned, with no more values than may be sent."""
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
