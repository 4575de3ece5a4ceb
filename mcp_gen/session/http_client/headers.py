"""The headers with which a client repeats what its messages say, as its servers want them.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import DecodeError, Raw, ValidationError, json

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import MARK, marked_params
from mcp_gen.core.transport.header_values import about_what, encoded_value, named_by, value_at

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["MirroredHeaders", "understood_tools"]

Marks: TypeAlias = Mapping[bytes, tuple[str, ...]]
"""The path of each argument that a header repeats, by the header's name."""

_MARK = MARK.encode()

_log = logging.getLogger("mcp_gen.client")
_object = json.Decoder(dict[str, Raw])
_list = json.Decoder(list[Raw])


class MirroredHeaders:
    """What one server wants repeated at one revision. It learns from the lists of its tools."""

    def __init__(
        self, profile: Profile, name_params: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        self._name_params = name_params or {}
        """What the requests of extensions are about, by method."""
        types = mcp_wire.types(profile.revision)
        self._profile = profile
        self._method = _lower(profile.method_header)
        self._name = _lower(profile.name_header)
        self._prefix = _lower(profile.param_header_prefix)
        self._calls: tuple[Any, ...] = (types.CallToolRequestParams, types.RawCallToolRequestParams)
        self._marks: dict[str, Marks] = {}
        self.lists: Method[Any, Any] | None = next(
            (one for one in profile.methods.values() if types.ListToolsResult in one.results), None
        )
        """What lists the tools."""

    def headers(self, method: str, params: Any) -> Lines:
        """The headers of a message."""
        if not self._method:
            return ()
        lines = [(self._method, method.encode())]
        of_extension = self._name_params.get(method)
        about = about_what(params) if of_extension is None else named_by(params, of_extension)
        if about is not None:
            lines.append((self._name, encoded_value(about)))
            marks = self._marks.get(about)
            if marks and type(params) in self._calls:
                lines += _repeated(marks, params.arguments)
        return lines

    def mismatched(self, code: int, params: Any) -> bool:
        """Whether a call was refused because of headers that the tool's schema asks for."""
        return (
            bool(self._prefix)
            and type(params) in self._calls
            and code == self._profile.errors.header_mismatch
        )

    def listed(self, method: Method[Any, Any], result: Raw) -> Raw:
        """The result of a request. Of a list of tools, those that are understood, and learnt."""
        if method is not self.lists or not self._prefix:
            return result
        return understood_tools(result, self._learn)

    def _learn(self, name: str, paths: Mapping[str, tuple[str, ...]]) -> None:
        if paths:
            self._marks[name] = {
                self._prefix + end.lower().encode(): path for end, path in paths.items()
            }
        else:
            self._marks.pop(name, None)


def understood_tools(result: Raw, learn: Any) -> Raw:
    """A list of tools without those whose marks mean nothing; `learn` is called with the others.

    What is kept is kept byte for byte.
    """
    try:
        members = _object.decode(result)
        tools = _list.decode(members["tools"])
    except (DecodeError, UnicodeDecodeError, RecursionError, KeyError):
        return result  # whoever reads it says what is wrong
    kept = [tool for tool in tools if _understood(tool, learn)]
    if len(kept) == len(tools):
        return result
    members["tools"] = Raw(json.encode(kept))
    return Raw(json.encode(members))


def _understood(tool: Raw, learn: Any) -> bool:
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


def _repeated(marks: Marks, arguments: Any) -> Lines:
    values: Any = json.decode(arguments) if isinstance(arguments, Raw) else arguments
    found = ((name, _text(value_at(values, path))) for name, path in marks.items())
    return [(name, encoded_value(text)) for name, text in found if text is not None]


def _text(value: Any) -> str | None:
    """How an argument is written in a header; None where it has none."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int | float) else None


def _lower(name: str | None) -> bytes:
    return name.lower().encode() if name else b""
