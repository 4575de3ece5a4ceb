"""Pydantic support, imported when the first pydantic type is used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.fields import FieldInfo

__all__ = [
    "InvalidValue",
    "adapter",
    "adapter_of",
    "default_of",
    "dump",
    "field_info",
    "first_error",
    "read",
    "schemas",
]


class InvalidValue(msgspec.ValidationError):
    """Value does not fit its type; the message ends in the path below `$`, as msgspec's do."""


def adapter(hint: Any, what: str) -> TypeAdapter[Any]:
    """Return the pydantic adapter of a type.

    Args:
        hint: The annotation.
        what: Beginning of the error message.

    Raises:
        UsageError: Pydantic cannot handle the type, or is not installed.
    """
    try:
        # Loaded when used: pydantic is optional, and slow to import.
        import pydantic
    except ImportError:
        raise UsageError(f"{what}: {hint!r} needs pydantic: install `mcp-gen[pydantic]`") from None
    try:
        return pydantic.TypeAdapter(hint)
    except pydantic.errors.PydanticUserError as error:
        raise UsageError(f"{what}: pydantic cannot read {hint!r}: {error.message}") from None


@lru_cache(maxsize=1024)
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a class of pydantic, from a cache.

    Raises:
        UsageError: Pydantic cannot handle the type.
    """
    return adapter(kind, kind.__name__)


def read(adapter: TypeAdapter[Any], value: Any, path: str, *, strings: bool = False) -> Any:
    """Validate a value.

    Args:
        adapter: Adapter of the expected type.
        value: JSON bytes, or plain JSON if `strings` is true.
        path: JSON path of the value, for the error message.
        strings: A value that is a string may be converted to a number and others.

    Raises:
        InvalidValue: The value does not fit; the message ends in the path.
    """
    # Loaded when used: pydantic is optional, and slow to import.
    from pydantic import ValidationError

    try:
        if not strings:
            return adapter.validate_json(bytes(value))
        if isinstance(value, str):
            return adapter.validate_python(value)
        return adapter.validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        message, below = first_error(error)
        raise InvalidValue(f"{message} - at `{path}{below}`") from None


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the message and the path, below the value, of the first error."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    below = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"])
    return first["msg"], below


def dump(adapter: TypeAdapter[Any], value: Any) -> bytes:
    """Encode a value as JSON that matches its schema.

    Raises:
        ValueError: The value is not of the adapter's type.
    """
    return adapter.dump_json(value, by_alias=True, warnings="error")


def schemas(
    adapters: Mapping[str, TypeAdapter[Any]],
    mode: Literal["validation", "serialization"],
    taken: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the JSON Schemas of adapters by name, and the shared definitions for `$defs`.

    Args:
        adapters: Adapters by name.
        mode: `validation` for input, `serialization` for output.
        taken: Definition names in use, which the new ones avoid.
    """
    # Loaded when used: pydantic is optional, and slow to import.
    from pydantic import TypeAdapter

    suffix = ""
    while True:
        named, shared = TypeAdapter.json_schemas(
            [(name, mode, one) for name, one in adapters.items()],
            ref_template=f"#/$defs/{{model}}{suffix}",
        )
        definitions: dict[str, Any] = {
            name + suffix: one for name, one in shared.get("$defs", {}).items()
        }
        if not definitions.keys() & taken.keys():
            return {name: dict(schema) for (name, _), schema in named.items()}, definitions
        suffix += "_"


def field_info(default: Any) -> FieldInfo | None:
    """Return the default if it is a pydantic field: `count: int = Field(1, ge=0)`; else None."""
    if type(default).__module__ != "pydantic.fields":
        return None
    # Loaded when used: pydantic is optional, and slow to import.
    from pydantic.fields import FieldInfo

    return default if isinstance(default, FieldInfo) else None


def default_of(info: FieldInfo, nothing: Any) -> Any:
    """Return the default of a pydantic field, or `nothing` if the field is required."""
    if info.is_required():
        return nothing
    return info.get_default(call_default_factory=True, validated_data={})
