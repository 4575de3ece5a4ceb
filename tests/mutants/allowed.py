"""The allow-list: faults that change nothing a test could see, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.choice.readers import Readers
from tests.mutants.places import ROOT, Place
from tests.mutants.reach import Unusable

__all__ = ["FILE", "Equivalent", "equivalents", "read"]

FILE = Path(__file__).with_name("equivalent.toml")
_KEYS = frozenset({"path", "text", "what", "reason"})


@dataclass(frozen=True, slots=True)
class Equivalent:
    """One entry: a change of a line, wherever in its file the line stands.

    Args:
        text: The line, without its indentation.
        what: Description of the change.
        at: Bytes before the change in the line without indentation; None for any place in it.
        function: Name of the innermost function around the line, if the file has it twice; "" for
            the only one.
    """

    path: str
    text: str
    what: str
    reason: str
    at: int | None = None
    function: str = ""

    def matches(self, place: Place) -> bool:
        same = (self.path, self.text, self.what) == (place.path, place.text, place.change.what)
        return same and self.at in (None, place.at)


def read(path: Path = FILE) -> list[Equivalent]:
    """Read the allow-list.

    Raises:
        Unusable: an entry lacks a key, or has an unknown one.
    """
    found: list[Equivalent] = []
    for number, row in enumerate(tomllib.loads(path.read_text("utf-8")).get("equivalent", ()), 1):
        if row.keys() - {"at", "function"} != _KEYS or not all(row[key] for key in _KEYS):
            raise Unusable(f"{path.name}: entry {number}: expected path, text, what and reason")
        found.append(Equivalent(**row))
    return found


def equivalents(
    entries: Sequence[Equivalent], places: Iterable[Place], root: Path = ROOT
) -> dict[str, Equivalent]:
    """Return the entry of each place that the list names, by the place's id.

    Args:
        entries: The list.
        places: Places of the sources.
        root: Folder of the sources.

    Raises:
        Unusable: an entry names no place: the line has changed, and the reason with it perhaps. Or
            it names several lines: its reason may hold for one of them alone.
    """
    by_line: dict[tuple[str, str, str], list[Equivalent]] = {}
    for entry in entries:
        by_line.setdefault((entry.path, entry.text, entry.what), []).append(entry)
    readers = Readers(root)
    found: dict[str, Equivalent] = {}
    lines: dict[Equivalent, set[int]] = {entry: set() for entry in entries}
    for place in places:
        for entry in by_line.get((place.path, place.text, place.change.what), ()):
            line = place.change.line
            is_there = not entry.function or entry.function == readers.name_around(place.path, line)
            if entry.matches(place) and is_there:
                found[place.id] = entry
                lines[entry].add(line)
    _refuse("names no place of the sources", (one for one in entries if not lines[one]))
    several = (one for one in entries if len(lines[one]) > 1)
    _refuse("names several lines: say which by `function`", several)
    return found


def _refuse(problem: str, entries: Iterable[Equivalent]) -> None:
    shown = "\n".join(f"  {one.path}: {one.text}: {one.what}" for one in entries)
    if shown:
        raise Unusable(f"equivalent.toml {problem}:\n{shown}")
