"""Rows of the overlay as text, for messages that say which one to add."""

import json
from fnmatch import fnmatchcase
from typing import Any

from codegen.schema.json_values import is_array, is_object

REASON = "say why"


def row(kind: str, values: dict[str, Any], revision: str = "", reason: str = REASON) -> str:
    """Return a row to paste into the overlay; empty if TOML cannot say it."""
    told = {**values, "revisions": [revision]} if revision else values
    try:
        lines = [f"{key} = {toml(value)}" for key, value in {**told, "reason": reason}.items()]
    except TypeError:
        return ""
    return "\n".join([f"[[{kind}]]", *lines, ""])


def toml(value: Any) -> str:
    """Return a JSON value as TOML in one line.

    Raises:
        TypeError: TOML has no null.
    """
    if value is None:
        raise TypeError("null")
    if is_object(value):
        pairs = (f"{json.dumps(key)} = {toml(one)}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if is_array(value):
        return "[" + ", ".join(map(toml, value)) + "]"
    # As in JSON, but for one character that TOML has no place for.
    return json.dumps(value).replace("\x7f", "\\u007f")


def pattern(path: str) -> str:
    """Return the pattern of `paths` that matches this path alone."""
    if not fnmatchcase(path, path):
        return "".join(f"[{one}]" if one in "[*?" else one for one in path)
    return "".join(f"[{one}]" if one in "*?" else one for one in path)
