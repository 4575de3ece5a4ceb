"""Decodes renamed arguments directly into the function's Struct."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from mcp_gen.server.tools.function_tool import FunctionTool
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.server.transforms.schema import restricts_values
from mcp_gen.values.custom_types import convert, decoder, to_plain

if TYPE_CHECKING:
    from mcp_gen.server.functions.signature import Parameter, Signature
    from mcp_gen.server.tools.tool import ServerTool

__all__ = ["ArgumentDecoder", "direct_decoder"]

ArgumentDecoder: TypeAlias = Callable[[Raw | dict[str, Any] | None], Any]
"""Decoder of the arguments of a call; see `ServerTool.decode`."""

_SHARED = (str, int, float, bool, bytes, type(None))
"""Immutable types: calls can share their values."""


def direct_decoder(tool: ServerTool, arguments: Mapping[str, Argument]) -> ArgumentDecoder | None:
    """Return a decoder that reads renamed and hidden arguments in one step.

    Returns None if a value must be checked or computed first: then arguments are renamed before
    decoding.

    Args:
        tool: The tool to call.
        arguments: Changes by the tool's argument names.
    """
    if not isinstance(tool, FunctionTool) or not tool.by_annotations or tool.signature.keywords:
        return None
    if any(restricts_values(one) or one.make for one in arguments.values()):
        return None
    return _DirectDecoder(tool.signature, arguments).read


class _DirectDecoder:
    """Struct decoder with the names that clients use."""

    def __init__(self, signature: Signature, arguments: Mapping[str, Argument]) -> None:
        self._hidden: list[tuple[str, Callable[[], Any]]] = []
        fields: list[Any] = []
        names: dict[str, str] = {}
        for parameter in signature.parameters:
            one = arguments.get(parameter.name)
            if one is not None and one.hidden:
                self._hidden.append((parameter.name, _hidden_value_factory(parameter, one)))
                # Accept any value; `_decode_with_hidden` overwrites it.
                fields.append((parameter.name, Any, None))
                continue
            if one is not None and one.name is not None:
                names[parameter.name] = one.name
            required = parameter.required or (one is not None and one.required)
            field = (parameter.name, parameter.hint)
            if one is not None and one.default is not UNSET:
                make = _value_factory(parameter, one.default)
                fields.append((*field, msgspec.field(default_factory=make)))
            else:
                fields.append(field if required else (*field, signature.default_of(parameter)))
        for name, _ in self._hidden:
            # Another argument may have this name: give the hidden one an unused name.
            taken = {*names.values(), *(one.name for one in signature.parameters)}
            names[name] = _unused_name(name, taken)
        self._struct: type[Struct] = msgspec.defstruct(
            f"{signature.name}_arguments",
            fields,
            kw_only=True,
            rename=names,
            forbid_unknown_fields=signature.refuses_unknown,
        )
        self._decode = decoder(self._struct, hooked=signature.is_hooked)
        self.read: ArgumentDecoder = (
            self._decode_with_hidden if self._hidden else self._decode_visible
        )
        """Decodes the arguments of a call; see `ServerTool.decode`."""

    def _decode_with_hidden(self, arguments: Raw | dict[str, Any] | None) -> Any:
        values = self._decode_visible(arguments)
        for name, make in self._hidden:
            setattr(values, name, make())
        return values

    def _decode_visible(self, arguments: Raw | dict[str, Any] | None) -> Any:
        if isinstance(arguments, Raw):
            return self._decode(arguments)
        return convert(arguments or {}, self._struct)


def _unused_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _hidden_value_factory(parameter: Parameter, one: Argument) -> Callable[[], Any]:
    """Return a factory for the value of a hidden parameter."""
    if one.fixed is UNSET:
        value = parameter.default
        return (lambda: value) if isinstance(value, _SHARED) else (lambda: copy.copy(value))
    return _value_factory(parameter, one.fixed)


def _value_factory(parameter: Parameter, value: Any) -> Callable[[], Any]:
    json_value = to_plain(value)

    def read() -> Any:
        return convert(json_value, parameter.hint)

    made = read()
    return (lambda: made) if isinstance(made, _SHARED) else read
