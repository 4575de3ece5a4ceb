"""Schemas of listed values: constants and enums."""

from typing import Any

from codegen.model.normal.fold import kind_of, kinds_of, same, values_of
from codegen.schema.json_values import Object

_BOOLEANS = {"true", "false"}
_LARGEST = 2**63 - 1
"""The largest integer that msgspec takes for a literal; the smallest is one further from zero."""


def listed(schema: Object, bounds: Object) -> Object:
    """Return the schema of the values that a schema lists, each once, with its bounds.

    Raises:
        ValueError: a value that no literal holds, or none that has the type beside it.
    """
    kinds = kinds_of({"type": schema["type"]}) if "type" in schema else None
    given = values_of(schema) or []
    if not given:
        raise ValueError("no value that the `enum` beside it has")
    kept = {same(value): value for value in given if kinds is None or kind_of(value) in kinds}
    if not kept:
        raise ValueError("no value that has its `type`")
    for value in kept.values():
        _check(value)
    choices = [_whole(one) for key, one in kept.items() if one is not None and key not in _BOOLEANS]
    booleans = [kept[key] for key in kept if key in _BOOLEANS]
    if len(booleans) == 1:
        choices += booleans
    there = {"type": schema["type"]} if isinstance(schema.get("type"), str) else {}
    chosen: Object = {"const": choices[0]} if len(choices) == 1 else {"enum": choices}
    chosen |= bounds
    if len(choices) == len(given):
        return {**chosen, **there}
    arms: list[Object] = [chosen] if choices else []
    arms += [{"type": "boolean"}] if len(booleans) == len(_BOOLEANS) else []
    arms += [{"type": "null"}] if "null" in kept else []
    return {"anyOf": arms} if len(arms) > 1 else arms[0]


def _check(value: Any) -> None:
    kind = kind_of(value)
    if kind in ("array", "object"):
        raise ValueError(f"an {kind} among the values, which no literal holds")
    if kind == "fraction":
        raise ValueError(f"the number {value!r} among the values, which no literal holds")
    if kind == "integer" and not -_LARGEST - 1 <= int(value) <= _LARGEST:
        raise ValueError("an integer of more than 64 bits among the values")


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value
