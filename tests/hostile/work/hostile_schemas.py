"""Hostile JSON Schemas, each with a value: what explodes, in compiling, checking or explaining."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["BAD", "FITS", "GIVEN_UP", "HOSTILE", "MISFITS", "HostileSchema"]

FITS = "fits"
MISFITS = "misfits"
GIVEN_UP = "given up"
"""Not checked: the deadline, or the memory, was used up."""
BAD = "bad"
"""The schema is not valid, or refers to another document."""

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
REF = {"$ref": "#/$defs/n"}
CLOSED = {"unevaluatedProperties": False}


@dataclass(frozen=True)
class HostileSchema:
    """One member of the class.

    Args:
        name: What explodes.
        schema: The schema, of type `object` at its root.
        value: A value that makes it explode.
        outcomes: Outcomes that are right; several where the versions of jsonschema-rs differ.
    """

    name: str
    schema: dict[str, Any]
    value: Any
    outcomes: tuple[str, ...]


def row(
    name: str,
    part: Any,
    value: Any,
    *outcomes: str,
    defs: dict[str, Any] | None = None,
    root: dict[str, Any] | None = None,
) -> HostileSchema:
    """Return a member whose schema applies `part` to the property `v`."""
    schema = {"type": "object", "properties": {"v": part}, **(root or {})}
    if defs is not None:
        schema["$defs"] = defs
    return HostileSchema(name, schema, {"v": value}, outcomes)


def circle(name: str, node: Any, value: Any, *outcomes: str, **more: Any) -> HostileSchema:
    """Return a member whose schema applies `node`, which refers to itself as REF."""
    return row(name, REF, value, *outcomes, defs={"n": node, **more})


def nest(depth: int, leaf: Any = None) -> Any:
    """Return objects in each other; each has the key `a`."""
    value: Any = {} if leaf is None else leaf
    for _ in range(depth):
        value = {"a": value}
    return value


def arrays(depth: int) -> Any:
    """Return arrays in each other."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def twice(keyword: str, **more: Any) -> dict[str, Any]:
    """Return a node that applies itself to the member `a` twice, by a keyword with a list."""
    return {"type": "object", keyword: [{"properties": {"a": REF}}] * 2, **more}


def doubling(keyword: str, levels: int, leaf: Any, **more: Any) -> dict[str, Any]:
    """Return definitions without a circle, each of which applies the next one twice."""
    steps = {
        f"n{at}": {keyword: [{"$ref": f"#/$defs/n{at + 1}"}] * 2, **more} for at in range(levels)
    }
    return {**steps, f"n{levels}": leaf}


def wrapped(levels: int, part: Any, **around: Any) -> Any:
    """Return a schema under an `allOf` under an `allOf`, each with more keywords."""
    for _ in range(levels):
        part = {"allOf": [part], **around}
    return part


def chain(links: int) -> dict[str, Any]:
    """Return definitions that each refer to the next one."""
    steps = {f"n{at}": {"$ref": f"#/$defs/n{at + 1}"} for at in range(links)}
    return {**steps, f"n{links}": {"type": "string"}}


def lineage(length: int) -> dict[str, Any]:
    """Return definitions that apply themselves to a member, and beside it the next one."""
    steps = {
        f"n{at}": {
            "properties": {"a": {"$ref": f"#/$defs/n{at}"}},
            "patternProperties": {"^a": {"$ref": f"#/$defs/n{at + 1}"}},
        }
        for at in range(length)
    }
    return {**steps, f"n{length}": {"type": "object"}}


def many(count: int, part: Any) -> dict[str, Any]:
    """Return as many properties."""
    return {f"p{at}": part for at in range(count)}


MEMBER = {"properties": {"a": REF}}
OBJECT = {"type": "object", **MEMBER}
START = {"$ref": "#/$defs/n0"}

CIRCLES = [
    circle("anyOf", twice("anyOf"), nest(30, "x"), MISFITS, GIVEN_UP),
    circle("oneOf", twice("oneOf"), nest(30), MISFITS, GIVEN_UP),
    circle("allOf", twice("allOf"), nest(30), FITS, GIVEN_UP),
    circle("anyOf unevaluated", twice("anyOf", **CLOSED), nest(30, "x"), MISFITS, GIVEN_UP),
    circle("oneOf unevaluated", twice("oneOf", **CLOSED), nest(30), MISFITS, GIVEN_UP),
    circle("allOf unevaluated", twice("allOf", **CLOSED), nest(30), FITS, GIVEN_UP),
    circle(
        "unevaluatedProperties",
        {"anyOf": [{"required": ["b"]}, {}], "unevaluatedProperties": REF},
        nest(30),
        *(FITS, GIVEN_UP),
    ),
    circle(
        "unevaluatedItems",
        {"anyOf": [{"minItems": 9}, {}], "unevaluatedItems": REF},
        arrays(30),
        *(FITS, GIVEN_UP),
    ),
    circle(
        "if, then and else",
        {"type": "object", "if": MEMBER, "then": MEMBER, "else": MEMBER},
        nest(30, "x"),
        *(MISFITS, GIVEN_UP),
    ),
    circle("not", {"not": MEMBER, **MEMBER}, nest(30), FITS, MISFITS, GIVEN_UP),
    circle(
        "dependentSchemas",
        {**OBJECT, "dependentSchemas": {"a": MEMBER}},
        nest(30),
        *(FITS, GIVEN_UP),
    ),
    circle(
        "patterns that overlap",
        {**OBJECT, "patternProperties": {"a": REF, "^a": REF}},
        nest(30),
        *(FITS, GIVEN_UP),
    ),
    circle(
        "contains",
        {"type": "array", "contains": REF, "items": REF, "minContains": 0},
        arrays(40),
        *(FITS, GIVEN_UP),
    ),
    circle(
        "a reference beside properties",
        {**OBJECT, "$ref": "#/$defs/m"},
        nest(30),
        *(FITS, GIVEN_UP),
        m=MEMBER,
    ),
    row("circles that lead to circles", START, nest(60), FITS, GIVEN_UP, defs=lineage(20)),
    circle("a reference to itself", REF, 1, FITS, BAD, GIVEN_UP),
    circle(
        "references to each other",
        {"anyOf": [{"$ref": "#/$defs/m"}]},
        1,
        *(FITS, BAD, GIVEN_UP),
        m={"allOf": [REF]},
    ),
    circle(
        "dynamic references",
        {
            "$dynamicAnchor": "n",
            "type": "object",
            "anyOf": [{"properties": {"a": {"$dynamicRef": "#n"}}}] * 2,
        },
        nest(30, "x"),
        *(MISFITS, GIVEN_UP),
    ),
    HostileSchema(
        "recursive references",
        {
            "$schema": DRAFT_2019,
            "$recursiveAnchor": True,
            "type": "object",
            "anyOf": [{"properties": {"a": {"$recursiveRef": "#"}}}] * 2,
        },
        nest(30, "x"),
        (MISFITS, GIVEN_UP),
    ),
    HostileSchema(
        "a circle at the root",
        {**twice("oneOf"), "$defs": {"n": {"$ref": "#"}}},
        nest(30),
        (MISFITS, GIVEN_UP),
    ),
    circle("a deep value", {"items": REF}, arrays(300), FITS, MISFITS),
]
"""References that lead back: what is applied multiplies with the depth of the value."""

MULTIPLIED = [
    row("allOf, thirty times two", START, "x", GIVEN_UP, defs=doubling("allOf", 30, {})),
    row(
        "anyOf, thirty times two",
        START,
        "x",
        GIVEN_UP,
        defs=doubling("anyOf", 30, {"type": "integer"}),
    ),
    row(
        "oneOf, thirty times two",
        START,
        "x",
        *(MISFITS, GIVEN_UP),
        defs=doubling("oneOf", 30, {}),
    ),
    row(
        "compiling what is unevaluated",
        {**START, **CLOSED},
        {"a": 1},
        GIVEN_UP,
        defs=doubling("allOf", 22, {"properties": {"a": True}}),
    ),
    row(
        "unevaluatedProperties in each other",
        wrapped(30, {"properties": {"a": True}}, **CLOSED),
        {"a": 1},
        GIVEN_UP,
    ),
    row(
        "unevaluatedItems in each other",
        wrapped(30, {"prefixItems": [True]}, unevaluatedItems=False),
        [1],
        GIVEN_UP,
    ),
    row(
        "errors of every item",
        {"anyOf": [{"items": {"type": "string"}}] * 10},
        [1] * 20_000,
        MISFITS,
    ),
    row("subschemas for every item", {"items": wrapped(50, {})}, [1] * 100_000, FITS, GIVEN_UP),
]
"""No circle, but what is applied multiplies all the same."""

PATTERNS = [
    row("look-ahead", {"pattern": "^(?=(a+)+$)b"}, "a" * 40, MISFITS, GIVEN_UP),
    row("look-ahead repeated", {"pattern": "^(?:a(?=a|!)|a)+$"}, "a" * 40 + "!", MISFITS, GIVEN_UP),
    row("look-behind", {"pattern": "(?<=(a|aa)+)$b"}, "a" * 40, MISFITS, GIVEN_UP, BAD),
    row("back-reference", {"pattern": r"^(a+)+\1b$"}, "a" * 40, MISFITS, GIVEN_UP),
    row("nested repetition", {"pattern": "^(a+)+$"}, "a" * 40 + "!", MISFITS),
    row("repetition below the limit", {"pattern": "^(a{99}){99}$"}, "a" * 9801, FITS),
    row("repetition above the limit", {"pattern": "(a{1000}){1000}"}, "a", BAD, GIVEN_UP),
    row(
        "repetition on a long text", {"pattern": "^(a?){4999}a{4999}$"}, "a" * 9_000, FITS, GIVEN_UP
    ),
    row("a Unicode property, repeated", {"pattern": r"\p{L}{999}"}, "a", BAD, GIVEN_UP, MISFITS),
    row(
        "a pattern per property",
        {"properties": many(3_000, {"pattern": "^[^a]{999}$"})},
        {"p1": "b"},
        *(MISFITS, GIVEN_UP),
    ),
    row(
        "patterns for every property",
        {"patternProperties": {f"^(a|b)*x{at}": {} for at in range(1_000)}},
        {f"abab{at}": 1 for at in range(2_000)},
        *(FITS, GIVEN_UP),
    ),
    row(
        "patterns as values",
        {"items": {"format": "regex"}},
        [rf"\p{{L}}{{{at}}}" for at in range(300, 320)],
        *(FITS, MISFITS, GIVEN_UP),
        root={"$schema": DRAFT_7},
    ),
]
"""Regular expressions."""

SIZES = [
    row("a huge enum", {"items": {"enum": [*many(50_000, 0)]}}, ["p9"] * 1_000, FITS, GIVEN_UP),
    row("an enum of objects", {"enum": [{"a": at} for at in range(20_000)]}, 1, MISFITS, GIVEN_UP),
    row("many properties", {"properties": many(20_000, {"type": "string"})}, {}, FITS, GIVEN_UP),
    row("many required", {"items": {"required": [*many(9_000, 0)]}}, [{}] * 5_000, MISFITS),
    row("a long chain", START, "x", FITS, GIVEN_UP, defs=chain(9_000)),
    row("schemas in each other", wrapped(60, {}), 1, FITS, GIVEN_UP),
    row("too many in each other", wrapped(120, {}), 1, FITS, GIVEN_UP, BAD),
    row("fractions", {"items": {"multipleOf": 0.1}}, [1e300] * 5_000, FITS, GIVEN_UP, MISFITS),
    row("large integers", {"items": {"multipleOf": 10**400}}, [10**401] * 100, FITS, MISFITS, BAD),
    row("a huge maxLength", {"maxLength": 10**400}, "x", FITS, BAD),
    row("unique items", {"uniqueItems": True}, [{"a": at} for at in range(20_000)], FITS),
    row(
        "JSON in a text",
        {"contentMediaType": "application/json"},
        "[" * 50_000,
        MISFITS,
        FITS,
        root={"$schema": DRAFT_7},
    ),
]
"""Schemas and values that are merely large."""

INVALID = [
    row("no type", {"type": 5}, 1, BAD),
    row("no pattern", {"pattern": "("}, "x", BAD),
    row("no properties", {"properties": 5}, 1, BAD),
    row("a negative length", {"minLength": -1}, "x", BAD),
    row("a missing part", {"$ref": "#/$defs/gone"}, 1, BAD),
    row("a reference over HTTP", {"$ref": "http://127.0.0.1:9/schema.json"}, 1, BAD),
    row("a reference over HTTPS", {"$ref": "https://localhost:9/schema.json"}, 1, BAD),
    row("a reference to a file", {"$ref": "file:///etc/passwd"}, 1, BAD),
    row("a relative reference", {"$ref": "other.json"}, 1, BAD),
    row(
        "a relative reference with a base",
        {"$ref": "other.json"},
        1,
        BAD,
        root={"$id": "http://127.0.0.1:9/base.json"},
    ),
    row("an unknown dialect", {}, 1, BAD, root={"$schema": "http://127.0.0.1:9/dialect"}),
]
"""Schemas that are none, or refer to another document."""

HOSTILE = [*CIRCLES, *MULTIPLIED, *PATTERNS, *SIZES, *INVALID]
