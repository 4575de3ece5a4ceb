"""Reads and checks `facts.toml` of an extension."""

from collections.abc import Iterator
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model import ir
from codegen.schema.json_values import Object, is_array, is_object

_KNOWN = frozenset(
    {
        "identifier",
        "revisions",
        "refused",
        "base",
        "spec",
        "source",
        "settings",
        "methods",
        "arms",
        "listen",
        "section",
        "fields",
        "enums",
        "deprecated",
    }
)
_IN_ROWS = {
    "methods": frozenset({"direction", "name_param", "source"}),
    "arms": frozenset({"results", "source"}),
    "listen": frozenset({"wanted", "agreed", "source"}),
    "settings": frozenset({"type", "source"}),
}
_DIRECTIONS: dict[str, ir.Direction] = {
    "client_to_server": "client_to_server",
    "server_to_client": "server_to_client",
    "both": "both",
}


class ExtensionFacts:
    """The facts of one extension; `name` is used in error messages.

    Raises:
        Stopped: a table that means nothing, or one that is missing.
    """

    def __init__(self, name: str, table: Object) -> None:
        self._name = name
        self.table = table
        for key in sorted(table.keys() - _KNOWN):
            raise self.stop(f"unknown `{key}`", f"known: {', '.join(sorted(_KNOWN))}")
        self.identifier = str(self._required("identifier"))
        revisions = self._required("revisions")
        if not is_array(revisions):
            raise self.stop("`revisions` is no list", "list the dates, oldest first")
        self.revisions = tuple(map(str, revisions))
        self.refused = frozenset[str](map(str, table.get("refused", ())))
        self.base = str(table.get("base") or self.revisions[-1])
        self.directions: dict[str, ir.Direction] = {
            wire: self._direction(wire, row) for wire, row in self.rows("methods")
        }

    def rows(self, table: str) -> Iterator[tuple[str, Object]]:
        """Yield the rows of a table with their keys."""
        for key, row in self.table.get(table, {}).items():
            yield key, self._sourced(table, row, f'[{table}."{key}"]')

    def names(self, row: Object, key: str, where: str) -> tuple[str, ...]:
        """Return the definition names that a row has under a key."""
        found = row.get(key)
        if not found:
            raise self.stop(f"{where} without `{key}`", f"add `{key}`")
        return (found,) if isinstance(found, str) else tuple(map(str, found))

    def one(self, table: str, key: str) -> str:
        """Return the name that a single table has under a key; empty without the table."""
        row = self.table.get(table)
        if row is None:
            return ""
        (name,) = self.names(self._sourced(table, row, f"[{table}]"), key, f"[{table}]")
        return name

    def stop(self, construct: str, advice: str, file: str = "facts.toml") -> Stopped:
        """Return the error for a problem in a file of the extension."""
        return Stopped(Stop(f"extension {self._name}", file, construct, advice))

    def _sourced(self, table: str, row: Any, where: str) -> Object:
        if not is_object(row) or not row.get("source"):
            raise self.stop(f"{where} without `source`", "add `source`, a link to where it is said")
        known = _IN_ROWS[table]
        for key in sorted(row.keys() - known):
            raise self.stop(f"{where}: unknown `{key}`", f"known: {', '.join(sorted(known))}")
        return row

    def _direction(self, wire: str, row: Object) -> ir.Direction:
        found = _DIRECTIONS.get(str(row.get("direction")))
        if found is None:
            raise self.stop(
                f'[methods."{wire}"] without a right `direction`',
                f"`direction` is one of {', '.join(_DIRECTIONS)}",
            )
        return found

    def _required(self, key: str) -> Any:
        if not self.table.get(key):
            raise self.stop(f"`{key}` is missing", f"add `{key}`")
        return self.table[key]
