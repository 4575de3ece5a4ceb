"""Reading arguments under other names straight into what a function takes: no step in between."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from mcp_gen.server.tools.function_tool import FunctionTool
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.server.transforms.schema import asks_more

if TYPE_CHECKING:
    from mcp_gen.server.functions.signature import Parameter, Signature
    from mcp_gen.server.tools.tool import ServerTool

__all__ = ["ArgumentDecoder", "direct_decoder"]

ArgumentDecoder: TypeAlias = Callable[[Raw | dict[str, Any] | None], Any]

_SHARED = (str, int, float, bool, bytes, type(None))
"""What calls may have in common: none can change it."""


def direct_decoder(tool: ServerTool, arguments: Mapping[str, Argument]) -> ArgumentDecoder | None:
    """What `OfferedTool.decode` is for a function whose arguments have other names, or none.

    None where values must be looked at on their way: then they are renamed first.
    """
    if not isinstance(tool, FunctionTool) or not tool.by_annotations:
        return None
    if any(asks_more(one) or one.make for one in arguments.values()):
        return None
    return _DirectDecoder(tool.signature, arguments).read


class _DirectDecoder:
    def __init__(self, signature: Signature, arguments: Mapping[str, Argument]) -> None:
        self._hidden: list[tuple[str, Callable[[], Any]]] = []
        fields: list[Any] = []
        names: dict[str, str] = {}
        for parameter in signature.parameters:
            one = arguments.get(parameter.name)
            if one is not None and one.hidden:
                self._hidden.append((parameter.name, _value(parameter, one)))
                # Read as anything, and written over whatever that was.
                fields.append((parameter.name, Any, None))
                continue
            if one is not None and one.name is not None:
                names[parameter.name] = one.name
            required = parameter.required or (one is not None and one.required)
            field = (parameter.name, parameter.hint)
            if one is not None and one.default is not UNSET:
                make = _given(parameter, one.default)
                fields.append((*field, msgspec.field(default_factory=make)))
            else:
                fields.append(field if required else (*field, signature.default_of(parameter)))
        for name, _ in self._hidden:
            # Another argument may have this name now.
            taken = {*names.values(), *(one.name for one in signature.parameters)}
            names[name] = _unlike(name, taken)
        self._struct: type[Struct] = msgspec.defstruct(
            f"{signature.name}_arguments", fields, kw_only=True, rename=names
        )
        self._decode = msgspec.json.Decoder(self._struct).decode
        self.read: ArgumentDecoder = self._whole if self._hidden else self._visible
        """What `OfferedTool.decode` is."""

    def _whole(self, arguments: Raw | dict[str, Any] | None) -> Any:
        values = self._visible(arguments)
        for name, make in self._hidden:
            setattr(values, name, make())
        return values

    def _visible(self, arguments: Raw | dict[str, Any] | None) -> Any:
        if isinstance(arguments, Raw):
            return self._decode(arguments)
        return msgspec.convert(arguments or {}, self._struct, str_keys=True)


def _unlike(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _value(parameter: Parameter, one: Argument) -> Callable[[], Any]:
    """Makes what a hidden parameter has in a call."""
    if one.fixed is UNSET:
        value = parameter.default
        return (lambda: value) if isinstance(value, _SHARED) else (lambda: copy.copy(value))
    return _given(parameter, one.fixed)


def _given(parameter: Parameter, value: Any) -> Callable[[], Any]:
    plain = msgspec.to_builtins(value, str_keys=True)

    def read() -> Any:
        return msgspec.convert(plain, parameter.hint, str_keys=True)

    made = read()
    return (lambda: made) if isinstance(made, _SHARED) else read
