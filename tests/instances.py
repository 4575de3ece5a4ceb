"""Instances of a JSON Schema for tests: valid ones, and those one step away from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
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


# --- Random changes ---

ODD: Sequence[Json] = [
    *WRONG,
    "1",
    "complete",
    "text",
    0,
    -0.0,
    1.0,
    1e300,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**63),
    -(2**70),
    [[]],
    {"": None},
    "\ud800",
]
"""Values for a random place: of each type, at the edge of what fits, and no Unicode text."""


def changed(value: Any, keys: Sequence[str], random: Random) -> Any:
    """Return the value with one change: a part replaced, dropped or added, or a key renamed.

    Args:
        value: JSON; it stays as it is.
        keys: Names for keys that are added or renamed.
        random: Chooses the place and the change.
    """
    inside = [*_places(value)]
    if not inside or random.random() < 0.15:
        return random.choice(ODD)
    holder, key = random.choice(inside)
    return _replaced(value, holder, _edited(holder, key, keys, random))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every object and array with each of its keys, and with None for a new one."""
    if isinstance(value, dict | list):
        yield value, None
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from _places(one)


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """Return the value with another part at the place of this one."""
    if value is old:
        return new
    if isinstance(value, dict):
        return {key: _replaced(one, old, new) for key, one in value.items()}
    return [_replaced(one, old, new) for one in value] if isinstance(value, list) else value


def _edited(holder: Any, key: Any, keys: Sequence[str], random: Random) -> Any:
    odd = random.choice(ODD)
    if isinstance(holder, list):
        return [*holder, odd] if key is None else [*holder[:key], odd, *holder[key + 1 :]]
    if key is None:
        return {**holder, random.choice(keys): odd}
    others = {name: one for name, one in holder.items() if name != key}
    return random.choice(
        [others, {**others, random.choice(keys): holder[key]}, {**holder, key: odd}]
    )
