"""A grammar of schemas, and of values that may satisfy them; each is drawn by a number."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from codegen.schema.json_values import is_array, is_object

Schema = dict[str, Any]

KEYS = ("a", "b", "kind", "next", "_meta", "str", "list", "class", "2fa", "größe", "x y", "json")
WORDS = ("", "a", "b", "kind", '"""', "a\nb", "{{ x }}")
DEFINITIONS = ("Top", "Alpha", "Beta", "Gamma", "Delta")
SCALARS = ("string", "integer", "number", "boolean", "null")
VALUES: tuple[Any, ...] = (*WORDS, 0, 1, 2, 7, -1, True, False, None)
BOUNDS: tuple[tuple[str, str, Any], ...] = (
    ("string", "pattern", "^a"),
    ("string", "minLength", 1),
    ("string", "format", "uri"),
    ("integer", "minimum", 1),
    ("number", "maximum", 2),
    ("integer", "multipleOf", 2),
    ("array", "maxItems", 1),
    ("array", "uniqueItems", True),
    ("object", "minProperties", 1),
)
ODD: tuple[Schema, ...] = (
    {"not": {}},
    {"type": "object", "patternProperties": {"^a": {}}},
    {"enum": [1.5]},
    {"const": {}},
    {"$ref": "#/$defs/Gone"},
    {"properties": {"a": {}}},
    {"type": "array", "items": False},
    {"type": "string", "x-odd": 1},
)
MAX_DEPTH = 3


def schemas(random: Random) -> dict[str, Any]:
    """Return the definitions of a schema; `Top` is the one to look at."""
    made: dict[str, Any] = {}
    objects = random.sample(DEFINITIONS, 3)
    for name in DEFINITIONS:
        one, other = ({"$ref": f"#/$defs/{found}"} for found in random.sample(objects, 2))
        match "object" if name in objects else random.choice(("derived", "union", "any", "any")):
            case "object":
                made[name] = _object(random, 0, tag=name)
            case "derived":
                made[name] = {"allOf": [one, _object(random, 0, tag=None)]}
            case "union":
                made[name] = {random.choice(("anyOf", "oneOf")): [one, other]}
            case _:
                made[name] = _schema(random, 1)
    return made


def _schema(random: Random, depth: int) -> Any:
    """Return a schema; deep ones are scalars and references."""
    if random.random() < 0.01:
        return random.choice(ODD)
    rare = ("allOf", "oneOf", "types", "true", "sibling")
    usual = ("scalar", "scalar", "ref", "ref", "enum", "const")
    deep = ("object", "array", "map", "anyOf", "nullable", *rare)
    match random.choice((*usual, *(deep if depth < MAX_DEPTH else ()))):
        case "ref":
            return _reference(random)
        case "enum":
            return {"enum": random.sample(VALUES, random.randint(1, 3))}
        case "const":
            return {"const": random.choice(VALUES)}
        case "object":
            return _object(random, depth)
        case "array":
            return _bounded(random, {"type": "array", "items": _schema(random, depth + 1)})
        case "map":
            return {"type": "object", "additionalProperties": _schema(random, depth + 1)}
        case "anyOf":
            return {"anyOf": [_schema(random, depth + 1) for _ in range(random.randint(1, 3))]}
        case "oneOf":
            kinds = random.sample((*SCALARS[:2], *SCALARS[3:], "ref", "array"), 2)
            return {"oneOf": [_arm(random, kind, depth) for kind in kinds]}
        case "allOf":
            other = random.choice(({}, {"type": "string"}, {"enum": [*VALUES]}, _bounds(random)))
            return {"allOf": random.sample([_schema(random, depth + 1), other], 2)}
        case "nullable":
            return {"anyOf": [_schema(random, depth + 1), {"type": "null"}]}
        case "types":
            kinds = random.sample((*SCALARS, "array", "object"), random.randint(1, 3))
            return {"type": kinds, "items": _schema(random, depth + 1)}
        case "sibling":
            return {**_reference(random), **random.choice(({"default": 1}, {"required": ["a"]}))}
        case "true":
            return True
        case _:
            return _bounded(random, {"type": random.choice(SCALARS)})


def _reference(random: Random) -> Schema:
    return {"$ref": f"#/$defs/{random.choice(DEFINITIONS)}"}


def _arm(random: Random, kind: str, depth: int) -> Schema:
    if kind == "ref":
        return _reference(random)
    return {"type": kind, **({"items": _schema(random, depth + 1)} if kind == "array" else {})}


def _bounds(random: Random) -> Schema:
    kind, word, value = random.choice(BOUNDS)
    return {"type": kind, word: value}


def _object(random: Random, depth: int, tag: str | None = "") -> Schema:
    """Return an object; its tag is a constant of any value if it is empty."""
    keys = random.sample(KEYS, random.randint(0, 4))
    properties = {key: _schema(random, depth + 1) for key in keys}
    if tag or (tag is not None and random.random() < 0.2):
        properties["kind"] = {"const": tag or random.choice(WORDS)}
        keys = list(properties)
    required = [key for key in keys if key == "kind" or random.random() < 0.5]
    made: Schema = {"type": "object", "properties": properties, "required": required}
    if random.random() < 0.2:
        made["additionalProperties"] = False
    if random.random() < 0.05:
        made["required"] = sorted({*required, random.choice(KEYS)})
    return _bounded(random, made)


def _bounded(random: Random, schema: Schema) -> Schema:
    found = [(word, value) for kind, word, value in BOUNDS if kind == schema["type"]]
    if found and random.random() < 0.2:
        schema.update([random.choice(found)])
    return schema


# --- values ---


def instances(random: Random, definitions: dict[str, Any], count: int) -> Iterator[Any]:
    """Yield values near to those of `Top`: some are valid, some a step away, some anything."""
    for number in range(count):
        value = _instance(random, definitions, definitions["Top"], 0)
        value = value if number % 2 else _changed(random, value)
        yield value if random.random() < 0.7 else _with_fractions(random, value)


def _instance(random: Random, definitions: Schema, schema: Any, depth: int) -> Any:
    def of(part: Any) -> Any:
        return _instance(random, definitions, part, depth + 1)

    if not is_object(schema):
        return random.choice(VALUES)
    if "$ref" in schema:
        found = definitions.get(schema["$ref"].rpartition("/")[2], {})
        return of(found) if depth < 3 * MAX_DEPTH else None
    if "const" in schema:
        return schema["const"]
    for word in ("enum", "anyOf", "oneOf"):
        if word in schema:
            chosen: Any = random.choice(schema[word])
            return chosen if word == "enum" else of(chosen)
    if "allOf" in schema:
        parts = [of(arm) for arm in schema["allOf"]]
        objects = [part for part in parts if is_object(part)]
        return {k: v for one in objects for k, v in one.items()} if objects else parts[-1]
    kind: Any = schema.get("type")
    if is_array(kind):
        return of({**schema, "type": random.choice(kind)})
    if kind == "array":
        count = 0 if depth > 2 * MAX_DEPTH else random.randint(0, 2)
        return [of(schema.get("items", {})) for _ in range(count)]
    if kind == "object":
        return _members(random, schema, of, depth)
    return random.choice([one for one in (*VALUES, 1.5, -0.5) if kind is None or _is(one, kind)])


def _members(random: Random, schema: Schema, of: Any, depth: int) -> Schema:
    required = schema.get("required", [])
    properties = schema.get("properties", {})
    chance = 0.6 if depth < 2 * MAX_DEPTH else 0
    made = {k: of(v) for k, v in properties.items() if k in required or random.random() < chance}
    made |= {key: random.choice(VALUES) for key in required if key not in properties}
    others = schema.get("additionalProperties", True)
    if others is not False and random.random() < chance / 2:
        made[random.choice(("z", "zz"))] = of(others)
    return made


def _changed(random: Random, value: Any) -> Any:
    """Return a value a step away: a part is another value, or is missing, or is one too many."""
    if is_object(value) and value and random.random() < 0.8:
        key = random.choice(list(value))
        others = {name: one for name, one in value.items() if name != key}
        match random.choice(("drop", "more", "change", "change")):
            case "drop":
                return others
            case "more":
                return {**value, random.choice((*KEYS, "z")): random.choice(VALUES)}
            case _:
                return {**value, key: _changed(random, value[key])}
    if is_array(value) and value and random.random() < 0.8:
        place = random.randrange(len(value))
        return [*value[:place], _changed(random, value[place]), *value[place + 1 :]]
    return random.choice((*VALUES, 1.5, [], {}, [1], {"a": 1}))


def _with_fractions(random: Random, value: Any) -> Any:
    """Return a value with half of its integers written as in 1.0."""
    if is_object(value):
        return {key: _with_fractions(random, inner) for key, inner in value.items()}
    if is_array(value):
        return [_with_fractions(random, inner) for inner in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and random.random() < 0.5 else value


def _is(value: Any, kind: str) -> bool:
    names = {bool: "boolean", str: "string", float: "number", type(None): "null"}
    if isinstance(value, int) and not isinstance(value, bool):
        return kind in ("integer", "number")
    return names[type(value)] == kind
