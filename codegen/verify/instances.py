"""Instances of a JSON Schema for tests: valid ones, and those one step away from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from codegen.schema.structure import Json

Choose: TypeAlias = Callable[[Sequence[Any]], Any]
Schema: TypeAlias = Mapping[str, Any]

# Deeper than any message is without recursion; below it optional members and items are left out.
MAX_DEPTH = 6

BY_FORMAT = {"uri": "file:///a", "uri-template": "file:///{a}", "byte": "AAAA"}

BY_TYPE: Mapping[str, Sequence[Any]] = {
    "boolean": [False, True],
    "integer": [0, 1],
    "null": [None],
    "number": [0, 0.5, 1],
    "string": ["", "text"],
}

# Each type once, both sides of the bounds 0 and 1, no constant, no URI and no template.
WRONG: Sequence[Json] = [None, True, -1, 1.5, 2, "{", [], {}]


def instance(document: Schema, schema: Schema | bool, choose: Choose, depth: int = 0) -> Any:
    """Return an instance of `schema`, valid in all but odd cases; `choose` picks from a list.

    Choosing the first item gives the smallest instance, choosing the last one the fullest.
    """

    def of(part: Schema | bool) -> Any:
        return instance(document, part, choose, depth + 1)

    match schema:
        case bool():
            return {}
        case {"$ref": str(ref)}:
            _, container, name = ref.split("/")
            return of(document[container][name])
        case {"const": constant}:
            return constant
        case {"enum": values}:
            return choose(values)
        case {"anyOf": arms}:
            return of(choose(arms))
        case {"allOf": _}:
            own = {key: value for key, value in schema.items() if key != "allOf"}
            parts = [of(part) for part in [*schema["allOf"], own]]
            return {name: value for part in parts for name, value in part.items()}
        case {"type": list()}:
            return of({**schema, "type": choose(schema["type"])})
        case {"type": "array"}:
            repeat = choose([0, 1, 2]) if depth < MAX_DEPTH else 0
            return [of(schema["items"]) for _ in range(repeat)]
        case {"type": "object"} | {"properties": _}:
            required = schema.get("required", ())
            members = {
                name: of(member)
                for name, member in schema.get("properties", {}).items()
                if name in required or (depth < MAX_DEPTH and choose([False, True]))
            }
            others = schema.get("additionalProperties", False)
            if others is not False and depth < MAX_DEPTH and choose([False, True]):
                members["com.example/other"] = of(others)
            return members
        case {"format": str(known)}:
            return BY_FORMAT[known]
        case {"type": str(kind)}:
            return choose(BY_TYPE[kind])
        case _:
            return {}


def mutations(value: Json) -> Iterator[Json]:
    """Yield all values one step away: a part replaced, a key dropped or added, a long array."""
    yield from WRONG
    if isinstance(value, dict):
        yield {**value, "com.example/extra": 1}
        for name in value:
            yield {key: kept for key, kept in value.items() if key != name}
            for changed in mutations(value[name]):
                yield {**value, name: changed}
    if isinstance(value, list):
        yield value[:1] * 101
        for index, item in enumerate(value):
            for changed in mutations(item):
                yield [*value[:index], changed, *value[index + 1 :]]
