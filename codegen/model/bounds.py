"""Bounds of a normalised schema, as data beside its type."""

from collections.abc import Iterator

from codegen.model import ir
from codegen.schema.json_values import Object
from codegen.schema.keywords import BOUNDS


def bounds(schema: Object, at: tuple[str, ...] = ()) -> Iterator[ir.Bound]:
    """Yield the bounds of a schema and of its items, values and arms."""
    for word in BOUNDS:
        if word in schema:
            yield ir.Bound(at, word, schema[word])
    if "properties" in schema:
        return  # those of its fields
    for word, step in (("items", "items"), ("additionalProperties", "values")):
        if isinstance(schema.get(word), dict):
            yield from bounds(schema[word], (*at, step))
    for number, arm in enumerate(schema.get("anyOf", ())):
        yield from bounds(arm, (*at, str(number)))
