"""Mutation operators for the facts of the revisions and the rows of the overlay."""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.operators import Change

__all__ = ["FactChange", "allowed_values", "facts_changes", "overlay_changes"]

Allowed = Mapping[str, frozenset[Any]]

BEHAVIOUR = frozenset(
    {
        "capability",
        "closed",
        "const",
        "inject",
        "lenient",
        "open",
        "raw",
        "reads",
        "role",
        "unchecked",
        "unknown",
    }
)
"""Kinds of overlay rows that decide behaviour; the others name things."""

POINTING = {"capability": "path", "role": "method"}
"""Keys of overlay rows whose value can be that of another row of the kind."""

_HEADER = re.compile(r"\[+([^\[\]]+?)\]+\s*(?:#.*)?$")
_VALUE = re.compile(r"""(value|code|direction|[a-z_]+)(\s*=\s*)("[^"]*"|-?\d+|true|false)\s*$""")
_OPPOSITE = {"client_to_server": "server_to_client", "server_to_client": "client_to_server"}


@dataclass(frozen=True, slots=True)
class FactChange:
    """One change of a fact.

    Args:
        change: The change of the text.
        fact: Attribute of the Profile that the change is about, or "".
        revision: Revision whose facts change, or "".
    """

    change: Change
    fact: str
    revision: str


def allowed_values(schema: Path) -> dict[str, frozenset[Any]]:
    """Return the values of each fact at any revision; None where a revision has none."""
    found: dict[str, set[Any]] = defaultdict(set)
    for path in sorted(schema.glob("*/facts.toml")):
        for name, row in tomllib.loads(path.read_text("utf-8")).get("facts", {}).items():
            value = row.get("value")
            if not isinstance(value, (dict, list)):
                found[name].add(value)
    return {name: frozenset(values) for name, values in found.items()}


def facts_changes(source: bytes, allowed: Allowed, revision: str) -> Iterator[FactChange]:
    """Yield the changes of a facts.toml: values, error codes, directions of methods."""
    header = ""
    for number, (start, line) in enumerate(_lines(source), 1):
        if match := _HEADER.match(line):
            header = match[1]
            continue
        table, _, name = header.partition(".")
        match = _VALUE.match(line)
        if match is None or match[1] in ("source", "title", "page", "spec", "revision"):
            continue
        fact = name if table == "facts" else ""
        value = json.loads(match[3])
        for other in _others(value, fact, match[1], allowed):
            if other is None:
                change = _change(start, line, "", f"{header}: {match[1]} is dropped", number)
            else:
                new = f"{match[1]}{match[2]}{json.dumps(other)}"
                what = f"{header}: {match[3]} becomes {json.dumps(other)}"
                change = _change(start, line, new, what, number)
            yield FactChange(change, fact, revision)


def _others(value: Any, fact: str, key: str, allowed: Allowed) -> Iterator[Any]:
    """Yield the values that a fact could wrongly have; None drops it."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif value in _OPPOSITE:
        yield _OPPOSITE[value]
    elif key in ("value", "name_param"):
        others = sorted(one for one in allowed.get(fact, ()) if isinstance(one, str))
        yield from (one for one in others if one != value)
        if others == [value] or not others:
            yield f"{value}x"
    if None in allowed.get(fact, ()):
        yield None


def overlay_changes(source: bytes) -> Iterator[FactChange]:
    """Yield the changes of the overlay: a row dropped, or pointing elsewhere."""
    rows = tomllib.loads(source.decode())
    # A row ends before the comments of the next one.
    text = source.decode()
    for match in re.finditer(r"^\[\[(\w+)\]\]\n(?:(?!#|\[\[).*\S.*\n)*", text, re.MULTILINE):
        kind, row = match[1], match[0]
        if kind not in BEHAVIOUR:
            continue
        number = text.count("\n", 0, match.start()) + 1
        start = len(text[: match.start()].encode())
        values = tomllib.loads(row)[kind][0]
        shown = next(iter(values.values()))
        fact = values["name"] if kind == "role" else ""
        where = f"{kind} {json.dumps(shown)}"
        yield FactChange(_change(start, row, "", f"{where}: dropped", number), fact, "")
        key = POINTING.get(kind)
        if key is None:
            continue
        known = sorted({one[key] for one in rows[kind]})
        other = known[(known.index(values[key]) + 1) % len(known)]
        new = row.replace(f"{key} = {json.dumps(values[key])}", f"{key} = {json.dumps(other)}")
        what = f"{where}: {key} becomes {json.dumps(other)}"
        yield FactChange(_change(start, row, new, what, number), fact, "")


def _lines(source: bytes) -> Iterator[tuple[int, str]]:
    at = 0
    for line in source.splitlines(keepends=True):
        yield at, line.decode().rstrip("\n")
        at += len(line)


def _change(start: int, old: str, new: str, what: str, line: int) -> Change:
    return Change(start, start + len(old.encode()), new.encode(), what, line, 0, 0, None)
