"""Values in the exact form of one revision, made from those with the members of all."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_wire import encode
from mcp_wire.base import decode_strictly
from mcp_wire.lenient_decoding import without_extra

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = [
    "filled_in",
    "log_levels",
    "naming_task",
    "part_names",
    "plain_capabilities",
    "required_members",
    "shaped",
    "wire_type",
]

REMEMBERED = 4096
"""Number of values whose form is remembered."""
REMEMBERED_BYTES = 4096
"""Maximum length of such a value."""


def wire_type(profile: Profile, name: str) -> Any:
    """Return a wire type of a revision by its name; None if the revision lacks it."""
    return getattr(import_module(f"{profile.module}.types"), name, None)


def log_levels(profile: Profile) -> tuple[str, ...]:
    """Return the levels of log messages, the least severe first."""
    levels: tuple[str, ...] = wire_type(profile, "LoggingLevel").__args__
    return levels


def part_names(profile: Profile, name: str) -> frozenset[str]:
    """Return the names of the members that a wire type has at a revision."""
    return frozenset(wire_type(profile, name).__struct_encode_fields__)


def required_members(kind: Any) -> tuple[str, ...]:
    """Return the names on the wire of the members that a wire type requires."""
    return tuple(one.encode_name for one in msgspec.structs.fields(kind) if one.required)


def shaped(kind: Any, value: Any) -> Any:
    """Return a JSON value with the members that a wire type has, and no other.

    Args:
        kind: The wire type.
        value: A JSON value with at least the required members.

    Raises:
        msgspec.ValidationError: the value is none of that type.
    """
    data = msgspec.json.encode(value)
    shape = _remembered if len(data) <= REMEMBERED_BYTES else _shape
    return msgspec.json.decode(shape(kind, data))


def _shape(kind: Any, data: bytes) -> bytes:
    return encode(decode_strictly(kind, without_extra(kind, data)))


_remembered = lru_cache(maxsize=REMEMBERED)(_shape)
"""The same for small values, which are made again and again."""


_EXAMPLES: dict[Any, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}


def filled_in(params: Json) -> Json:
    """Return content for the form of a question."""
    properties = member(params, "requestedSchema", "properties")
    content: Json = {}
    for name, field in properties.items() if is_object(properties) else ():
        choices = member(field, "enum") or [
            one.get("const") for one in objects(member(field, "oneOf"))
        ]
        content[name] = choices[0] if choices else _EXAMPLES.get(member(field, "type"), "text")
    return content


def plain_capabilities(profile: Profile) -> Json:
    """Return every capability of a revision, without the parts that some of them have."""
    every: Json = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}
    made: Json = shaped(wire_type(profile, "ClientCapabilities"), every)
    return made


def naming_task(profile: Profile, params: Json, result: Json) -> Json:
    """Return the answer to a question with metadata that names the task of the question, if any.

    Args:
        profile: The revision.
        params: Params of the question.
        result: The answer.
    """
    key = profile.related_task_key
    task = member(params, "_meta", key) if key else None
    return result if task is None else {**result, "_meta": {**result.get("_meta", {}), key: task}}
