"""Descriptions of fields that are written as texts: `city: Annotated[str, "where to"]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

from mcp_gen.values.json_types import bare, metadata, without_qualifiers

__all__ = ["add_texts", "text_in"]


def text_in(hint: Any) -> str | None:
    """Return the text in the metadata of an annotation, or None."""
    return next((one for one in metadata(hint) if isinstance(one, str)), None)


def add_texts(hints: Iterable[Any], definitions: Mapping[str, dict[str, Any]]) -> None:
    """Add the descriptions of fields to the definitions of a JSON Schema that lack them.

    Msgspec takes descriptions from `Meta` alone. A parameter may have a text, and so may a field.

    Args:
        hints: Types of the schema, in which the classes of the definitions are.
        definitions: Definitions by name; changed in place.
    """
    classes: dict[type, dict[str, Any]] = {}
    for hint in hints:
        _collect(hint, classes)
    for kind, texts in classes.items():
        title = kind.__name__
        same = [one for one in definitions.values() if one.get("title") == title]
        if len(same) != 1 or sum(one.__name__ == title for one in classes) != 1:
            continue  # two classes of one name
        properties = same[0].get("properties", {})
        for name, text in texts.items():
            if name in properties:
                properties[name].setdefault("description", text)


def _collect(hint: Any, classes: dict[type, dict[str, Any]]) -> None:
    """Collect the classes in a type, with the texts of their fields by name in JSON."""
    kind = bare(hint)
    if get_origin(kind) is Literal:
        return
    for one in get_args(kind):
        _collect(one, classes)
    if not isinstance(kind, type) or kind in classes or not getattr(kind, "__annotations__", None):
        return
    hints = get_type_hints(kind, include_extras=True)
    names = {one.name: one.encode_name for one in fields(kind)} if issubclass(kind, Struct) else {}
    texts = {name: text_in(without_qualifiers(one)) for name, one in hints.items()}
    classes[kind] = {names.get(name, name): text for name, text in texts.items() if text}
    for one in hints.values():
        _collect(without_qualifiers(one), classes)
