"""Bounds of values: limits that a revision's schema states beside the types.

Decoding never refuses a value because of a bound. What is sent keeps them, and the closed check
names those that are broken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_wire import Wire
from mcp_wire.bounds import BOUNDS, REACHES

__all__ = ["bounded_fields", "broken_bounds", "check_bounds"]


class _Bound(Struct, frozen=True):
    steps: tuple[str, ...]
    keyword: str
    limit: Any


class _BoundedField(NamedTuple):
    """A field with bounds, or one that holds types with bounds."""

    name: str
    wire: str
    bounds: tuple[_Bound, ...]
    leads_further: bool


def check_bounds(value: Any) -> None:
    """Check a value that is about to be sent.

    Args:
        value: A wire type. A type without bounds costs one lookup.

    Raises:
        UsageError: It breaks a bound; the message has its path.
    """
    # In one function, without paths: nearly every tool result has fields with bounds.
    pending = [value]
    for one in pending:
        kind: Any = one.__class__
        if kind is dict:
            pending += one.values()
            continue
        if kind is list:
            pending += one
            continue
        reaching, bounded = _plans[kind]
        for name in reaching:
            inner = getattr(one, name)
            if inner.__class__ is list:
                pending += inner
            elif inner is not None and inner is not msgspec.UNSET:
                pending.append(inner)
        for name, bounds in bounded:
            inner = getattr(one, name)
            if inner is not None and any(True for _ in _broken_of(inner, bounds, "")):
                _refuse(value)


def _refuse(value: Any) -> NoReturn:
    path, what = next(broken_bounds(value, "$"))
    raise UsageError(f"{value.__class__.__name__} cannot be sent: {what} - at `{path}`")


def broken_bounds(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the description of each broken bound.

    Args:
        value: A wire type, or a list or map of such.
        path: JSON path of the value, prefix of all paths that are yielded.
    """
    kind: Any = value.__class__
    if kind is list:
        for i, item in enumerate(value):
            yield from broken_bounds(item, f"{path}[{i}]")
    elif kind is dict:
        for key, item in value.items():
            yield from broken_bounds(item, f"{path}.{key}")
    else:
        for name, wire, bounds, leads_further in _fields_of(kind):
            inner = getattr(value, name)
            if inner is None or inner is msgspec.UNSET:
                continue
            yield from _broken_of(inner, bounds, f"{path}.{wire}")
            if leads_further:
                yield from broken_bounds(inner, f"{path}.{wire}")


def _broken_of(value: Any, bounds: tuple[_Bound, ...], path: str) -> Iterator[tuple[str, str]]:
    for bound in bounds:
        yield from _broken(value, bound.steps, bound, path)


def _broken(
    value: Any, steps: tuple[str, ...], bound: _Bound, path: str
) -> Iterator[tuple[str, str]]:
    kind: Any = value.__class__
    if not steps:
        if not _KEPT[bound.keyword](value, bound.limit):
            yield path, f"expected `{bound.keyword}` {bound.limit}, got {_shown(value)}"
    elif steps[0] == "items" and kind is list:
        for i, item in enumerate(value):
            yield from _broken(item, steps[1:], bound, f"{path}[{i}]")
    elif steps[0] == "values" and kind is dict:
        for key, item in value.items():
            yield from _broken(item, steps[1:], bound, f"{path}.{key}")


def _shown(value: Any) -> str:
    return f"{len(value)} items" if value.__class__ in (list, dict) else repr(value)[:60]


@cache
def _fields_of(kind: type[Any]) -> tuple[_BoundedField, ...]:
    """Return the fields of a wire type with bounds; empty for any other class."""
    revision = _revisions().get(kind.__module__)
    if revision is None or not issubclass(kind, Wire):
        return ()
    bounds, reaching = BOUNDS.get(revision, {}), REACHES.get(revision, {}).get(kind.__name__, ())
    found = (
        _BoundedField(
            field.name,
            field.encode_name,
            tuple(_Bound(*one) for one in bounds.get(f"{kind.__name__}.{field.name}", ())),
            field.name in reaching,
        )
        for field in msgspec.structs.fields(kind)
    )
    return tuple(one for one in found if one.bounds or one.leads_further)


def bounded_fields(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a wire type with bounds, and those that lead to types with bounds."""
    reaching, bounded = _plans[kind]
    return tuple(name for name, _ in bounded), reaching


class _Plans(dict[type[Any], tuple[tuple[str, ...], tuple[tuple[str, tuple[_Bound, ...]], ...]]]):
    """By class: the fields that lead to types with bounds, and those with bounds of their own."""

    def __missing__(self, kind: Any) -> Any:
        fields = _fields_of(kind)
        reaching = tuple(one.name for one in fields if one.leads_further)
        made = self[kind] = reaching, tuple((one.name, one.bounds) for one in fields if one.bounds)
        return made


_plans = _Plans()


@cache
def _revisions() -> dict[str, str]:
    """Return the revision of each module of wire types."""
    return {f"{mcp_wire.profile(one).module}.types": one for one in mcp_wire.REVISIONS}


# --- the keywords; each says nothing about values of another kind ---


def _of_numbers(kept: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, limit: Any) -> bool:
        return value.__class__ not in (int, float) or kept(value, limit)

    return check


def _of_texts(kept: Callable[[str, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, limit: Any) -> bool:
        return not isinstance(value, str) or kept(value, limit)

    return check


def _of_lists(kept: Callable[[list[Any], Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, limit: Any) -> bool:
        return value.__class__ is not list or kept(value, limit)

    return check


def _of_maps(kept: Callable[[dict[str, Any], Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, limit: Any) -> bool:
        return value.__class__ is not dict or kept(value, limit)

    return check


def _are_unique(items: list[Any], wanted: Any) -> bool:
    encoded = {msgspec.json.encode(item, order="deterministic") for item in items}
    return not wanted or len(encoded) == len(items)


_KEPT: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": _of_numbers(lambda value, limit: value >= limit),
    "maximum": _of_numbers(lambda value, limit: value <= limit),
    "exclusiveMinimum": _of_numbers(lambda value, limit: value > limit),
    "exclusiveMaximum": _of_numbers(lambda value, limit: value < limit),
    "multipleOf": _of_numbers(lambda value, step: value / step == round(value / step)),
    "minLength": _of_texts(lambda text, limit: len(text) >= limit),
    "maxLength": _of_texts(lambda text, limit: len(text) <= limit),
    "pattern": _of_texts(lambda text, pattern: re.search(pattern, text) is not None),
    "minItems": _of_lists(lambda items, limit: len(items) >= limit),
    "maxItems": _of_lists(lambda items, limit: len(items) <= limit),
    "uniqueItems": _of_lists(_are_unique),
    "minProperties": _of_maps(lambda members, limit: len(members) >= limit),
    "maxProperties": _of_maps(lambda members, limit: len(members) <= limit),
}
