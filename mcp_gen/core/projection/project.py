"""Restates a value of any revision at another: what the target lacks is dropped and reported.

What cannot be dropped honestly is rewritten by the rules in `restate.py`, or refused with its path.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import McpError, ProjectionError
from mcp_gen.core.projection.rules import RULES, Apply, Loss, instead
from mcp_wire import Wire
from mcp_wire.base import Arm, arm_of
from mcp_wire.profile import Profile
from mcp_wire.synonyms import SYNONYMS

__all__ = ["Loss", "Projected", "project", "project_error"]


class Projected(NamedTuple):
    """A value at another revision, and what was lost on the way."""

    value: Any
    losses: list[Loss]


def project(value: Any, to: str) -> Projected:
    """Restate a wire value, and everything in it, with the types of revision `to`.

    A value that already is of that revision comes back as the same object.

    Raises:
        ProjectionError: the revision has no such type, or cannot hold this value; with the path.
    """
    projection = _Projection(to)
    return Projected(projection.restate(value, None, "$"), projection.losses)


def project_error(error: McpError, *, of: str, to: str) -> McpError:
    """The error with the code that revision `to` has for what `of` means by it."""
    theirs, ours = mcp_wire.profile(of).errors, mcp_wire.profile(to).errors
    names = [name for name in theirs.__struct_fields__ if getattr(theirs, name) == error.code]
    # Where one code means two things, the data tells which: a resource that is missing is named.
    data: Any = error.data
    named = data.__class__ is dict and "uri" in data
    names.sort(key=lambda name: (name == "resource_not_found") != named)
    codes = (getattr(ours, name) for name in names)
    code = next((code for code in codes if code is not None), error.code)
    return error if code == error.code else McpError(code, error.message, error.data)


class _FieldShape:
    """What a field of the target takes: which structs, and below lists and maps what."""

    __slots__ = ("annotation", "item", "structs", "value")

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self.structs: tuple[type, ...] = ()
        self.item: _FieldShape | None = None
        self.value: _FieldShape | None = None
        union = get_origin(annotation) in (Union, UnionType)
        for arm in get_args(annotation) if union else (annotation,):
            origin = get_origin(arm)
            if origin is list:
                self.item = _FieldShape(get_args(arm)[0])
            elif origin is dict:
                self.value = _FieldShape(get_args(arm)[1])
            elif isinstance(arm, type) and issubclass(arm, Struct | Arm):
                self.structs += (arm,)

    @property
    def nested(self) -> bool:
        """Whether there are structs anywhere in it."""
        inner = [shape for shape in (self.item, self.value) if shape]
        return bool(self.structs) or any(shape.nested for shape in inner)


class _KeptField(NamedTuple):
    """A field that source and target have. `shape` where its value must be looked into."""

    name: str
    wire: str
    absent: Any
    shape: _FieldShape | None
    checked: Any
    """The target's annotation where a plain value may not fit it; None where it must."""


class _StructPlan(NamedTuple):
    """How one struct becomes its namesake at a revision."""

    target: type[Struct]
    kept: tuple[_KeptField, ...]
    dropped: tuple[tuple[str, str, Any], ...]
    rule: Apply | None


_types = cache(mcp_wire.types)

_plans: dict[tuple[type, str], _StructPlan | None] = {}


class _Projection:
    """One value on its way to a revision."""

    def __init__(self, to: str) -> None:
        self.to = to
        self.profile = mcp_wire.profile(to)
        self.home = _types(to)
        self.losses: list[Loss] = []

    def restate(self, value: Any, shape: _FieldShape | None, path: str) -> Any:
        """The value at the target; `shape` is what its place takes, None where that is open."""
        if isinstance(value, Wire):
            return self._fitting(value, shape, path)
        kind: Any = value.__class__
        if kind is list:
            return self._items(value, shape, path)
        if kind is dict:
            return self._entries(value, shape, path)
        return value

    def _fitting(self, value: Wire, shape: _FieldShape | None, path: str) -> Any:
        if shape and shape.value and not shape.structs:
            return msgspec.to_builtins(value)  # a struct here, an open map there
        made = self.struct(value, path)
        if shape is None or isinstance(made, shape.structs):
            return made
        raise self.refuse(f"cannot hold {type(value).__name__} here", path)

    def _items(self, items: list[Any], shape: _FieldShape | None, path: str) -> Any:
        if shape is None or shape.item:
            inner = shape.item if shape else None
            return [self.restate(item, inner, f"{path}[{i}]") for i, item in enumerate(items)]
        if len(items) == 1:
            return self.restate(items[0], shape, f"{path}[0]")
        raise self.refuse(f"takes one value here, got {len(items)}", path)

    def _entries(self, entries: dict[str, Any], shape: _FieldShape | None, path: str) -> Any:
        if shape and shape.structs:
            return self._closed(entries, shape, path)
        inner = shape.value if shape else None
        return {key: self.restate(one, inner, f"{path}.{key}") for key, one in entries.items()}

    def _closed(self, entries: dict[str, Any], shape: _FieldShape, path: str) -> Any:
        """An open map here, a struct there."""
        made = self.plain(entries, shape.annotation, path)
        for key in entries.keys() - msgspec.to_builtins(made).keys():
            self.lose(f"{path}.{key}")
        return made

    def plain(self, value: Any, annotation: Any, path: str) -> Any:
        """A plain value, if the target takes it."""
        try:
            return msgspec.convert(value, annotation, dec_hook=arm_of)
        except msgspec.ValidationError as error:
            raise self.refuse(f"takes something else: {error}", path) from None

    def struct(self, value: Wire, path: str) -> Any:
        """A struct as its namesake, or as what stands in for it."""
        key = (type(value), self.to)
        plan = _plans[key] if key in _plans else _plans.setdefault(key, self._plan(key[0]))
        if plan is None:
            return value if self._is_home(key[0]) else instead(self, value, path)
        fields: dict[str, Any] = {}
        for name, wire, absent, shape, checked in plan.kept:
            inner = getattr(value, name)
            if inner is absent:
                continue  # None here may be UNSET there: absent stays absent
            if shape:
                inner = self.restate(inner, shape, f"{path}.{wire}")
            elif checked is not None:
                inner = self.plain(inner, checked, f"{path}.{wire}")
            fields[name] = inner
        moved = plan.rule(self, value, fields, path) if plan.rule else ()
        for name, wire, absent in plan.dropped:
            if getattr(value, name) is not absent and name not in moved:
                self.lose(f"{path}.{wire}")
        return self.make(plan.target, fields, path)

    def make(self, target: type[Struct], fields: dict[str, Any], path: str) -> Any:
        """A struct of the target from what there is."""
        try:
            return target(**fields)
        except TypeError as error:
            raise self.refuse(f"{target.__name__}: {error}", path) from None

    def lose(self, path: str, reason: str = "has no such field") -> None:
        """Report what is left behind."""
        self.losses.append(Loss(path, f"{self.to} {reason}"))

    def refuse(self, what: str, path: str) -> ProjectionError:
        """The error for a value that the target cannot hold."""
        return ProjectionError(f"{self.to} {what} - at `{path}`")

    def _is_home(self, kind: type) -> bool:
        return getattr(self.home, kind.__name__, None) is kind

    def _plan(self, kind: type) -> _StructPlan | None:
        target = self._namesake(kind.__name__)
        if target is None or target is kind:
            return None
        there = {field.name: field for field in msgspec.structs.fields(target)}
        kept: list[_KeptField] = []
        dropped: list[tuple[str, str, Any]] = []
        rule = RULES.get(kind.__name__)
        for field in msgspec.structs.fields(kind):
            if field.name not in there:
                dropped.append((field.name, field.encode_name, field.default))
                continue
            annotation = there[field.name].type
            shape, ours = _FieldShape(annotation), _FieldShape(field.type)
            nested = shape.nested or ours.nested
            same = annotation == field.type or (rule and field.name in rule.rewrites)
            kept.append(
                _KeptField(
                    field.name,
                    field.encode_name,
                    field.default,
                    shape if nested else None,
                    None if nested or same else annotation,
                )
            )
        apply = rule.of(_profile_of(kind), self.profile) if rule else None
        return _StructPlan(target, tuple(kept), tuple(dropped), apply)

    def _namesake(self, name: str) -> type[Struct] | None:
        """The struct of that name, or of the name it has at the target."""
        for candidate in (name, *SYNONYMS.get(name, ())):
            found = getattr(self.home, candidate, None)
            if isinstance(found, type) and issubclass(found, Struct):
                return found
        return None


def _profile_of(kind: type) -> Profile:
    """The revision that a wire type belongs to."""
    profile: Profile = import_module(kind.__module__.rpartition(".")[0]).PROFILE
    return profile
