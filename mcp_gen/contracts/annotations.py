"""Compares what schemas say beside which values are valid: descriptions, titles, defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mcp_gen.contracts.subsumption.document import (
    ARRAYS_OF_SCHEMAS,
    ASSERTIONS,
    MAPS_OF_SCHEMAS,
    SINGLE_SCHEMAS,
)
from mcp_gen.contracts.subsumption.json_values import Unreadable, is_array, is_object, key_of

__all__ = ["AnnotationChange", "annotation_changes", "shown_value"]

MAX_CHANGES = 50
"""Most changes that are reported for one pair of schemas."""
MAX_DEPTH = 64
"""Most parts in each other that are looked at."""
MAX_TEXT = 200
"""Most characters of a value in a text."""
_DEFINITIONS = frozenset({"$defs", "definitions"})
_HOLDERS = ARRAYS_OF_SCHEMAS | MAPS_OF_SCHEMAS | SINGLE_SCHEMAS | _DEFINITIONS


class AnnotationChange(NamedTuple):
    """An annotation that differs.

    Args:
        where: Path of the part, below the root: `.a`.
        keyword: The annotation, such as `description`.
        old: Its value as text; empty for none.
        new: The same, now.
    """

    where: str
    keyword: str
    old: str
    new: str


def annotation_changes(old: Any, new: Any) -> list[AnnotationChange]:
    """Return the annotations of schemas that are added, changed or removed.

    Those of a part that is there no more are left out, and so are defaults of new parts.
    """
    before, after = dict(_annotations(old)), dict(_annotations(new))
    places = {where for where, _ in _places(new)}
    known = {where for where, _ in _places(old)}
    found: list[AnnotationChange] = []
    for where, keyword in sorted(before.keys() | after.keys()):
        one, other = before.get((where, keyword), ""), after.get((where, keyword), "")
        if keyword == "default" and where not in known:
            continue
        if one != other and (other or where in places):
            found.append(AnnotationChange(where, keyword, one, other))
        if len(found) >= MAX_CHANGES:
            break
    return found


def shown_value(value: Any) -> str:
    """Return plain JSON as a text of bounded length."""
    try:
        text = key_of(value)
    except Unreadable:
        text = "..."
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _annotations(schema: Any) -> Iterator[tuple[tuple[str, str], str]]:
    for place, members in _places(schema):
        for keyword, value in members.items():
            if keyword not in ASSERTIONS and keyword not in _HOLDERS:
                # Not shortened: a change may stand at the end of a long text.
                yield (place, keyword), _whole_text(value)


def _whole_text(value: Any) -> str:
    try:
        return key_of(value)
    except Unreadable:
        return "..."


def _places(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parts of a schema, each with its path."""
    waiting: list[tuple[str, Any, int]] = [("", schema, 0)]
    while waiting:
        where, one, depth = waiting.pop()
        if not is_object(one) or depth > MAX_DEPTH:
            continue
        members = one
        yield where, members
        for keyword, value in members.items():
            # Names of members are paths of values; other keywords stand in brackets.
            if keyword in SINGLE_SCHEMAS and is_object(value):
                waiting.append((f"{where}[{keyword}]", value, depth + 1))
            elif keyword in ARRAYS_OF_SCHEMAS and is_array(value):
                held = value
                waiting += [
                    (f"{where}[{keyword} {place}]", part, depth + 1)
                    for place, part in enumerate(held)
                ]
            elif (keyword in MAPS_OF_SCHEMAS or keyword in _DEFINITIONS) and is_object(value):
                named = value
                inside = where if keyword == "properties" else f"{where}[{keyword}]"
                waiting += [(f"{inside}.{name}", part, depth + 1) for name, part in named.items()]
