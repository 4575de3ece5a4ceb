"""Maps client arguments to tool arguments, and error messages back to client names."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NoReturn, cast

import msgspec
from msgspec import UNSET, Raw

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.pending_checks import PendingCheck
from mcp_gen.server.functions.schema_validation import CompiledSchema
from mcp_gen.server.functions.suggestions import suggest
from mcp_gen.server.tools.tool import InvalidArguments, ServerTool
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.server.transforms.schema import restricts_values, rewrite_schema
from mcp_gen.values.custom_types import to_plain

__all__ = ["ArgumentMapping"]


class ArgumentMapping:
    """Argument mapping of a transformed tool.

    Args:
        tool: The tool to call.
        name: Name of the transformed tool.
        arguments: Changes by the tool's argument names.

    Raises:
        UsageError: The changes do not fit the tool; see `transformed`.
    """

    def __init__(self, tool: ServerTool, name: str, arguments: Mapping[str, Argument]) -> None:
        self._tool = tool
        self._name = name
        self._arguments = dict(arguments)
        self._what = f"tool {tool.name}"
        self._tool_schema = tool.tool.input_schema
        known: dict[str, Any] = self._tool_schema.get("properties", {})
        self._check_arguments(known)
        self.schema = rewrite_schema(self._tool_schema, arguments, self._what)
        """Input schema that clients see."""
        CompiledSchema(self.schema, f"tool {name}: input schema")
        # Tool names of arguments that are renamed or hidden.
        self._withheld_names = known.keys() - self.schema["properties"].keys()
        self._tool_names = {one.name: old for old, one in arguments.items() if one.name is not None}
        self._required: list[str] = self.schema.get("required", [])
        self._closed = False in (
            self.schema.get("additionalProperties"),
            self.schema.get("unevaluatedProperties"),
        )
        self._check_values()

    def _client_name(self, name: str) -> str:
        one = self._arguments.get(name)
        return name if one is None or one.name is None else one.name

    def _is_hidden(self, name: str) -> bool:
        return name in self._arguments and self._arguments[name].hidden

    # --- at definition ---

    def _check_arguments(self, known: Mapping[str, Any]) -> None:
        required = self._tool_schema.get("required", ())
        for name, one in self._arguments.items():
            if name not in known:
                raise UsageError(f"{self._what} has no argument {name!r}{suggest(name, known)}")
            if not isinstance(cast("Any", one), Argument):
                raise UsageError(
                    f"{self._what}: arguments={{{name!r}: {one!r}}}: write "
                    f"`{{{name!r}: Argument(name=...)}}`"
                )
            absent = one.hide or (one.required is False and one.default is UNSET)
            if absent and name in required:
                value = "fixed= or make=" if one.hide else "default="
                raise UsageError(f"{self._what} requires {name}: say what it gets, with {value}")
        names = [self._client_name(name) for name in known if not self._is_hidden(name)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise UsageError(f"tool {self._name}: two arguments are called {min(twice)!r}")

    def _check_values(self) -> None:
        for check in self._checks.values():
            check.compile()
        defaults, fixed = self._given_values
        given = {**defaults, **fixed}
        if not given:
            return
        # Check each value alone: constraints on the whole object apply only to a call.
        kept = ("$schema", "$id", "$defs", "definitions", "properties")
        each = {
            keyword: self._tool_schema[keyword] for keyword in kept if keyword in self._tool_schema
        }
        try:
            # What the worker would have to check is checked by the calls.
            with suppress(PendingCheck):
                CompiledSchema(each, self._what).check(given)
            for name, check in self._checks.items():
                if name in given:
                    with suppress(PendingCheck):
                        check.check(given[name], f"$.{name}")
        except msgspec.ValidationError as error:
            raise UsageError(f"{self._what}: a value given for an argument: {error}") from None

    @cached_property
    def _checks(self) -> dict[str, CompiledSchema]:
        """Schemas of additional restrictions, by the tool's argument names."""
        kept = ("$schema", "$defs", "definitions")
        around = {
            keyword: self._tool_schema[keyword] for keyword in kept if keyword in self._tool_schema
        }
        # Add definitions only where needed: they may refer to parts that only the whole has.
        alone = {keyword: one for keyword, one in around.items() if keyword == "$schema"}
        return {
            name: CompiledSchema(
                {**(around if _has_reference(one.schema) else alone), **one.schema},
                f"tool {self._name}: {self._client_name(name)}",
            )
            for name, one in self._arguments.items()
            if one.schema and restricts_values(one)
        }

    @cached_property
    def _given_values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Default and fixed values as plain JSON, by the tool's argument names."""
        items = self._arguments.items()
        defaults = {name: one.default for name, one in items if one.default is not UNSET}
        fixed = {name: one.fixed for name, one in items if one.fixed is not UNSET}
        plain: Any = to_plain((defaults, fixed))
        return plain[0], plain[1]

    @cached_property
    def _encoded_values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Default and fixed values as encoded JSON."""
        defaults, fixed = (
            {name: Raw(msgspec.json.encode(value)) for name, value in values.items()}
            for values in self._given_values
        )
        return defaults, fixed

    # --- in a call ---

    def to_tool(self, arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
        """Return the arguments of a call under the tool's names. Raw JSON yields raw values.

        Raises:
            msgspec.ValidationError: The arguments do not fit the schema that clients see.
            msgspec.DecodeError: The arguments are not valid JSON.
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
        # Copy plain values for each call: the tool may change them.
        defaults, fixed = self._encoded_values if raw else copy.deepcopy(self._given_values)
        own = dict(defaults)
        for name, value in given.items():
            if name in self._withheld_names:
                if self._closed:
                    raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
                continue
            old = self._tool_names.get(name, name)
            check = self._checks.get(old)
            if check is not None:
                check.check(msgspec.json.decode(value) if raw else value, f"$.{name}")
            own[old] = value
        own.update(fixed)
        return own

    def put(self, own: dict[str, Any], name: str, value: Any) -> None:
        """Add a value to the arguments from `to_tool`.

        Args:
            own: The arguments; changed in place.
            name: The tool's name of the argument.
            value: A JSON-serializable value.
        """
        plain = to_plain(value)
        own[name] = Raw(msgspec.json.encode(plain)) if _is_raw(own) else plain

    def decoded(self, own: dict[str, Any]) -> Any:
        """Decode arguments for the tool.

        Args:
            own: Arguments under the tool's names.

        Raises:
            InvalidArguments: The arguments do not fit; the message has the names that clients know.
            UsageError: A value that did not come from the client does not fit.
            msgspec.DecodeError: The arguments are not valid JSON.
        """
        try:
            return self._tool.decode(Raw(msgspec.json.encode(own)) if _is_raw(own) else own)
        except msgspec.ValidationError as error:
            self.raise_for_client(error)

    # --- error messages ---

    def raise_for_client(self, error: msgspec.ValidationError) -> NoReturn:
        """Raise a validation error in terms of the names that clients know.

        Raises:
            InvalidArguments: The value came from the client.
            UsageError: The value did not come from the client.
        """
        message, at, path = str(error).rpartition(" - at `$")
        if not at:
            message, path = str(error), "`"
        found = self._path.match(path) if self._path else None
        if found is None:
            message = _QUOTED.sub(self._in_quotes, message) if path == "`" else message
        elif self._is_hidden(found[1]):
            raise UsageError(
                f"{self._what}: the value given for its argument {found[1]} is not what it takes"
            ) from error
        else:
            path = f".{self._client_name(found[1])}{path[found.end() :]}"
        raise InvalidArguments(f"{message} - at `${path}") from None

    @cached_property
    def _path(self) -> re.Pattern[str] | None:
        names = [n for n in self._arguments if self._is_hidden(n) or self._client_name(n) != n]
        if not names:
            return None
        either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.compile(rf"\.({either})(?=[.\[`])")

    def _in_quotes(self, found: re.Match[str]) -> str:
        return found[1] + self._client_name(found[2]) + found[1]


_QUOTED = re.compile(r"([\"'`])([^\"'`]+)\1")


def _is_raw(own: Mapping[str, Any]) -> bool:
    return any(cast("object", value).__class__ is Raw for value in own.values())


def _has_reference(schema: Mapping[str, Any]) -> bool:
    return b'ref":' in msgspec.json.encode(schema).lower()
