"""Stand-ins for classes whose defaults msgspec cannot publish in their JSON Schema."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, inspect

from mcp_gen.values.custom_types import to_plain

__all__ = ["with_plain_defaults"]

_WITH_DEFAULTS = (inspect.DataclassType, inspect.StructType)


def with_plain_defaults(hint: Any) -> Any:
    """Return a type with the same JSON Schema, in which all defaults are plain JSON.

    Msgspec encodes the defaults of fields for a schema, and knows no paths and pydantic models.

    Args:
        hint: A type that msgspec reads, with hooks.

    Raises:
        TypeError: The type holds itself.
    """
    return _stand_in(hint, {})


def _stand_in(hint: Any, made: dict[Any, Any]) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return hint
    if origin is Annotated:
        inner, *metadata = arguments
        return Annotated[(_stand_in(inner, made), *metadata)]
    if origin is Union or origin is UnionType:
        # `|` joins two types; these are a tuple of any length.
        return Union[tuple(_stand_in(one, made) for one in arguments)]  # noqa: UP007
    if origin is not None:
        inside = tuple(one if one is ... else _stand_in(one, made) for one in arguments)
        return hint if inside == arguments or not inside else origin[inside]
    return _stand_in_of_class(hint, made) if isinstance(hint, type) else hint


def _stand_in_of_class(kind: Any, made: dict[Any, Any]) -> Any:
    if kind not in made:
        info = inspect.type_info(kind)
        if not isinstance(info, _WITH_DEFAULTS):
            return kind
        made[kind] = None
        made[kind] = _struct(kind, info, made)
    if made[kind] is None:
        raise TypeError(f"{kind.__name__} holds itself, and has defaults that msgspec cannot write")
    return made[kind]


def _struct(kind: Any, info: Any, made: dict[Any, Any]) -> Any:
    hints, doc = get_type_hints(kind, include_extras=True), kind.__doc__ or ""
    fields: list[Any] = []
    for field in cast("tuple[inspect.Field, ...]", info.fields):
        default: Any = NODEFAULT
        if field.default is not NODEFAULT:
            default = to_plain(field.default)
        elif not field.required:
            default = msgspec.field(default_factory=field.default_factory)
        hint = _stand_in(hints[field.name], made)
        fields.append((field.name, hint) if field.required else (field.name, hint, default))
    return msgspec.defstruct(
        kind.__name__,
        fields,
        kw_only=True,
        rename={field.name: field.encode_name for field in info.fields},
        tag=getattr(info, "tag", None),
        tag_field=getattr(info, "tag_field", None),
        array_like=getattr(info, "array_like", False),
        forbid_unknown_fields=getattr(info, "forbid_unknown_fields", False),
        # Python gives a dataclass without docstring its signature.
        namespace={"__doc__": None if doc.startswith(f"{kind.__name__}(") else doc},
    )
