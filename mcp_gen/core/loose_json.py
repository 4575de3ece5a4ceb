"""Reads JSON objects of peers that may be malformed: a few members, or as far as they fit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

import mcp_wire
from mcp_wire.base import OpenWire

__all__ = [
    "NOTHING",
    "as_object",
    "convert_fields",
    "raw_members",
    "read_as",
    "read_members",
    "read_meta",
]

S = TypeVar("S", bound=Struct)

NOTHING = Raw(b"")
"""The JSON of a member that is absent."""
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_meta(params: Raw) -> dict[str, Any] | None:
    """Return `_meta` of params of any shape; None if it is no object."""
    members = read_members(params, ("_meta",))
    return as_object(members.get("_meta")) if members else None


def read_members(data: Raw, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the named members of a JSON object; None if it is no object or not valid JSON.

    Other members are not decoded, because there may be very many.
    """
    found = raw_members(data, names)
    if found is None:
        return None
    try:
        return {n: msgspec.json.decode(raw) for n, raw in zip(names, found, strict=True) if raw}
    except _UNREADABLE:
        return None


def raw_members(data: bytes | Raw, names: tuple[str, ...]) -> tuple[Raw, ...] | None:
    """Return the JSON of the named members of an object, `NOTHING` for those that are absent.

    Args:
        data: JSON of any shape.
        names: The names; the values are in their order.

    Returns:
        None if it is no object or not valid JSON.
    """
    try:
        return msgspec.structs.astuple(_loose(names).decode(data))
    except _UNREADABLE:
        return None


@lru_cache(maxsize=1024)
def _loose(names: tuple[str, ...]) -> msgspec.json.Decoder[Struct]:
    fields = {f"field{number}": name for number, name in enumerate(names)}
    kind = msgspec.defstruct("Loose", [(f, Raw, NOTHING) for f in fields], rename=fields)
    return msgspec.json.Decoder(kind)


def convert_fields(kind: type[S], value: Any) -> tuple[S | None, list[tuple[str, str]]]:
    """Convert plain JSON to a Struct, as far as its members fit.

    Args:
        kind: The Struct. A required text that is missing becomes empty.
        value: Plain JSON.

    Returns:
        The Struct, or None if too much is missing; and the path and the description of each fault.
    """
    try:
        return msgspec.convert(value, kind), []
    except msgspec.ValidationError as error:
        if not isinstance(value, dict):
            return None, [("", str(error))]
    members, kept = cast("dict[str, Any]", value), dict[str, Any]()
    faults: list[tuple[str, str]] = []
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if name not in members:
            if field.required:
                faults.append((f".{name}", "missing"))
        else:
            try:
                kept[field.name] = msgspec.convert(members[name], field.type)
            except msgspec.ValidationError as error:
                faults.append((f".{name}", str(error)))
        if field.required and field.name not in kept:
            if field.type is not str:
                return None, faults
            kept[field.name] = ""
    return kind(**kept), faults


def read_as(kind: type[S], value: Any) -> S | None:
    """Return what a peer says of itself as one type, whatever the revision.

    Args:
        kind: The wire type: `Implementation` or capabilities, of the revision that is wanted.
        value: A value of the type of that name at any revision, or plain JSON.

    Returns:
        The value, with the members that fit: those that the type does not name are in its `extra`,
        if it has one. None if there is no value, or too much is missing.
    """
    if value is None or isinstance(value, kind):
        return value
    encoded = mcp_wire.encode(value)
    try:
        return mcp_wire.decode(kind, encoded)
    except msgspec.DecodeError:
        plain: Any = msgspec.json.decode(encoded)
    made, _ = convert_fields(kind, plain)
    if not isinstance(made, OpenWire):
        return made
    named = {field.encode_name for field in msgspec.structs.fields(kind)}
    extra = {key: one for key, one in plain.items() if key not in named}
    return mcp_wire.decode(kind, mcp_wire.encode({**msgspec.to_builtins(made), **extra}))


def as_object(value: Any) -> dict[str, Any] | None:
    """Return the value if it is a JSON object, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
