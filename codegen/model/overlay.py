"""The overlay: deviations and names, each with its reason; unused rows are errors."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from keyword import iskeyword
from pathlib import Path
from typing import Any

import msgspec

from codegen.errors import CodegenError, Stop
from codegen.model.ir import Revision
from codegen.schema.json_values import is_array, is_object
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
    "filled": frozenset({"path", "by"}),
    "documented": frozenset({"names"}),
}
_OPTIONAL = frozenset({"only", "but"})


class _Arm(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    when: list[str]


_LISTS = ("paths", "names", "only", "but", "into", "revisions", "refused")
_DATA = {"patch": ("old", "new"), "const": ("value",), "lenient": ("value",)}
"""Keys that hold any value; lists are in `_LISTS`, and all others hold a text."""
_DATES = ("revisions", "since", "refused")
"""Keys of any row: at which revisions it holds, and where it does not although it would fit."""


_WHOLE = "the row"
"""The one part of a row without `paths` or `names`."""


@dataclass
class Row:
    """One row of the overlay; tracks the parts that matched."""

    kind: str
    number: int
    values: dict[str, Any]
    unused: set[str]
    file: str = ""
    lent_to: str = ""
    """A draft that the row was not written for: it applies there as far as it fits."""
    unfit: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def __post_init__(self) -> None:
        self.revisions = frozenset[str](self.values.get("revisions", ()))
        self.since = str(self.values.get("since", ""))
        self.refused = frozenset[str](self.values.get("refused", ()))
        self.used_as_lent: set[str] = set()
        """Parts that matched at the revision that the row is lent to."""

    @property
    def dates(self) -> frozenset[str]:
        """Every revision that the row names."""
        since = frozenset({self.since}) if self.since else frozenset[str]()
        return self.revisions | self.refused | since

    def holds_at(self, revision: str) -> bool:
        """Return True if the row says that it holds at a revision."""
        if revision in self.refused:
            return False
        if self.since:
            return revision >= self.since
        return not self.revisions or revision in self.revisions

    def applies_to(self, revision: str) -> bool:
        return self.holds_at(revision) or revision == self.lent_to

    def use(self, part: str) -> None:
        self.unused.discard(part)
        if self.lent_to:
            self.used_as_lent.add(part)

    def passes_over(self, revision: str) -> bool:
        """Return True if the row is optional for a draft, and mark it as skipped."""
        self.unfit = self.lent_to == revision
        return self.unfit

    @property
    def where(self) -> str:
        """Place of the row, as the last part of a pointer."""
        return f"overlay.toml/{self.kind}/{self.number}"

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
            if row.holds_at(newest) and not row.dates & {draft}:
                row.lent_to = draft

    @contextmanager
    def lent(self, revision: str, previous: str) -> Generator[list[Row]]:
        """Apply the rows for one revision to the next one too, while the block runs.

        Yields:
            A list, filled at the end with the rows that fit the next revision without naming it.
        """
        fitting: list[Row] = []
        for row in self._all(self._rows):
            row.used_as_lent.clear()
            ends = row.holds_at(previous) and not row.holds_at(revision)
            if ends and revision not in row.refused:
                row.lent_to = revision
        yield fitting
        for row in self._all(self._rows):
            if row.lent_to == revision:
                if row.used_as_lent and not row.unfit:
                    fitting.append(row)
                row.lent_to, row.unfit = "", False

    def all(self) -> Iterator[Row]:
        """Yield every row of the first file."""
        return self._all(self._rows)

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
            if not is_array(tables) or not all(map(is_object, tables)):
                raise CodegenError(f"{path.name}: begin each row of `{kind}` with [[{kind}]]")
            for number, table in enumerate(tables, 1):
                rows[kind].append(self._read(path, kind, number, table))
        return rows

    def _read(self, path: Path, kind: str, number: int, table: dict[str, Any]) -> Row:
        where = f"{path.name}: [[{kind}]] row {number}"
        unknown = table.keys() - _KEYS[kind] - {"reason", *_DATES}
        if unknown:
            raise CodegenError(
                f"{where}: unknown key {', '.join(sorted(unknown))}; "
                f"known: {', '.join(sorted(_KEYS[kind]))}, reason, {', '.join(_DATES)}"
            )
        missing = _KEYS[kind] - _OPTIONAL - table.keys()
        if missing:
            raise CodegenError(f"{where}: add {', '.join(sorted(missing))}")
        if not table.get("reason"):
            raise CodegenError(f"{where}: add `reason`; every deviation says why")
        for key, value in table.items():
            if key in _DATA.get(kind, ()):
                continue
            form: Any = list[_Arm] if key == "arms" else list[str] if key in _LISTS else str
            try:
                msgspec.convert(value, form)
            except msgspec.ValidationError as error:
                raise CodegenError(f"{where}: {key}: {error}; correct it") from error
        if kind == "role" and (not table["name"].isidentifier() or iskeyword(table["name"])):
            raise CodegenError(f"{where}: {table['name']!r} cannot name a fact in Python")
        if "revisions" in table and "since" in table:
            raise CodegenError(f"{where}: `revisions` and `since` say the same; keep one of them")
        parts = table.get("paths") or table.get("names") or [_WHOLE]
        return Row(kind, number, table, set(parts))

    def rows(self, kind: str, revision: str) -> Iterator[Row]:
        """Yield the rows of a kind, in the order of application."""
        return self._own_first(revision, [*self._rows[kind], *self._more[kind]])

    def _search(self, kind: str, revision: str) -> Iterator[Row]:
        return self._own_first(revision, [*self._more[kind], *self._rows[kind]])

    def _own_first(self, revision: str, rows: list[Row]) -> Iterator[Row]:
        """Yield the rows for a revision before those that are lent to it."""
        yield from (row for row in rows if row.lent_to != revision and row.holds_at(revision))
        yield from (row for row in rows if row.lent_to == revision)

    def check_dates(self, known: Iterable[str]) -> None:
        """Check that every revision that a row names is one.

        Raises:
            CodegenError: a row names another one, as after a slip of the pen.
        """
        revisions = {*known, self.draft}
        for row in self._all(self._rows):
            for date in sorted(row.dates - revisions):
                raise CodegenError(
                    f"{self.path.name}: {row}: there is no revision {date}; "
                    f"there are {', '.join(sorted(filter(None, revisions)))}"
                )

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
                row.use(_WHOLE)
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

    def unused(self) -> Iterator[Stop]:
        """Yield a stop for each row of the first file that matched nothing."""
        for row in self.all():
            if row.unused:
                what = f"{', '.join(sorted(row.unused))} matched nothing in any revision"
                yield Stop(self.path.name, str(row), what, "remove it")
