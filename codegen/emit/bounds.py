"""Finds the bounds of fields, and the fields that lead to values with bounds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from codegen.model import ir
from codegen.schema.keywords import ANNOTATIONS

Bounds: TypeAlias = list[tuple[str, list[ir.Bound]]]


def field_bounds(revision: ir.Revision) -> Bounds:
    """Return the checked bounds of each field that has any, those of its aliases included."""
    found = [
        (f"{name}.{field.name}", [*_of_field(revision, field)])
        for name, struct in sorted(revision.structs.items())
        for field in struct.fields
    ]
    return [(path, bounds) for path, bounds in found if bounds]


def reaching_fields(revision: ir.Revision) -> list[tuple[str, list[str]]]:
    """Return, for each type, the fields that hold values with bounds at any depth."""
    bounded = {path.partition(".")[0] for path, _ in field_bounds(revision)}
    named = {
        name: {field.name: _structs(revision, field.type) for field in struct.fields}
        for name, struct in revision.structs.items()
    }
    while True:
        more = {
            name
            for name, fields in named.items()
            if name not in bounded and any(held & bounded for held in fields.values())
        }
        if not more:
            break
        bounded |= more
    return [
        (name, fields)
        for name in sorted(named)
        if (fields := [field for field, held in named[name].items() if held & bounded])
    ]


def _of_field(revision: ir.Revision, field: ir.Field) -> Iterator[ir.Bound]:
    for bound in (*field.bounds, *_of_type(revision.aliases, field.type, ())):
        if bound.keyword in ANNOTATIONS:
            continue
        at = tuple(step for step in bound.at if not step.isdecimal())
        # The keyword itself says which kind of value it is about: the arm of a union need not.
        yield replace(bound, at=at)


def _of_type(
    aliases: Mapping[str, ir.Alias], type_: ir.Type, at: tuple[str, ...]
) -> Iterator[ir.Bound]:
    match type_:
        case ir.Ref(name) if name in aliases:
            for bound in aliases[name].bounds:
                yield replace(bound, at=(*at, *bound.at))
            yield from _of_type(aliases, aliases[name].type, at)
        case ir.ListOf(item):
            yield from _of_type(aliases, item, (*at, "items"))
        case ir.MapOf(value):
            yield from _of_type(aliases, value, (*at, "values"))
        case ir.OneOf(arms):
            for arm in arms:
                yield from _of_type(aliases, arm, at)
        case ir.Ref() | ir.Scalar() | ir.Choice():
            return


def _structs(
    revision: ir.Revision, type_: ir.Type, passed: frozenset[str] = frozenset()
) -> set[str]:
    """Return the structs that a type holds directly, in lists, maps and unions."""
    found: set[str] = set()
    for name in ir.mentions(type_):
        if name in revision.structs:
            found.add(name)
        elif name not in passed:
            found |= _structs(revision, revision.aliases[name].type, passed | {name})
    return found
