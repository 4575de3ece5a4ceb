"""Restates a value of any revision at another: what the target lacks is dropped and reported.

What cannot be dropped honestly is rewritten by the rules at the end, or refused with its path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import ProjectionError
from mcp_wire import UNSET, Wire
from mcp_wire.profile import Profile

__all__ = ["Loss", "Projected", "project"]


class Loss(NamedTuple):
    """What the target revision has no place for."""

    path: str
    reason: str


class Projected(NamedTuple):
    """A value at another revision, and what was lost on the way."""

    value: Any
    losses: list[Loss]


_Rule: TypeAlias = Callable[[dict[str, Any]], None]


class _Plan(NamedTuple):
    """How one struct becomes its namesake: the fields both have, and those the target lacks."""

    target: type[Struct]
    kept: tuple[tuple[str, str, Any, bool], ...]
    dropped: tuple[tuple[str, str, Any], ...]
    rule: _Rule | None


_Key: TypeAlias = tuple[type, str]
_plans: dict[_Key, _Plan | None] = {}


def project(value: Any, to: str) -> Projected:
    """Restate a wire value, and everything in it, with the types of revision `to`.

    A value that already is of that revision comes back as the same object.

    Raises:
        ProjectionError: the revision has no such type, or cannot hold this value; with the path.
    """
    losses: list[Loss] = []
    return Projected(_restate(value, to, "$", losses), losses)


def _restate(value: Any, to: str, path: str, losses: list[Loss]) -> Any:
    if isinstance(value, Wire):
        return _struct(value, to, path, losses)
    kind: Any = value.__class__
    if kind is list:
        return _items(value, to, path, losses)
    return _entries(value, to, path, losses) if kind is dict else value


def _items(items: list[Any], to: str, path: str, losses: list[Loss]) -> list[Any]:
    return [_restate(item, to, f"{path}[{i}]", losses) for i, item in enumerate(items)]


def _entries(entries: dict[str, Any], to: str, path: str, losses: list[Loss]) -> dict[str, Any]:
    return {key: _restate(item, to, f"{path}.{key}", losses) for key, item in entries.items()}


def _struct(value: Wire, to: str, path: str, losses: list[Loss]) -> Any:
    key = (type(value), to)
    plan = _plans[key] if key in _plans else _plans.setdefault(key, _make_plan(*key, path))
    if plan is None:
        return value
    kept: dict[str, Any] = {}
    for name, wire, absent, nested in plan.kept:
        inner = getattr(value, name)
        if inner is not absent:  # None here may be UNSET there: absent stays absent
            kept[name] = _restate(inner, to, f"{path}.{wire}", losses) if nested else inner
    for name, wire, absent in plan.dropped:
        if getattr(value, name) is not absent:
            losses.append(Loss(f"{path}.{wire}", f"{to} has no such field"))
    if plan.rule:
        plan.rule(kept)
    try:
        return plan.target(**kept)
    except TypeError as error:
        raise ProjectionError(f"{plan.target.__name__} at {to}: {error} - at `{path}`") from None


def _make_plan(kind: type, to: str, path: str) -> _Plan | None:
    home = mcp_wire.types(to)
    target = getattr(home, kind.__name__, None)
    if target is kind:
        return None
    if not isinstance(target, type) or not issubclass(target, Struct):
        raise ProjectionError(f"{to} has no {kind.__name__} - at `{path}`")
    there = set(target.__struct_fields__)
    fields = msgspec.structs.fields(kind)
    kept = tuple(
        (field.name, field.encode_name, field.default, _holds_structs(field.type))
        for field in fields
        if field.name in there
    )
    dropped = tuple(
        (field.name, field.encode_name, field.default)
        for field in fields
        if field.name not in there
    )
    rule = _RULES.get(kind.__name__)
    return _Plan(target, kept, dropped, rule(mcp_wire.profile(to)) if rule else None)


def _holds_structs(annotation: Any) -> bool:
    """Whether values of this type may have wire values inside. Open JSON has none."""
    if isinstance(annotation, type):
        return hasattr(sys.modules.get(annotation.__module__), "KEEPS_UNKNOWN")
    return any(_holds_structs(inner) for inner in getattr(annotation, "__args__", ()))


# --- Rules: rewriting what a revision cannot hold. One per type, chosen once per target. ---


def _call_tool_result(profile: Profile) -> _Rule | None:
    def wrap(kept: dict[str, Any]) -> None:
        content = kept.get("structured_content", UNSET)
        if content is not UNSET and not isinstance(content, dict):
            kept["structured_content"] = {"result": content}

    return wrap if profile.structured_content == "object" else None


def _tool(profile: Profile) -> _Rule | None:
    def wrap(kept: dict[str, Any]) -> None:
        schema: dict[str, Any] | None = kept.get("output_schema")
        if schema is not None and schema.get("type") != "object":
            kept["output_schema"] = wrapped_schema(schema)

    return wrap if profile.structured_content == "object" else None


def wrapped_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of `{"result": value}`, where structured content must be an object."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **shared}


_RULES: dict[str, Callable[[Profile], _Rule | None]] = {
    "CallToolResult": _call_tool_result,
    "Tool": _tool,
}
