"""Results of runs, kept as lines of JSON, so that a run goes on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.fuzz.findings import Finding
from tests.fuzz.worker import Done

__all__ = ["Results", "state_of"]

INPUTS = ("mcp_gen", "generated/mcp_wire", "tests/fuzz", "codegen/verify/instances.py")


def state_of(root: Path) -> str:
    """Return a hash of all that decides what a run finds."""
    digest = hashlib.sha256()
    for name in INPUTS:
        place = root / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if not path.name.startswith("test_"):
                data = path.read_bytes()
                digest.update(b"%s %d\n" % (path.relative_to(root).as_posix().encode(), len(data)))
                digest.update(data)
    return digest.hexdigest()[:12]


class _Row(msgspec.Struct):
    surface: str
    seed: int
    done: Done


class Results:
    """Results for one state of the sources.

    Args:
        path: The file.
        seed: Seed of the run.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._seed = seed
        self.done: dict[str, int] = {}
        """Number of blocks that are done, by surface."""
        self._findings: dict[tuple[str, str, str], Finding] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.DecodeError:
            return  # The last line of a run that was ended while it wrote.
        if row.seed == self._seed:
            self._take(row)

    def _take(self, row: _Row) -> None:
        done = self.done.get(row.surface, 0)
        self.done[row.surface] = max(done, row.done.block + 1)
        for finding in row.done.findings:
            self._findings.setdefault(finding.alike, finding)

    def add(self, surface: str, done: Done) -> None:
        """Write what a worker tells, whole, before the next."""
        row = _Row(surface, self._seed, done)
        self._take(row)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")

    def findings(self) -> Iterator[Finding]:
        """Yield each fault once, in the order in which they were found."""
        yield from self._findings.values()
