"""HTTP request headers that mirror the message.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import DecodeError, Raw, ValidationError, json

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import (
    MARK,
    MAX_MIRRORED_INTEGER,
    UnmirroredArgument,
    marked_params,
)
from mcp_gen.core.transport.header_values import (
    encoded_value,
    mirrored_param,
    value_at,
)

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["MirroredHeaders", "valid_tools"]

Marks: TypeAlias = Mapping[bytes, tuple[str, ...]]
"""JSON path of each tool argument that a header mirrors, by the header's name."""

_MARK = MARK.encode()

_log = logging.getLogger("mcp_gen.client")
_object = json.Decoder(dict[str, Raw])
_list = json.Decoder(list[Raw])


class MirroredHeaders:
    """Headers that one server requires at one revision; tool parameters come from `tools/list`.

    Args:
        profile: Profile of the revision.
        name_params: Parameter that the name header repeats, by method; see
            `Extensions.name_params`.
    """

    def __init__(self, profile: Profile, name_params: Mapping[str, tuple[str, str]]) -> None:
        self._name_params = name_params
        types = mcp_wire.types(profile.revision)
        self._profile = profile
        self._method = _lower(profile.method_header)
        self._name = _lower(profile.name_header)
        self._prefix = _lower(profile.param_header_prefix)
        self._calls: tuple[Any, ...] = (types.CallToolRequestParams, types.RawCallToolRequestParams)
        self._marks: dict[str, Marks] = {}
        self.lists: Method[Any, Any] | None = None
        """Method row of `tools/list`; None at revisions without header parameters of tools."""
        if self._prefix:
            rows = profile.methods.values()
            self.lists = next((row for row in rows if types.ListToolsResult in row.results), None)

    def headers(self, method: str, params: Any) -> Lines:
        """Return the headers of a message; empty at revisions without mirrored headers."""
        if not self._method:
            return ()
        lines = [(self._method, method.encode())]
        field = self._name_params.get(method)
        about = None if field is None else mirrored_param(params, field)
        if about is not None:
            lines.append((self._name, encoded_value(about)))
            marks = self._marks.get(about)
            if marks and type(params) in self._calls:
                lines += _param_headers(marks, params.arguments)
        return lines

    def mismatched(self, code: int, params: Any) -> bool:
        """Return True if a `tools/call` was refused because its headers do not match the schema."""
        return (
            bool(self._prefix)
            and type(params) in self._calls
            and code == self._profile.errors.header_mismatch
        )

    def learn(self, page: Raw) -> Raw:
        """Learn the header parameters of the tools on a page of `tools/list`.

        Returns:
            The page without the tools whose header parameters are invalid.
        """
        return valid_tools(page, self._learn)

    def _learn(self, name: str, paths: Mapping[str, tuple[str, ...]]) -> None:
        if paths:
            self._marks[name] = {
                self._prefix + end.lower().encode(): path for end, path in paths.items()
            }
        else:
            self._marks.pop(name, None)


def valid_tools(result: Raw, learn: Any) -> Raw:
    """Return a `tools/list` result without the tools whose header parameters are invalid.

    The tools that stay are not re-encoded.

    Args:
        result: Encoded result.
        learn: Called with the name and the header parameters of each valid tool.
    """
    try:
        members = _object.decode(result)
        tools = _list.decode(members["tools"])
    except (DecodeError, UnicodeDecodeError, RecursionError, KeyError):
        return result  # decoding it as a result reports the error
    kept = [tool for tool in tools if _is_valid_tool(tool, learn)]
    if len(kept) == len(tools):
        return result
    members["tools"] = Raw(json.encode(kept))
    return Raw(json.encode(members))


def _is_valid_tool(tool: Raw, learn: Any) -> bool:
    marked = _MARK in bytes(tool)
    name: Any = None
    try:
        members: dict[str, Any] = json.decode(tool) if marked else _object.decode(tool)
        named = members["name"]
        name = json.decode(named) if isinstance(named, Raw) else named
        schema: Any = members.get("inputSchema") if marked else {}
        if not isinstance(name, str) or not isinstance(schema, dict):
            return True
        learn(name, marked_params(cast("dict[str, Any]", schema)))
    except UsageError as error:
        _log.warning("the tool %r is left out: %s", name, error)
        return False
    except (ValidationError, DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return True
    return True


def _param_headers(marks: Marks, arguments: Any) -> Lines:
    values: Any = json.decode(arguments) if isinstance(arguments, Raw) else arguments
    found = ((name, _header_text(value_at(values, path), path)) for name, path in marks.items())
    return [(name, encoded_value(text)) for name, text in found if text is not None]


def _header_text(value: Any, path: tuple[str, ...]) -> str | None:
    """Return the header text of an argument; None if its type has no header.

    Raises:
        UnmirroredArgument: An integer that not every reader of the header can hold.
    """
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and abs(value) > MAX_MIRRORED_INTEGER:
        raise UnmirroredArgument(
            f"argument `{'.'.join(path)}` is mirrored in a header: an integer there is within "
            f"{MAX_MIRRORED_INTEGER} of 0, got one of {value.bit_length()} bits"
        )
    return str(value) if isinstance(value, int | float) else None


def _lower(name: str | None) -> bytes:
    return name.lower().encode() if name else b""
