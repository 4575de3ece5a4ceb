"""Types that pydantic reads and writes. It is imported when the first of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

__all__ = ["InvalidValue", "adapter", "default_of", "dump", "field_info", "read", "schemas"]


class InvalidValue(msgspec.ValidationError):
    """A value that does not fit; the message ends in the path below `$`, as msgspec's do."""


def adapter(hint: Any, what: str) -> TypeAdapter[Any]:
    """Reads and writes values of a type.

    Raises:
        UsageError: a type that pydantic cannot read, or no pydantic.
    """
    try:
        import pydantic
    except ImportError:
        raise UsageError(f"{what}: {hint!r} needs pydantic: install `mcp-gen[pydantic]`") from None
    try:
        return pydantic.TypeAdapter(hint)
    except pydantic.errors.PydanticUserError as error:
        raise UsageError(f"{what}: pydantic cannot read {hint!r}: {error.message}") from None


def read(adapter: TypeAdapter[Any], value: Any, path: str, *, strings: bool = False) -> Any:
    """The value that JSON stands for; with `strings`, what came as texts may be numbers too.

    Raises:
        BadValue: it is none; the message ends in the path.
    """
    from pydantic import ValidationError

    try:
        if strings:
            return adapter.validate_python(value)
        return adapter.validate_json(bytes(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        below = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"])
        raise InvalidValue(f"{first['msg']} - at `{path}{below}`") from None


def dump(adapter: TypeAdapter[Any], value: Any) -> bytes:
    """The value as JSON, as its schema says it.

    Raises:
        ValueError: it is not of that type.
    """
    return adapter.dump_json(value, by_alias=True, warnings="error")


def schemas(
    adapters: Mapping[str, TypeAdapter[Any]],
    mode: Literal["validation", "serialization"],
    taken: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The JSON Schemas of types, and the definitions that they share under `$defs`.

    No definition gets a name that is `taken`.
    """
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
    """The default if it is a pydantic field: `count: int = Field(1, ge=0)`."""
    if type(default).__module__ != "pydantic.fields":
        return None
    from pydantic.fields import FieldInfo

    return default if isinstance(default, FieldInfo) else None


def default_of(info: FieldInfo, nothing: Any) -> Any:
    """What a pydantic field stands for where nothing is given."""
    if info.is_required():
        return nothing
    return info.get_default(call_default_factory=True, validated_data={})
