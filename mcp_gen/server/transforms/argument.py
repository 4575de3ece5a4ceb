"""What becomes of one argument of a tool that is offered in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from mcp_gen.core.errors import UsageError

# Imported at run time: `help(Argument)` evaluates the types of the fields.
from mcp_gen.server.context.context import Context
from mcp_gen.server.context.options import AnyArgument

__all__ = ["Argument"]


class Argument(AnyArgument, frozen=True, kw_only=True):
    """How clients see one argument of a tool, or what it has where they do not see it.

    What is not given stays as the tool has it.

    Raises:
        UsageError: what contradicts itself, as a hidden argument with a description.
    """

    name: str | None = None
    """What clients call it."""
    description: str | None = None
    """What it is for; an empty text takes the tool's own away."""
    default: Any = UNSET
    """What the tool gets from a call without it, as JSON or what becomes JSON; None is null."""
    required: bool | None = None
    """Whether each call must have it. One that the tool requires needs a `default` for False."""
    schema: Mapping[str, Any] | None = None
    """Keywords of JSON Schema in place of the tool's own, as `{"enum": ["a", "b"]}`. Values are
    held to them and to what the tool takes, so they can only ask for more."""
    hide: bool = False
    """Clients do not see it, and the tool gets none: its own default goes."""
    fixed: Any = UNSET
    """Clients do not see it, and the tool gets this value: JSON, or what becomes JSON."""
    make: Callable[[Context], Any] | None = None
    """Clients do not see it, and the tool gets what `make(ctx)` gives in each call; async or not,
    and it runs on the loop. A call that is answered in rounds makes it anew in each."""

    @property
    def hidden(self) -> bool:
        """Whether clients do not see it."""
        return self.hide or self.fixed is not UNSET or self.make is not None

    def __post_init__(self) -> None:
        if self.name == "":
            raise UsageError("an argument: name='': give it one, or leave name= out")
        if self.schema and "default" in self.schema:
            raise UsageError("an argument: give default= instead of a keyword: the tool gets it")
        if self.fixed is not UNSET and self.make is not None:
            raise UsageError("an argument: fixed= and make= are two values: give one of them")
        if self.hidden:
            seen = {
                "name": self.name,
                "description": self.description,
                "default": None if self.default is UNSET else "given",
                "required": self.required,
                "schema": self.schema,
            }
            for what, given in seen.items():
                if given is not None:
                    raise UsageError(
                        f"an argument: {what}= is for one that clients see; this one is hidden"
                        + (": fixed= is the value it has" if what == "default" else "")
                    )
        if self.required and self.default is not UNSET:
            raise UsageError("an argument: one that each call must have needs no default=")
