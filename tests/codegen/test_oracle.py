"""Oracle: datamodel-code-generator reads the schemas as this generator does."""

from __future__ import annotations

import ast
import copy
import json
import tempfile
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import mcp_wire
from codegen.emit.pydantic_models import document, printed
from codegen.model import ir
from codegen.schema.json_values import Object
from tests.wire.revisions import Kept, every_revision, kept

Seen: TypeAlias = Hashable
"""Comparable form of a type: a name, or a kind and its members, unordered."""


@dataclass(frozen=True)
class Property:
    required: bool
    type: Seen


# --- types in datamodel-code-generator ---


def metadata(definitions: Object) -> list[dict[str, Any]]:
    """Return the model metadata of datamodel-code-generator for a normalised schema."""
    return metadata_of(json.dumps(definitions))


@cache
def metadata_of(text: str) -> list[dict[str, Any]]:
    definitions: Object = json.loads(text)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "metadata.json"
        printed(document(definitions), {}, constants_default=False, metadata=file)
        models: list[dict[str, Any]] = json.loads(file.read_bytes())["models"]
    return models


def theirs(definitions: Object) -> dict[str, dict[str, Property]]:
    """Return the properties of each definition by wire name; an alias has one without a name."""
    models = metadata(definitions)
    definition = {model["class_name"]: name_of(model) for model in models}
    return {
        name_of(model): {
            field["alias"]: Property(
                field["required"], read(field["type"], definition, optional=not field["required"])
            )
            for field in model["fields"]
        }
        for model in models
    }


def name_of(model: dict[str, Any]) -> str:
    return str(model["source_ref"]).rpartition("/")[2]


def read(text: str, definition: dict[str, str], *, optional: bool) -> Seen:
    """Return the type in an annotation; an optional type is a union with None."""
    seen = read_node(ast.parse(text, mode="eval").body, definition)
    if optional:
        (absent, *others) = sorted(arms_of(seen), key=lambda arm: arm != "None")
        assert absent == "None", text
        return union(others)
    return seen


def read_node(node: ast.expr, definition: dict[str, str]) -> Seen:
    match node:
        case ast.Name(id="str" | "int" | "float" | "bool" | "Any" as name):
            return name
        case ast.Name(id=name):
            return ("definition", definition[name])
        case ast.Constant(value=None):
            return "None"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return union([read_node(left, definition), read_node(right, definition)])
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return ("list", read_node(item, definition))
        case ast.Subscript(
            value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), value])
        ):
            return ("dict", read_node(value, definition))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            return ("literal", frozenset(literals(values)))
        case _:
            raise AssertionError(f"no type known: {ast.unparse(node)}")


def literals(node: ast.expr) -> list[Any]:
    found = ast.literal_eval(node)
    return list(found) if isinstance(found, tuple) else [found]


# --- types in our model ---


def ours(there: Kept) -> dict[str, dict[str, Property]]:
    model = there.model
    return {
        **{name: dict(properties(struct)) for name, struct in model.structs.items()},
        **{name: {"": Property(True, say(alias.type))} for name, alias in model.aliases.items()},
    }


def properties(struct: ir.Struct) -> Iterator[tuple[str, Property]]:
    if struct.tag:
        yield struct.tag.wire, Property(True, say(ir.Choice((struct.tag.value,))))
    for field in struct.fields:
        yield field.wire, Property(field.absent not in ("none", "unset"), say(field.type))


def say(type_: ir.Type) -> Seen:
    match type_:
        case ir.Scalar(name):
            return {"number": "float", "null": "None", "any": "Any"}.get(name, name)
        case ir.Choice(values):
            return ("literal", frozenset(values))
        case ir.ListOf(item):
            return ("list", say(item))
        case ir.MapOf(value):
            return ("dict", say(value))
        case ir.Ref(name):
            return ("definition", name)
        case ir.OneOf(arms):
            return union([say(arm) for arm in arms])


def union(arms: list[Seen]) -> Seen:
    flat = frozenset(one for arm in arms for one in arms_of(arm))
    return ("union", flat) if len(flat) > 1 else next(iter(flat))


def arms_of(seen: Seen) -> frozenset[Seen]:
    match seen:
        case ("union", frozenset() as arms):
            return arms
        case _:
            return frozenset([seen])


# --- Both ---

RENAMED = {
    ("2024-11-05", "Annotated"): "AnnotatedModel",  # it would hide the Annotated that it imports
}
"""Definitions that datamodel-code-generator renames, with the new names."""


def differences(revision: str, definitions: Object) -> dict[str, tuple[Seen, Seen]]:
    """Return all differences by `Type/property`: their reading and ours."""
    there, here = theirs(definitions), ours(kept(revision))
    places = {(name, wire) for side in (there, here) for name, one in side.items() for wire in one}
    return {
        f"{name}/{wire}": (said, meant)
        for name, wire in sorted(places)
        if (said := there.get(name, {}).get(wire)) != (meant := here.get(name, {}).get(wire))
    }


@every_revision
def test_both_find_the_same_definitions(revision: str) -> None:
    assert theirs(kept(revision).normalized).keys() == ours(kept(revision)).keys()


@every_revision
def test_both_find_the_same_properties_types_and_requirements(revision: str) -> None:
    assert differences(revision, kept(revision).normalized) == {}


@every_revision
def test_both_call_a_definition_by_its_name(revision: str) -> None:
    renamed = {
        (revision, name_of(model)): model["class_name"]
        for model in metadata(kept(revision).normalized)
        if model["class_name"] != name_of(model)
    }
    assert renamed == {key: name for key, name in RENAMED.items() if key[0] == revision}


def test_each_kind_of_difference_is_seen() -> None:
    definitions = copy.deepcopy(kept(mcp_wire.LATEST).normalized)
    tool = definitions["Tool"]
    tool["required"].remove("inputSchema")
    del tool["properties"]["title"]
    tool["properties"]["other"] = {"type": "string"}
    tool["properties"]["icons"]["items"] = {"type": "string"}
    tool["properties"]["name"] = {"type": "integer"}
    assert list(differences(mcp_wire.LATEST, definitions)) == [
        "Tool/icons",
        "Tool/inputSchema",
        "Tool/name",
        "Tool/other",
        "Tool/title",
    ]
