"""Restates a value of one revision at another and reports losses.

A field that the target revision lacks is dropped and reported. What must not be dropped silently is
rewritten by the rules in `rules.py`, or refused with its path.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import McpError, ProjectionError, UsageError
from mcp_gen.core.projection.rules import RULES, Apply, Loss, substitute
from mcp_wire import Wire
from mcp_wire.aliases import ALIASES
from mcp_wire.base import OpenWire, UntaggedUnion, arm_of, declared_type
from mcp_wire.open_maps import OPEN_MAPS
from mcp_wire.profile import Profile

__all__ = ["Loss", "Projected", "project", "project_error", "restate"]


class Projected(NamedTuple):
    """A value restated at another revision.

    Args:
        value: The restated value.
        losses: Fields that were dropped or changed in form, in the order found.
    """

    value: Any
    losses: list[Loss]


def project(value: Any, to: str) -> Projected:
    """Convert a message object, and all objects in it, to the types of another protocol revision.

    Args:
        value: An instance of a generated type (`mcp_wire.v2025_11_25.Tool`) of any revision, or a
            list or dict of instances.
        to: Name of the target revision, such as `2025-06-18`.

    Returns:
        `value`, the converted object, and `losses`, the path and reason of each field that the
        target revision lacks and that was dropped or rewritten. If the object has the target
        revision already, `value` is the same object.

    Raises:
        ProjectionError: The target revision has no such type, or no counterpart of a required part,
            or requires a part that the value lacks; the message ends with the path. Params for
            2026-07-28 need the keys of `_meta` that say who asks: a session adds them when it
            sends, and nothing else can know them.
        UsageError: There is no such revision, or the value is no instance of a generated type.
    """
    _check_argument(value)
    projection = _Projection(to)
    return Projected(projection.restate(value, None, "$"), projection.losses)


def restate(value: Any, to: str) -> Projected:
    """Convert a value as `project` does, without the checks that a session makes when it sends it.

    The `_meta` of params may lack what the sender adds to it.

    Args:
        value: As for `project`; other JSON values stay as they are.
        to: Name of the target revision.

    Returns:
        As for `project`.

    Raises:
        ProjectionError: As for `project`.
    """
    projection = _Projection(to, unsent=True)
    return Projected(projection.restate(value, None, "$"), projection.losses)


def _check_argument(value: Any) -> None:
    parts: list[Any] = [value]
    if value.__class__ is list:
        parts = value
    for one in parts:
        if not _holds_wire_type(one):
            raise UsageError(
                f"project() takes an instance of a generated type or a list of them, not a plain "
                f"{type(one).__name__}: `mcp_wire.decode(mcp_wire.latest.Tool, data)` decodes JSON"
            )


def _holds_wire_type(value: Any) -> bool:
    kind: Any = value.__class__
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return isinstance(value, Wire)
    return any(map(_holds_wire_type, value))


def project_error(error: McpError, *, of: str, to: str) -> McpError:
    """Return the error with the code that revision `to` has for its meaning at revision `of`.

    Args:
        error: The error.
        of: Name of the revision that `error.code` belongs to.
        to: Name of the target revision.

    Returns:
        The same object if the code is the same, or if the target has no such code.
    """
    source, target = mcp_wire.profile(of).errors, mcp_wire.profile(to).errors
    names = [name for name in source.__struct_fields__ if getattr(source, name) == error.code]
    # Where one code has two meanings, the data tells them apart: a missing resource has `uri`.
    data: Any = error.data
    named = data.__class__ is dict and "uri" in data
    names.sort(key=lambda name: (name == "resource_not_found") != named)
    codes = (getattr(target, name) for name in names)
    code = next((code for code in codes if code is not None), error.code)
    return error if code == error.code else McpError(code, error.message, error.data)


class _FieldShape:
    """Structs that a field of the target accepts, directly or in lists and maps."""

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
            elif isinstance(arm, type) and issubclass(arm, Struct | UntaggedUnion):
                self.structs += (arm,)

    @property
    def nested(self) -> bool:
        """True if the field accepts structs at any depth."""
        inner = [shape for shape in (self.item, self.value) if shape]
        return bool(self.structs) or any(shape.nested for shape in inner)


class _KeptField(NamedTuple):
    """A field that source and target both have. `shape` is set if its value must be restated."""

    name: str
    wire: str
    absent: Any
    shape: _FieldShape | None
    checked: Any
    """The target's annotation if a plain value may not fit it; None if it always fits."""


class _OpenMap(Struct, frozen=True):
    """A field of the target that holds an open map, and the struct that says what is in it."""

    name: str
    wire: str
    required: bool
    described_by: type[Struct]


class _StructPlan(Struct, frozen=True):
    """Plan to convert one struct to the struct of the same name at the target."""

    target: type[Struct]
    kept: tuple[_KeptField, ...]
    dropped: tuple[tuple[str, str, Any], ...]
    open_maps: tuple[_OpenMap, ...]
    rule: Apply | None


_types = cache(mcp_wire.types)

_plans: dict[tuple[type, str], _StructPlan | None] = {}


class _Projection:
    """Projection of one value to a revision."""

    def __init__(self, to: str, *, unsent: bool = False) -> None:
        self.to = to
        self.unsent = unsent
        try:
            self.profile = mcp_wire.profile(to)
        except LookupError as error:
            raise UsageError(f"project(): {error}") from None
        self.home = _types(to)
        self.losses: list[Loss] = []

    def restate(self, value: Any, shape: _FieldShape | None, path: str) -> Any:
        """Return the value at the target; `shape` is its field's, None where any value fits."""
        if isinstance(value, Wire):
            return self._restate_struct(value, shape, path)
        kind: Any = value.__class__
        if kind is list:
            return self._items(value, shape, path)
        if kind is dict:
            return self._entries(value, shape, path)
        return value

    def _restate_struct(self, value: Wire, shape: _FieldShape | None, path: str) -> Any:
        if shape and shape.value and not shape.structs:
            return msgspec.to_builtins(value)  # a struct at the source, an open map at the target
        restated = self.struct(value, path)
        if shape is None or isinstance(restated, shape.structs):
            return restated
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
            return self._map_to_struct(entries, shape, path)
        inner = shape.value if shape else None
        return {key: self.restate(one, inner, f"{path}.{key}") for key, one in entries.items()}

    def _map_to_struct(self, entries: dict[str, Any], shape: _FieldShape, path: str) -> Any:
        """Convert an open map of the source to a struct of the target."""
        restated = self.plain(entries, shape.annotation, path)
        for key in entries.keys() - msgspec.to_builtins(restated).keys():
            self.lose(f"{path}.{key}")
        return restated

    def plain(self, value: Any, annotation: Any, path: str) -> Any:
        """Return a plain value if it fits the target's annotation."""
        try:
            return _converted(value, annotation)
        except msgspec.DecodeError as error:
            raise self.refuse(f"takes something else: {error}", path) from None

    def struct(self, value: Wire, path: str) -> Any:
        """Convert a struct to the struct of the same name at the target, or to its substitute."""
        key = (type(value), self.to)
        plan = _plans[key] if key in _plans else self._new_plan(key[0])
        if plan is None:
            known = self._is_target_type(declared_type(key[0]))
            return value if known else substitute(self, value, path)
        fields: dict[str, Any] = {}
        for name, wire, absent, shape, checked in plan.kept:
            inner = getattr(value, name)
            if inner is absent:
                continue  # absent stays absent: None at the source may be UNSET at the target
            if shape:
                inner = self.restate(inner, shape, f"{path}.{wire}")
            elif checked is not None:
                inner = self.plain(inner, checked, f"{path}.{wire}")
            fields[name] = inner
        moved = plan.rule(self, value, fields, path) if plan.rule else ()
        for name, wire, absent in plan.dropped:
            if getattr(value, name) is not absent and name not in moved:
                self.lose(f"{path}.{wire}")
        for open_map in plan.open_maps:
            self._check_open_map(open_map, fields, path)
        if isinstance(value, OpenWire):
            return self._open_struct(plan.target, value, fields, path)
        return self.make(plan.target, fields, path)

    def _open_struct(
        self, target: type[Struct], value: OpenWire, fields: dict[str, Any], path: str
    ) -> Any:
        """Create a struct of the target with the extra keys of the source.

        A key that is a field of the target becomes the field if its value fits.
        """
        extra = value.extra
        for field in msgspec.structs.fields(target) if extra else ():
            if field.encode_name in extra:
                where = f"{path}.{field.encode_name}"
                try:
                    fields[field.name] = self.plain(extra[field.encode_name], field.type, where)
                except ProjectionError:
                    self.lose(where, "has another value here")
                del extra[field.encode_name]
        made = self.make(target, fields, path)
        if isinstance(made, OpenWire):
            return made.with_extra(extra)
        for key in extra:
            self.lose(f"{path}.{key}")
        return made

    def _check_open_map(self, checked: _OpenMap, fields: dict[str, Any], path: str) -> None:
        """Check the keys of an open map that the target's schema names."""
        given = fields.get(checked.name)
        if given is None and not checked.required:
            return
        if self.unsent:
            fields[checked.name] = {} if given is None else given
            return
        path = f"{path}.{checked.wire}"
        plain = msgspec.to_builtins(given or {})
        lacks = [
            field.encode_name
            for field in msgspec.structs.fields(checked.described_by)
            if field.required and field.encode_name not in plain
        ]
        if lacks:
            raise self.refuse(f"requires {' and '.join(f'`{key}`' for key in lacks)} here", path)
        self.plain(plain, checked.described_by, path)

    def make(self, target: type[Struct], fields: dict[str, Any], path: str) -> Any:
        """Create a struct of the target."""
        try:
            return target(**fields)
        except TypeError as error:
            raise self.refuse(f"{target.__name__}: {error}", path) from None

    def lose(self, path: str, reason: str = "has no such field") -> None:
        """Report a value as lost."""
        self.losses.append(Loss(path, f"{self.to} {reason}"))

    def refuse(self, what: str, path: str) -> ProjectionError:
        """Return the error for a value that the target cannot represent."""
        return ProjectionError(f"{self.to} {what} - at `{path}`")

    def _is_target_type(self, kind: type) -> bool:
        return getattr(self.home, kind.__name__, None) is kind

    def _new_plan(self, kind: type[Any]) -> _StructPlan | None:
        # Not kept by the class of a value with extra keys: a peer chooses how many there are.
        key: tuple[type[Any], str] = (declared_type(kind), self.to)
        return _plans[key] if key in _plans else _plans.setdefault(key, self._plan(key[0]))

    def _plan(self, kind: type) -> _StructPlan | None:
        target = self._namesake(kind.__name__)
        if target is None or target is kind:
            return None
        target_fields = {field.name: field for field in msgspec.structs.fields(target)}
        kept: list[_KeptField] = []
        dropped: list[tuple[str, str, Any]] = []
        rule = RULES.get(kind.__name__)
        for field in msgspec.structs.fields(kind):
            if field.name not in target_fields:
                dropped.append((field.name, field.encode_name, field.default))
                continue
            annotation = target_fields[field.name].type
            shape, source_shape = _FieldShape(annotation), _FieldShape(field.type)
            nested = shape.nested or source_shape.nested
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
        return _StructPlan(target, tuple(kept), tuple(dropped), self._open_maps(target), apply)

    def _open_maps(self, target: type[Struct]) -> tuple[_OpenMap, ...]:
        described = OPEN_MAPS.get(self.to, {})
        return tuple(
            _OpenMap(field.name, field.encode_name, field.required, described_by)
            for field in msgspec.structs.fields(target)
            if (name := described.get(f"{target.__name__}.{field.name}"))
            and (described_by := self._struct_at_target(name))
        )

    def _namesake(self, name: str) -> type[Struct] | None:
        """Return the target's struct of that name or of an alias; None if there is none."""
        names = (name, *ALIASES.get(name, ()))
        return next(filter(None, map(self._struct_at_target, names)), None)

    def _struct_at_target(self, name: str) -> type[Struct] | None:
        found = getattr(self.home, name, None)
        return found if isinstance(found, type) and issubclass(found, Struct) else None


def _converted(value: Any, annotation: Any) -> Any:
    try:
        return msgspec.convert(value, annotation, dec_hook=arm_of)
    except msgspec.ValidationError:
        # Imported here: most processes never decode leniently.
        from mcp_wire.lenient_decoding import holds_open_types

        if not holds_open_types(annotation):
            raise
        # It may have extra keys, which only decoding keeps.
        return mcp_wire.decode(annotation, mcp_wire.encode(value))


def _profile_of(kind: type) -> Profile:
    """Return the profile of the revision that a wire type belongs to."""
    profile: Profile = import_module(kind.__module__.rpartition(".")[0]).PROFILE
    return profile
