"""Results of faults, kept as lines of JSON, so that a run can be continued."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path

from tests.mutants.places import Place
from tests.mutants.running import Outcome

__all__ = ["Results"]

FOUND = ("killed", "timeout", "only full")


class Results:
    """Results for one state of the sources.

    A fault that was found stays found as long as the test that found it is the same. One that was
    not found is tried again once any test has changed.

    Args:
        path: The file.
        files: Hash of each test file.
        is_whole: False if some of the tests are run alone: then only what they find is kept.
    """

    def __init__(self, path: Path, files: dict[str, str], is_whole: bool = True) -> None:
        self._path = path
        self._files = files
        self._is_whole = is_whole
        self._lock = threading.Lock()
        self._known: dict[str, Outcome] = {}
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            row = json.loads(line)
            files = row.pop("hashes")
            place = row.pop("place")
        except (ValueError, KeyError):
            return  # The last line of a run that was ended while it wrote.
        row["files"] = tuple(row["files"])
        if all(self._files.get(name) == hashed for name, hashed in files.items()):
            self._known[place] = Outcome(**row)
        else:
            self._known.pop(place, None)

    def get(self, place: Place) -> Outcome | None:
        return self._known.get(place.id)

    def add(self, place: Place, outcome: Outcome) -> None:
        """Write one result, whole, before the next one."""
        found = outcome.status in FOUND and "::" in outcome.by
        needed = [outcome.by.partition("::")[0]] if found else list(self._files)
        hashes = {name: self._files[name] for name in needed if name in self._files}
        row = {"place": place.id, **asdict(outcome), "hashes": hashes}
        with self._lock:
            self._known[place.id] = outcome
            if not found and not self._is_whole:
                return
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
