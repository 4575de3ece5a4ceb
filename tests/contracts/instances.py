"""Makes values of a JSON Schema at random, without the code under test."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.contracts.schema_pairs import PATTERNS

__all__ = ["instances"]

POOL = 16
"""Values that are made of each part of a schema; members are picked from them."""
DEPTH = 6
ANY = (None, True, False, 0, 1, -3, 2.5, "", "ab", "a long text", [], [1, 1], {}, {"a": 1})
SMALL = (None, True, 0, 2.5, "", "ab", [], {})
TEXTS = ("", "a", "b", "ab", "abc", "red", "abcd", "0123456789", "2020-01-01", "é", "a" * 11)
NUMBERS = (0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 10, -3, -4, 0.5, 1.5, 2.5, 0.1, 0.3, 7.5, 100, -100)
OTHERS = ("other", "x-other", "z")


class _Maker:
    def __init__(self, root: Any, random: Random, *, as_sent: bool) -> None:
        self._root = root
        self._random = random
        self._as_sent = as_sent
        self._pools: dict[tuple[int, int], list[Any]] = {}

    def pool(self, schema: Any, depth: int) -> list[Any]:
        """Return values of a part of the schema; most of them fit."""
        key = (id(schema), depth)
        if key not in self._pools:
            self._pools[key] = [self.one(schema, depth) for _ in range(POOL)]
        return self._pools[key]

    def one(self, schema: Any, depth: int) -> Any:
        """Return one value; with luck it fits the schema."""
        random = self._random
        if not isinstance(schema, dict):
            return random.choice(ANY)
        if depth > DEPTH:
            return random.choice(SMALL)
        if "$ref" in schema:
            return random.choice(self.pool(self._resolve(schema["$ref"]), depth + 1))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return random.choice(self.pool(random.choice(schema[keyword]), depth + 1))
        if "allOf" in schema:
            return self._of_all(schema["allOf"], depth)
        types = schema.get("type")
        if types is None:
            types = "object" if "properties" in schema or "required" in schema else None
        if types is None:
            return random.choice(ANY)
        kind = random.choice(types) if isinstance(types, list) else types
        return getattr(self, f"_{kind}")(schema, depth)

    def _resolve(self, reference: str) -> Any:
        found = self._root
        for step in reference.split("/")[1:]:
            found = found[step]
        return found

    def _of_all(self, parts: list[Any], depth: int) -> Any:
        made = [self._random.choice(self.pool(part, depth + 1)) for part in parts]
        if not all(isinstance(one, dict) for one in made):
            return made[0]
        merged = {name: value for one in made for name, value in one.items()}
        if not self._as_sent or len(parts) == 1 or any(map(_says_others, parts)):
            return merged
        # Together they declare members: what one of them allows beside those is not sent.
        declared = {name for part in parts for name in _declared(part)}
        return {name: value for name, value in merged.items() if name in declared}

    def _null(self, schema: Any, depth: int) -> None:
        return None

    def _boolean(self, schema: Any, depth: int) -> bool:
        return self._random.random() < 0.5

    def _number(self, schema: Any, depth: int) -> Any:
        found = self._random.choice(NUMBERS)
        multiple = schema.get("multipleOf")
        return found if multiple is None else self._random.randint(-5, 8) * multiple

    def _integer(self, schema: Any, depth: int) -> Any:
        found = int(self._number(schema, depth))
        return float(found) if self._random.random() < 0.1 else found

    def _string(self, schema: Any, depth: int) -> str:
        return self._random.choice(PATTERNS.get(schema.get("pattern"), TEXTS))

    def _array(self, schema: Any, depth: int) -> list[Any]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        low = schema.get("minItems", 0)
        length = low + self._random.choice([0, 0, 1, 2, len(first)])
        length = min(length, schema.get("maxItems", length))
        if rest is False:
            length = min(length, len(first))
        pools = [
            self.pool(first[place] if place < len(first) else rest, depth + 1)
            for place in range(length)
        ]
        return [self._random.choice(one) for one in pools]

    def _object(self, schema: Any, depth: int) -> dict[str, Any]:
        random = self._random
        named = schema.get("properties", {})
        required = schema.get("required", ())
        names = [one for one in named if one in required or random.random() < 0.5]
        made = {name: random.choice(self.pool(named[name], depth + 1)) for name in names}
        for name in required:
            if name not in named:
                made[name] = random.choice(ANY)
        others = schema.get("additionalProperties")
        is_open = "patternProperties" in schema or "properties" not in schema
        may_be_more = others is not None or is_open or not self._as_sent
        if may_be_more and others is not False and random.random() < 0.4:
            held = True if others is None else others
            made[random.choice(OTHERS)] = random.choice(self.pool(held, depth + 1))
        for part in schema.get("patternProperties", {}).values():
            if random.random() < 0.4:
                made["x-e"] = random.choice(self.pool(part, depth + 1))
        return made


def _says_others(part: Any) -> bool:
    return "additionalProperties" in part or "patternProperties" in part


def _declared(part: Any) -> set[str]:
    return {*part.get("properties", {}), *part.get("required", ())}


def instances(schema: Any, random: Random, *, as_sent: bool) -> Iterator[Any]:
    """Yield values without end; most of them fit the schema.

    Args:
        schema: The schema.
        random: Source of choices.
        as_sent: True if members that are not declared are left out where the schema names some.
    """
    maker = _Maker(schema, random, as_sent=as_sent)
    while True:
        yield maker.one(schema, 0)
