"""The overlay: deviations and names, each with its reason; unused rows are errors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError
from codegen.model.ir import Revision
from codegen.schema.load import read_toml

_KEYS: dict[str, frozenset[str]] = {
    "patch": frozenset({"pointer", "old", "new"}),
    "name": frozenset({"paths", "name"}),
    "open": frozenset({"paths"}),
    "closed": frozenset({"paths"}),
    "alias": frozenset({"name", "target"}),
    "const": frozenset({"property", "value", "only", "but"}),
    "inject": frozenset({"property", "into"}),
    "lenient": frozenset({"path", "value"}),
    "pick": frozenset({"name", "arms"}),
    "typing": frozenset({"names"}),
    "unknown": frozenset({"names"}),
    "extra": frozenset({"names"}),
    "also_named": frozenset({"names"}),
    "capability": frozenset({"method", "path"}),
    "raw": frozenset({"path"}),
    "role": frozenset({"name", "method"}),
    "renamed": frozenset({"old", "new"}),
    "unchecked": frozenset({"names"}),
    "reads": frozenset({"rule"}),
}
_OPTIONAL = frozenset({"only", "but"})


@dataclass
class Row:
    """One row of the overlay; tracks the parts that matched."""

    kind: str
    number: int
    values: dict[str, Any]
    revisions: frozenset[str]
    unused: set[str]
    file: str = ""
    lent_to: str = ""
    """A draft that the row was not written for: it applies there as far as it fits."""
    unfit: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def applies_to(self, revision: str) -> bool:
        return not self.revisions or revision in self.revisions or revision == self.lent_to

    def use(self, part: str) -> None:
        self.unused.discard(part)

    def passes_over(self, revision: str) -> bool:
        """Return True if the row is optional for a draft, and mark it as skipped."""
        self.unfit = self.lent_to == revision
        return self.unfit

    def __str__(self) -> str:
        return f"{self.file}[[{self.kind}]] row {self.number}"


class Overlay:
    """The rows of one overlay file; tracks the unused ones.

    With a draft there may be a second file, whose rows go before the others: where one row is
    looked for it is found first, and where all rows are applied it has the last word.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.draft = ""
        self._rows = self._read_all(path)
        self._more: dict[str, list[Row]] = {kind: [] for kind in _KEYS}

    def lend(self, draft: str, newest: str) -> None:
        """Apply the rows for the newest revision to a draft too, as far as they fit."""
        self.draft = draft
        for row in self._all(self._rows):
            if draft not in row.revisions and row.applies_to(newest):
                row.lent_to = draft

    def read_also(self, path: Path) -> None:
        """Read a second file, whose rows take precedence over the first.

        Raises:
            CodegenError: no such file, or a row that makes no sense.
        """
        self._more = self._read_all(path)
        for row in self._all(self._more):
            row.file = f"{path.name}: "

    def unfit(self) -> Iterator[str]:
        """Yield the rows of the first file that do not fit the draft."""
        for row in self._all(self._rows):
            if row.unfit:
                yield f"{self.path.name}: {row} does not fit: {row['reason']}"

    def unmatched(self) -> Iterator[str]:
        """Yield the rows of the second file that matched nothing."""
        for row in self._all(self._more):
            if row.unused:
                yield f"{row}: {', '.join(sorted(row.unused))} matched nothing"

    def _all(self, rows: dict[str, list[Row]]) -> Iterator[Row]:
        return (row for found in rows.values() for row in found)

    def _read_all(self, path: Path) -> dict[str, list[Row]]:
        rows: dict[str, list[Row]] = {kind: [] for kind in _KEYS}
        for kind, tables in read_toml(path).items():
            if kind not in _KEYS:
                raise CodegenError(
                    f"{path.name}: unknown kind [[{kind}]]; known: {', '.join(_KEYS)}"
                )
            for number, table in enumerate(tables, 1):
                rows[kind].append(self._read(path, kind, number, table))
        return rows

    def _read(self, path: Path, kind: str, number: int, table: dict[str, Any]) -> Row:
        where = f"{path.name}: [[{kind}]] row {number}"
        unknown = table.keys() - _KEYS[kind] - {"reason", "revisions"}
        if unknown:
            raise CodegenError(
                f"{where}: unknown key {', '.join(sorted(unknown))}; "
                f"known: {', '.join(sorted(_KEYS[kind]))}, reason, revisions"
            )
        missing = _KEYS[kind] - _OPTIONAL - table.keys()
        if missing:
            raise CodegenError(f"{where}: add {', '.join(sorted(missing))}")
        if not table.get("reason"):
            raise CodegenError(f"{where}: add `reason`; every deviation says why")
        parts = table.get("paths") or table.get("names") or ["the row"]
        revisions = frozenset(table.get("revisions", ()))
        return Row(kind, number, table, revisions, set(parts))

    def rows(self, kind: str, revision: str) -> Iterator[Row]:
        """Yield the rows of a kind, in the order of application."""
        rows = [*self._rows[kind], *self._more[kind]]
        return (row for row in rows if row.applies_to(revision))

    def _search(self, kind: str, revision: str) -> Iterator[Row]:
        rows = [*self._more[kind], *self._rows[kind]]
        return (row for row in rows if row.applies_to(revision))

    def match(self, kind: str, revision: str, path: str) -> Row | None:
        """Return the row whose `paths` matches this path, and mark it as used."""
        for row in self._search(kind, revision):
            for pattern in row["paths"]:
                if fnmatchcase(path, pattern):
                    row.use(pattern)
                    return row
        return None

    def names(self, kind: str, revision: str, name: str) -> bool:
        """Return True if a row of this kind lists the name, and mark it as used."""
        for row in self._search(kind, revision):
            if name in row["names"]:
                row.use(name)
                return True
        return False

    def one(self, kind: str, revision: str, key: str, value: str) -> Row | None:
        """Return the row whose `key` equals the value, and mark it as used."""
        for row in self._search(kind, revision):
            if row[key] == value:
                row.use("the row")
                return row
        return None

    def other_names(self, revisions: Iterable[Revision]) -> dict[str, list[str]]:
        """Return the other names of each type that has several."""
        groups = [
            names
            for revision in revisions
            for names in [
                *(row["names"] for row in self.rows("also_named", revision.name)),
                *([row["old"], row["new"]] for row in self.rows("renamed", revision.name)),
            ]
        ]
        return {
            name: [other for other in names if other != name] for names in groups for name in names
        }

    def check_used(self) -> None:
        for rows in self._rows.values():
            for row in rows:
                if row.unused:
                    raise CodegenError(
                        f"{self.path.name}: {row}: {', '.join(sorted(row.unused))} matched nothing "
                        "in any revision; remove it"
                    )
