"""`Argument`: changes one argument of a transformed tool."""

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
    """Changes to one argument of a transformed tool: renamed, redescribed, restricted or hidden.

    Fields that are left out keep what the tool has.

    Args:
        name: Name that clients see.
        description: Description that clients see; an empty string removes the tool's.
        default: JSON-serializable value that the tool receives if a call omits the argument; None
            is null.
        required: True: each call must have the argument. False: a call may omit it; an argument
            that the tool requires then needs a `default`.
        schema: JSON Schema keywords that replace the tool's, such as `{"enum": ["a", "b"]}`.
            Values are validated against them and against the tool's schema, so keywords can only
            restrict.
        hide: Hide the argument from clients. The tool uses its own default.
        fixed: Hide the argument from clients and pass this JSON-serializable value.
        make: Hide the argument from clients and pass the return value of `make(ctx)`, which is
            called for each call on the event loop, async or not. In a multi round-trip request
            (`input_required`) it is called again in each round.

    Raises:
        UsageError: Options contradict each other, such as a description of a hidden argument.
    """

    name: str | None = None
    description: str | None = None
    default: Any = UNSET
    required: bool | None = None
    schema: Mapping[str, Any] | None = None
    hide: bool = False
    fixed: Any = UNSET
    make: Callable[[Context], Any] | None = None

    @property
    def hidden(self) -> bool:
        """True if clients do not see the argument."""
        return self.hide or self.fixed is not UNSET or self.make is not None

    def __post_init__(self) -> None:
        if self.name == "":
            raise UsageError("an argument: name='': give it one, or leave name= out")
        if self.schema and "default" in self.schema:
            raise UsageError("an argument: give default= instead of a keyword: the tool gets it")
        if self.fixed is not UNSET and self.make is not None:
            raise UsageError("an argument: fixed= and make= are two values: give one of them")
        if self.hidden:
            visible_options = {
                "name": self.name,
                "description": self.description,
                "default": None if self.default is UNSET else "given",
                "required": self.required,
                "schema": self.schema,
            }
            for what, given in visible_options.items():
                if given is not None:
                    raise UsageError(
                        f"an argument: {what}= is for one that clients see; this one is hidden"
                        + (": fixed= is the value it has" if what == "default" else "")
                    )
        if self.required and self.default is not UNSET:
            raise UsageError("an argument: one that each call must have needs no default=")
