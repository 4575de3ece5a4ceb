"""Arguments of calls as plain JSON: models, Structs, dates and paths, alone or among others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeAlias

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import restate
from mcp_gen.values.custom_types import to_plain

__all__ = ["Arguments", "as_prompt_arguments", "as_tool_arguments"]


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


class _AttrsClass(Protocol):
    __attrs_attrs__: ClassVar[Any]


class _Model(Protocol):
    def model_dump_json(self) -> str: ...


Arguments: TypeAlias = Mapping[str, Any] | msgspec.Struct | _Dataclass | _AttrsClass | _Model
"""Arguments of a call: by name, or an object with a field for each."""


def as_tool_arguments(name: str, arguments: Any, revision: str) -> dict[str, Any]:
    """Return the arguments of a tool call as plain JSON.

    Args:
        name: Name of the tool, for error messages.
        arguments: A mapping, or an object with fields, such as a model or a dataclass. Values of
            wire types are restated.
        revision: Revision of the call.

    Raises:
        UsageError: It is no JSON object; the message ends in the path.
        ProjectionError: The revision cannot hold a value.
    """
    return _plain_object(name, restate(arguments, revision).value)


def as_prompt_arguments(name: str, arguments: Any) -> dict[str, str]:
    """Return the arguments of a prompt as texts: what is an object or an array is JSON text.

    Args:
        name: Name of the prompt, for error messages.
        arguments: A mapping, or an object with fields. What is None is left out.

    Raises:
        UsageError: It is no JSON object; the message ends in the path.
    """
    plain = _plain_object(name, arguments)
    return {key: _text(value) for key, value in plain.items() if value is not None}


def _text(value: Any) -> str:
    return value if value.__class__ is str else msgspec.json.encode(value).decode()


def _plain_object(name: str, arguments: Any) -> dict[str, Any]:
    try:
        plain = to_plain(arguments)
    except Exception as error:
        # Loaded when a value cannot be encoded.
        from mcp_gen.values.unserializable import not_json

        raise not_json(arguments, name, "$.arguments") or error from None
    if plain.__class__ is not dict:
        raise UsageError(
            f"{name}: arguments: expected a dict, or an object with fields such as a model or a "
            f"dataclass, got {type(arguments).__name__}"
        )
    made: dict[str, Any] = plain
    return made
