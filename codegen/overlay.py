"""The overlay: deliberate deviations and names, each a row with its reason, used or refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError
from codegen.load import read_toml

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
    "synonym": frozenset({"names"}),
    "capability": frozenset({"method", "path"}),
    "raw": frozenset({"path"}),
    "role": frozenset({"name", "method"}),
    "unchecked": frozenset({"names"}),
    "reads": frozenset({"rule"}),
}
_OPTIONAL = frozenset({"only", "but"})


@dataclass
class Row:
    """One row of the overlay. Asking for it where it matches marks what was used."""

    kind: str
    number: int
    values: dict[str, Any]
    revisions: frozenset[str]
    unused: set[str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def applies_to(self, revision: str) -> bool:
        return not self.revisions or revision in self.revisions

    def use(self, part: str) -> None:
        self.unused.discard(part)

    def __str__(self) -> str:
        return f"[[{self.kind}]] row {self.number}"


class Overlay:
    """All rows of one overlay file, and which of them, or parts of them, have matched so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, list[Row]] = {kind: [] for kind in _KEYS}
        for kind, tables in read_toml(path).items():
            if kind not in _KEYS:
                raise CodegenError(
                    f"{path.name}: unknown kind [[{kind}]]; known: {', '.join(_KEYS)}"
                )
            for number, table in enumerate(tables, 1):
                self._rows[kind].append(self._read(kind, number, table))

    def _read(self, kind: str, number: int, table: dict[str, Any]) -> Row:
        where = f"{self.path.name}: [[{kind}]] row {number}"
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
        return (row for row in self._rows[kind] if row.applies_to(revision))

    def match(self, kind: str, revision: str, path: str) -> Row | None:
        """The row whose `paths` has a pattern for this path, marked as used."""
        for row in self.rows(kind, revision):
            for pattern in row["paths"]:
                if fnmatchcase(path, pattern):
                    row.use(pattern)
                    return row
        return None

    def names(self, kind: str, revision: str, name: str) -> bool:
        """Whether a row of this kind lists the name; marks it as used."""
        for row in self.rows(kind, revision):
            if name in row["names"]:
                row.use(name)
                return True
        return False

    def one(self, kind: str, revision: str, key: str, value: str) -> Row | None:
        """The row whose `key` equals the value, marked as used."""
        for row in self.rows(kind, revision):
            if row[key] == value:
                row.use("the row")
                return row
        return None

    def check_used(self) -> None:
        for rows in self._rows.values():
            for row in rows:
                if row.unused:
                    raise CodegenError(
                        f"{self.path.name}: {row}: {', '.join(sorted(row.unused))} matched nothing "
                        "in any revision; remove it"
                    )
