"""Instances of a JSON Schema: valid ones, and those a step or two away from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from codegen.schema.json_values import is_array, is_object

if TYPE_CHECKING:
    from codegen.schema.structure import Json

Choose: TypeAlias = Callable[[Sequence[Any]], Any]
Schema: TypeAlias = Mapping[str, Any]

# Deeper than any message is without recursion; below it optional members and items are left out.
MAX_DEPTH = 6

PRESENT = (False, True)
"""Choices for a member that may be there, and for an unknown key of a map."""

REPEATS = (0, 1, 2)
"""Choices for the number of items in an array."""

BY_FORMAT = {
    "byte": "AAAA",
    "date": "2026-07-28",
    "date-time": "2026-07-28T00:00:00Z",
    "email": "a@example.com",
    "uri": "file:///a",
    "uri-template": "file:///{a}",
}

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
            return of(_behind(document, ref))
        case {"const": constant}:
            return constant
        case {"enum": values}:
            return choose(values)
        case {"anyOf": arms} | {"oneOf": arms}:
            # Far down one arm after the other: one of them ends.
            return of(choose(arms) if depth < MAX_DEPTH else arms[depth % len(arms)])
        case {"allOf": _}:
            own = {key: value for key, value in schema.items() if key != "allOf"}
            parts = [of(part) for part in [*schema["allOf"], *([own] if own else [])]]
            objects = [part for part in parts if is_object(part)]
            if len(objects) < len(parts):
                return parts[-1]
            return {name: value for part in objects for name, value in part.items()}
        case {"type": list()}:
            return of({**schema, "type": choose(schema["type"])})
        case {"type": "array"}:
            repeat = choose(REPEATS) if depth < MAX_DEPTH else 0
            repeat = max(repeat, schema.get("minItems", 0))
            return [of(schema.get("items", {})) for _ in range(repeat)]
        case {"type": "object"} | {"properties": _}:
            required = schema.get("required", ())
            members = {
                name: of(member)
                for name, member in schema.get("properties", {}).items()
                if name in required or (depth < MAX_DEPTH and choose(PRESENT))
            }
            others = schema.get("additionalProperties", False)
            if others is not False and depth < MAX_DEPTH and choose(PRESENT):
                members["com.example/other"] = of(others)
            return members
        case {"format": str(known)}:
            return BY_FORMAT.get(known, "text")
        case {"minimum": int(least)}:
            return least
        case {"type": str(kind)}:
            return choose(BY_TYPE[kind])
        case _:
            return {}


def mutations(value: Json) -> Iterator[Json]:
    """Yield all values one step away: a part replaced, a key dropped or added, a long array."""
    yield from WRONG
    if is_object(value):
        yield {**value, "com.example/extra": 1}
        for name in value:
            yield {key: kept for key, kept in value.items() if key != name}
            for changed in mutations(value[name]):
                yield {**value, name: changed}
    if is_array(value):
        yield value[:1] * 101
        for index, item in enumerate(value):
            for changed in mutations(item):
                yield [*value[:index], changed, *value[index + 1 :]]


# What a value may be replaced by, beside the wrong ones: numbers of both kinds that look alike, or
# that other languages cannot hold, and texts that are awkward to write.
STRANGE: Sequence[Json] = [
    0,
    1,
    0.0,
    1.0,
    -0.5,
    1e300,
    2**53 + 1,
    -(2**63),
    2**64,
    "",
    "text",
    "\u2028\x00",
    [[]],
    [{}],
]


SECOND_CHANGE = 0.2
"""Share of the changed values that are changed once more."""


@dataclass(frozen=True)
class Mutator:
    """Makes values that differ from an instance in a step or two.

    `random` chooses; `keys` are those that objects may get, and `values` those that a part may be
    replaced by.
    """

    random: Random
    keys: Sequence[str]
    values: Sequence[Json] = (*WRONG, *STRANGE)

    def changes(self, value: Json, count: int) -> Iterator[Json]:
        """Yield so many values with one change each, a fifth of them with a second one."""
        paths = [*_paths(value)]
        for _ in range(count):
            changed = self._step(value, self.random.choice(paths))
            if self.random.random() < SECOND_CHANGE:
                changed = self._step(changed, self.random.choice([*_paths(changed)]))
            yield changed

    def each_part(self, value: Json, depth: int) -> Iterator[Json]:
        """Yield the value with each of its keys wrong, down to a depth of objects.

        A key is left out, null, of another type, another value of its type, and an integer is
        written as in 1.0. The value itself is replaced by every wrong and every strange one.
        """
        yield from self.values
        yield from self.drops(value, depth)
        for path in _keys(value, depth):
            now = _at(value, path)
            alike = [one for one in self.values if _kind(one) == _kind(now) and one != now]
            others = [one for one in self.values if _kind(one) not in ("null", _kind(now))]
            yield _replaced(value, path, None)
            yield _replaced(value, path, self.random.choice(others))
            yield _replaced(value, path, self.random.choice(alike or others))
            if isinstance(now, int) and not isinstance(now, bool):
                yield _replaced(value, path, float(now))

    def drops(self, value: Json, depth: int) -> Iterator[Json]:
        """Yield the value without one of its keys at a time, down to a depth of objects."""
        return (_without(value, path) for path in _keys(value, depth))

    def _step(self, value: Json, path: Sequence[str | int]) -> Json:
        return _replaced(value, path, self._changed(_at(value, path)))

    def _changed(self, value: Json) -> Json:
        roll = self.random.random()
        if is_object(value) and roll < 0.7:
            return self._change_object(value, roll)
        if is_array(value) and roll < 0.3:
            return value[:1] * 101 if roll < 0.1 else value[:-1]
        return self.random.choice(self.values)

    def _change_object(self, value: dict[str, Json], roll: float) -> Json:
        if value and roll < 0.4:
            dropped = self.random.choice([*value])
            return {key: kept for key, kept in value.items() if key != dropped}
        return {**value, self.random.choice(self.keys): self.random.choice(self.values)}


def _paths(value: Json) -> Iterator[list[str | int]]:
    yield []
    if is_object(value):
        for name, inner in value.items():
            yield from ([name, *path] for path in _paths(inner))
    elif is_array(value):
        for index, inner in enumerate(value):
            yield from ([index, *path] for path in _paths(inner))


def _keys(value: Json, depth: int) -> Iterator[list[str | int]]:
    """Yield the paths of all keys down to a depth of objects, of each array in its first item."""
    if is_object(value):
        for name, inner in value.items():
            yield [name]
            if depth > 1:
                yield from ([name, *path] for path in _keys(inner, depth - 1))
    elif is_array(value) and value:
        yield from ([0, *path] for path in _keys(value[0], depth))


def _kind(value: Json) -> str:
    """Return the JSON type of a value."""
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case None:
            return "null"
        case _:
            return type(value).__name__


def _at(value: Any, path: Sequence[str | int]) -> Json:
    for step in path:
        value = value[step]
    found: Json = value
    return found


def _replaced(value: Any, path: Sequence[str | int], new: Json) -> Json:
    if not path:
        return new
    first, *deeper = path
    inner = _replaced(value[first], deeper, new)
    if isinstance(first, int):
        return [*value[:first], inner, *value[first + 1 :]]
    return {**value, first: inner}


def _without(value: Any, path: Sequence[str | int]) -> Json:
    *parents, last = path
    there: Any = _at(value, parents)
    return _replaced(value, parents, {key: kept for key, kept in there.items() if key != last})


def property_names(schema: Any) -> set[str]:
    """Return the names of all properties in a schema or document."""
    found: set[str] = set()
    if is_object(schema):
        members = schema.get("properties", {})
        if is_object(members):
            found |= members.keys()
        for inner in schema.values():
            found |= property_names(inner)
    elif is_array(schema):
        for inner in schema:
            found |= property_names(inner)
    return found


def _behind(document: Schema, ref: str) -> Any:
    """Return what a reference inside of a document points at."""
    found: Any = document
    for step in ref.removeprefix("#/").split("/"):
        word = step.replace("~1", "/").replace("~0", "~")
        found = found[int(word) if is_array(found) else word]
    return found
