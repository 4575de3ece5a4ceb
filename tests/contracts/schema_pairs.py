"""Makes pairs of JSON Schemas from a number: a schema, and the same one after some edits."""

from __future__ import annotations

import copy
from random import Random
from typing import Any, TypeAlias

__all__ = ["PATTERNS", "Schema", "edited", "schema_of"]

Schema: TypeAlias = dict[str, Any]

NAMES = ("a", "b", "c", "kind", "x-d")
TEXTS = ("", "a", "b", "ab", "abc", "2020-01-01", "red")
NUMBERS = (-2, 0, 1, 2, 3, 5, 0.5, 2.5)
PATTERNS = {"^a": ("a", "ab", "abc"), "^[a-z]+$": ("a", "red", "abc"), "b": ("b", "ab", "abcb")}
"""Patterns, each with texts that match."""
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


def schema_of(random: Random) -> Schema:
    """Return a schema; some refer to definitions, some of these to themselves."""
    made = _object(random, 2) if random.random() < 0.7 else _any(random, 2)
    if random.random() < 0.35:
        held = _any(random, 1)
        if random.random() < 0.4:
            held = _object(random, 1)
            held.setdefault("properties", {})["next"] = random.choice(
                [{"$ref": "#/$defs/D"}, {"type": "array", "items": {"$ref": "#/$defs/D"}}]
            )
        made["$defs"] = {"D": held}
        made.setdefault("properties", {})["d"] = {"$ref": "#/$defs/D"}
    return made


def _any(random: Random, depth: int) -> Schema:
    kinds = [_string, _number, _string, _number, _values, _types]
    if depth:
        kinds += [_object, _array, _any_of, _any_of, _one_of, _all_of, _rare]
    return random.choice(kinds)(random, depth)


def _string(random: Random, depth: int) -> Schema:
    made: Schema = {"type": "string"}
    if random.random() < 0.25:
        made["minLength"] = random.choice([0, 1, 2])
    if random.random() < 0.25:
        made["maxLength"] = random.choice([2, 3, 10])
    if random.random() < 0.15:
        made["pattern"] = random.choice([*PATTERNS])
    if random.random() < 0.08:
        made["format"] = random.choice(["date", "uri"])
    return made


def _number(random: Random, depth: int) -> Schema:
    made: Schema = {"type": random.choice(["integer", "integer", "number"])}
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if random.random() < 0.2:
            made[keyword] = random.choice(NUMBERS) + (5 if "ax" in keyword else -2)
    if random.random() < 0.15:
        made["multipleOf"] = random.choice([1, 2, 3, 0.5, 0.1])
    return made


def _values(random: Random, depth: int) -> Schema:
    if random.random() < 0.3:
        return {"const": random.choice([*TEXTS, *NUMBERS, None, True, [1], {"a": 1}])}
    pool = TEXTS if random.random() < 0.7 else (*NUMBERS, None, "a", True, False, {"a": "x"})
    return {"enum": random.sample(pool, random.randint(1, 4))}


def _types(random: Random, depth: int) -> Schema:
    made: Schema = {"type": random.sample(TYPES, random.randint(1, 3))}
    return made if random.random() < 0.8 else {}


def _object(random: Random, depth: int) -> Schema:
    named = {
        name: _any(random, depth - 1) if depth else _string(random, 0)
        for name in random.sample(NAMES, random.randint(0, 4))
    }
    made: Schema = {"type": "object", "properties": named}
    if named and random.random() < 0.6:
        made["required"] = random.sample([*named], random.randint(1, len(named)))
    chance = random.random()
    if chance < 0.35:
        made["additionalProperties"] = False
    elif chance < 0.45:
        made["additionalProperties"] = _number(random, 0)
    elif chance < 0.5:
        made["additionalProperties"] = True
    if random.random() < 0.1:
        made["patternProperties"] = {"^x-": _any(random, 0)}
    if random.random() < 0.1:
        made[random.choice(["minProperties", "maxProperties"])] = random.randint(0, 3)
    if random.random() < 0.05:
        made["propertyNames"] = {"maxLength": random.choice([1, 4])}
    if random.random() < 0.1:
        del made["properties"]
    return made


def _array(random: Random, depth: int) -> Schema:
    made: Schema = {"type": "array"}
    if random.random() < 0.8:
        made["items"] = _any(random, depth - 1)
    if random.random() < 0.2:
        made["prefixItems"] = [_any(random, depth - 1), _any(random, 0)]
        made["items"] = random.choice([False, True, _number(random, 0)])
    for keyword in ("minItems", "maxItems"):
        if random.random() < 0.2:
            made[keyword] = random.randint(0, 2) + (2 if keyword == "maxItems" else 0)
    if random.random() < 0.15:
        made["uniqueItems"] = True
    return made


def _any_of(random: Random, depth: int) -> Schema:
    if random.random() < 0.5:
        return {"anyOf": [_any(random, depth - 1), {"type": "null"}]}
    return {"anyOf": [_any(random, depth - 1) for _ in range(random.randint(1, 3))]}


def _one_of(random: Random, depth: int) -> Schema:
    if random.random() < 0.3:
        return {"oneOf": [_any(random, depth - 1) for _ in range(2)]}
    branches: list[Schema] = []
    for tag in random.sample(TEXTS, random.randint(2, 3)):
        branch = _object(random, depth - 1)
        branch.setdefault("properties", {})["kind"] = {"const": tag}
        branch["required"] = sorted({*branch.get("required", ()), "kind"})
        branches.append(branch)
    return {"oneOf": branches}


def _all_of(random: Random, depth: int) -> Schema:
    return {"allOf": [_object(random, 0), _object(random, 0)]}


def _rare(random: Random, depth: int) -> Schema:
    return random.choice(
        [
            {"not": {"type": "null"}},
            {"not": {"const": 1}},
            {"type": "array", "contains": {"type": "string"}},
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
            {"type": "object", "dependentRequired": {"a": ["b"]}},
        ]
    )


def edited(schema: Schema, random: Random) -> Schema:
    """Return a schema that differs by one to three edits; most of them widen it."""
    made = copy.deepcopy(schema)
    for _ in range(random.choice([1, 1, 2, 3])):
        places = [place for place in _places(made) if place is not None]
        random.choice(_EDITS)(random.choice(places), random)
    return made


def _places(schema: Any) -> list[Schema]:
    found: list[Schema] = []
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        found.append(one)
        for keyword in ("items", "additionalProperties", "not"):
            waiting.append(one.get(keyword))
        for keyword in ("anyOf", "allOf", "oneOf", "prefixItems"):
            waiting += one.get(keyword, [])
        for keyword in ("properties", "$defs", "patternProperties"):
            waiting += one.get(keyword, {}).values()
    return found


def _drop_keyword(place: Schema, random: Random) -> None:
    loose = ("minLength", "maxLength", "pattern", "minimum", "maximum", "multipleOf", "minItems",
             "maxItems", "uniqueItems", "format", "exclusiveMinimum", "required", "propertyNames",
             "minProperties", "maxProperties", "additionalProperties")  # fmt: skip
    here = [one for one in loose if one in place]
    if here:
        del place[random.choice(here)]


def _move_bound(place: Schema, random: Random) -> None:
    here = [one for one in place if one[:3] in ("min", "max") or one.startswith("exclusive")]
    if here:
        keyword = random.choice(here)
        step = random.choice([1, 1, 2, -1])
        place[keyword] += step if "ax" in keyword else -step
        if keyword not in ("minimum", "maximum") and not keyword.startswith("exclusive"):
            place[keyword] = max(0, place[keyword])


def _add_property(place: Schema, random: Random) -> None:
    if place.get("type") == "object":
        name = random.choice([*NAMES, "new"])
        place.setdefault("properties", {}).setdefault(name, _any(random, 0))


def _drop_property(place: Schema, random: Random) -> None:
    if place.get("properties"):
        name = random.choice([*place["properties"]])
        del place["properties"][name]
        if name in place.get("required", []) and random.random() < 0.8:
            place["required"].remove(name)


def _widen_type(place: Schema, random: Random) -> None:
    if place.get("type") == "integer":
        place["type"] = "number"
    elif isinstance(place.get("type"), str):
        place["type"] = [place["type"], random.choice(TYPES)]
        place["type"] = sorted(set(place["type"]))
    elif isinstance(place.get("enum"), list):
        place["enum"].append("more")


def _narrow(place: Schema, random: Random) -> None:
    if place.get("type") == "number":
        place["type"] = "integer"
    elif isinstance(place.get("enum"), list) and len(place["enum"]) > 1:
        place["enum"].pop()
    elif place.get("properties"):
        name = random.choice([*place["properties"]])
        place["required"] = sorted({*place.get("required", ()), name})
    elif place.get("type") == "string":
        place["maxLength"] = 1


def _say_otherwise(place: Schema, random: Random) -> None:
    """Say the same in another way."""
    chance = random.random()
    held = dict(place)
    if chance < 0.4:
        place["description"] = "said otherwise"
    elif "$defs" not in place and chance < 0.7:
        place.clear()
        place["allOf"] = [held]
    elif isinstance(place.get("type"), list):
        types = place.pop("type")
        place["anyOf"] = place.get("anyOf") or [{"type": one} for one in types]
    elif "const" in place:
        place["enum"] = [place.pop("const")]


def _add_branch(place: Schema, random: Random) -> None:
    for keyword in ("anyOf", "oneOf"):
        if keyword in place:
            place[keyword].append(random.choice([{"type": "null"}, _any(random, 0)]))
            return
    if "$defs" not in place:
        held = dict(place)
        place.clear()
        place["anyOf"] = [held, random.choice([{"type": "null"}, _any(random, 0)])]


_EDITS = (
    _drop_keyword,
    _drop_keyword,
    _move_bound,
    _add_property,
    _drop_property,
    _widen_type,
    _widen_type,
    _narrow,
    _say_otherwise,
    _say_otherwise,
    _add_branch,
)
