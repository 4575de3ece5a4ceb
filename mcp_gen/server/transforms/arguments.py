"""From the arguments that clients give to those of a tool, and back in what is said of them."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn, cast

import msgspec
from msgspec import UNSET, Raw

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.schema_validation import CompiledSchema
from mcp_gen.server.functions.suggestions import suggest
from mcp_gen.server.tools.tool import InvalidArguments, ServerTool
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.server.transforms.schema import asks_more, rewrite_schema

__all__ = ["ArgumentMapping"]


class ArgumentMapping:
    """What becomes of the arguments of a tool that is offered as `name`.

    Raises:
        UsageError: see `transformed`.
    """

    def __init__(self, tool: ServerTool, name: str, arguments: Mapping[str, Argument]) -> None:
        self._tool = tool
        self._name = name
        self._arguments = dict(arguments)
        self._what = f"tool {tool.name}"
        self._theirs = tool.tool.input_schema
        known: dict[str, Any] = self._theirs.get("properties", {})
        self._check_arguments(known)
        self.schema = rewrite_schema(self._theirs, arguments, self._what)
        """What clients see."""
        CompiledSchema(self.schema, f"tool {name}: input schema")
        # Names that the tool has for what clients call otherwise, or do not see.
        self._gone = known.keys() - self.schema["properties"].keys()
        self._back = {one.name: old for old, one in arguments.items() if one.name is not None}
        self._required: list[str] = self.schema.get("required", [])
        self._closed = False in (
            self.schema.get("additionalProperties"),
            self.schema.get("unevaluatedProperties"),
        )
        self._check_values()

    def _seen(self, name: str) -> str:
        one = self._arguments.get(name)
        return name if one is None or one.name is None else one.name

    def _is_hidden(self, name: str) -> bool:
        return name in self._arguments and self._arguments[name].hidden

    # --- at definition ---

    def _check_arguments(self, known: Mapping[str, Any]) -> None:
        required = self._theirs.get("required", ())
        for name, one in self._arguments.items():
            if name not in known:
                raise UsageError(f"{self._what} has no argument {name!r}{suggest(name, known)}")
            absent = one.hide or (one.required is False and one.default is UNSET)
            if absent and name in required:
                value = "fixed= or make=" if one.hide else "default="
                raise UsageError(f"{self._what} requires {name}: say what it gets, with {value}")
        names = [self._seen(name) for name in known if not self._is_hidden(name)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise UsageError(f"tool {self._name}: two arguments are called {min(twice)!r}")

    def _check_values(self) -> None:
        for check in self._checks.values():
            check.compile()
        defaults, fixed = self._plain
        given = {**defaults, **fixed}
        if not given:
            return
        # Each by itself: what the tool says of all of them together is for a call.
        kept = ("$schema", "$id", "$defs", "definitions", "properties")
        each = {keyword: self._theirs[keyword] for keyword in kept if keyword in self._theirs}
        try:
            CompiledSchema(each, self._what).check(given)
            for name, check in self._checks.items():
                if name in given:
                    check.check(given[name], f"$.{name}")
        except msgspec.ValidationError as error:
            raise UsageError(f"{self._what}: a value given for an argument: {error}") from None

    @cached_property
    def _checks(self) -> dict[str, CompiledSchema]:
        """What more is asked of arguments than the tool asks, by its names for them."""
        kept = ("$schema", "$defs", "definitions")
        around = {keyword: self._theirs[keyword] for keyword in kept if keyword in self._theirs}
        # Definitions may refer to what only the whole schema has: they come where they are needed.
        alone = {keyword: one for keyword, one in around.items() if keyword == "$schema"}
        return {
            name: CompiledSchema(
                {**(around if _has_reference(one.schema) else alone), **one.schema},
                f"tool {self._name}: {self._seen(name)}",
            )
            for name, one in self._arguments.items()
            if one.schema and asks_more(one)
        }

    @cached_property
    def _plain(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What arguments have where clients give none, and where they can give none."""
        items = self._arguments.items()
        defaults = {name: one.default for name, one in items if one.default is not UNSET}
        fixed = {name: one.fixed for name, one in items if one.fixed is not UNSET}
        plain: Any = msgspec.to_builtins((defaults, fixed), str_keys=True)
        return plain[0], plain[1]

    @cached_property
    def _encoded(self) -> tuple[dict[str, Any], dict[str, Any]]:
        defaults, fixed = (
            {name: Raw(msgspec.json.encode(value)) for name, value in values.items()}
            for values in self._plain
        )
        return defaults, fixed

    # --- in a call ---

    def to_tool(self, arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
        """The arguments of a call under the tool's names; raw values where they came raw.

        Raises:
            msgspec.ValidationError: not what clients are told to give.
            msgspec.DecodeError: not JSON.
        """
        raw = isinstance(arguments, Raw)
        given: dict[str, Any] = (
            msgspec.json.decode(arguments, type=dict[str, Raw])
            if isinstance(arguments, Raw)
            else arguments or {}
        )
        for name in self._required:
            if name not in given:
                raise msgspec.ValidationError(f"Object missing required field `{name}`")
        # Plain values are new for each call: the tool may change them.
        defaults, fixed = self._encoded if raw else copy.deepcopy(self._plain)
        own = dict(defaults)
        for name, value in given.items():
            if name in self._gone:
                if self._closed:
                    raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
                continue
            old = self._back.get(name, name)
            check = self._checks.get(old)
            if check is not None:
                check.check(msgspec.json.decode(value) if raw else value, f"$.{name}")
            own[old] = value
        own.update(fixed)
        return own

    def put(self, own: dict[str, Any], name: str, value: Any) -> None:
        """Add a value, which JSON can carry, to what `own` gave."""
        plain = msgspec.to_builtins(value, str_keys=True)
        own[name] = Raw(msgspec.json.encode(plain)) if _is_raw(own) else plain

    def decoded(self, own: dict[str, Any]) -> Any:
        """What the tool takes.

        Raises:
            BadArguments: not what it takes, in the names that clients know.
            UsageError: a value that no client gave is not.
            msgspec.DecodeError: not JSON.
        """
        try:
            return self._tool.decode(Raw(msgspec.json.encode(own)) if _is_raw(own) else own)
        except msgspec.ValidationError as error:
            self.raise_for_client(error)

    # --- what is said of arguments ---

    def raise_for_client(self, error: msgspec.ValidationError) -> NoReturn:
        """Say what is wrong in the names that clients know.

        Raises:
            BadArguments: what a client can do something about.
            UsageError: a value that no client gave.
        """
        said, at, path = str(error).rpartition(" - at `$")
        if not at:
            said, path = str(error), "`"
        found = self._path.match(path) if self._path else None
        if found is None:
            said = _QUOTED.sub(self._in_quotes, said) if path == "`" else said
        elif self._is_hidden(found[1]):
            raise UsageError(
                f"{self._what}: the value given for its argument {found[1]} is not what it takes"
            ) from error
        else:
            path = f".{self._seen(found[1])}{path[found.end() :]}"
        raise InvalidArguments(f"{said} - at `${path}") from None

    @cached_property
    def _path(self) -> re.Pattern[str] | None:
        names = [n for n in self._arguments if self._is_hidden(n) or self._seen(n) != n]
        if not names:
            return None
        either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.compile(rf"\.({either})(?=[.\[`])")

    def _in_quotes(self, found: re.Match[str]) -> str:
        return found[1] + self._seen(found[2]) + found[1]


_QUOTED = re.compile(r"([\"'`])([^\"'`]+)\1")


def _is_raw(own: Mapping[str, Any]) -> bool:
    return any(cast("object", value).__class__ is Raw for value in own.values())


def _has_reference(schema: Mapping[str, Any]) -> bool:
    return b'ref":' in msgspec.json.encode(schema).lower()
