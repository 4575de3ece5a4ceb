"""One-line documentation of types and fields from `docs.toml`; unused rows are errors."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from codegen.errors import CodegenError, Stop
from codegen.model import ir
from codegen.model.message_docs import is_envelope, is_envelope_name, is_framed
from codegen.model.profile import NO_PROFILE_DOCS, ProfileDocs
from codegen.model.text import check_line
from codegen.schema.json_values import is_object
from codegen.schema.load import read_toml

_ANY_TYPE = "*"
_TABLES = ("types", "fields")
_FIELD = re.compile(r"(\*|[A-Za-z]\w*)\.\S+")


def read_docs(root: Path) -> "Docs":
    """Read the documentation of a checkout, of types and of facts; empty if there is none.

    Raises:
        CodegenError: as `Docs.load` and `ProfileDocs.load`.
    """
    path, profile = root / "schema" / "docs.toml", root / "schema" / "profile.toml"
    docs = Docs.load(path) if path.exists() else Docs(path.name, {}, {})
    if profile.exists():
        docs.profile = ProfileDocs.load(profile)
    return docs


class Docs:
    """The rows of one documentation file; tracks the unused ones."""

    def __init__(self, label: str, types: dict[str, str], fields: dict[str, str]) -> None:
        self.profile = NO_PROFILE_DOCS
        self._label = label
        self._rows = {"types": types, "fields": fields}
        self._unused = {(table, name) for table in _TABLES for name in self._rows[table]}
        for table, name in sorted(self._unused):
            self._check(table, name, self._rows[table][name])

    @classmethod
    def load(cls, path: Path) -> "Docs":
        """Read and check one file.

        Raises:
            CodegenError: not a table of rows, or a row that is no single line of plain words.
        """
        tables = read_toml(path)
        unknown = tables.keys() - set(_TABLES)
        if unknown:
            raise CodegenError(
                f"{path.name}: unknown table [{min(unknown)}]; known: {', '.join(_TABLES)}"
            )
        for table, rows in tables.items():
            if not is_object(rows):
                raise CodegenError(f"{path.name}: `{table}` must be a table of rows")
        return cls(path.name, tables.get("types", {}), tables.get("fields", {}))

    def __bool__(self) -> bool:
        return any(self._rows.values())

    def type(self, name: str) -> str:
        """Return the documentation of a type, or an empty text; marks the row as used."""
        return self._use("types", name)

    def field(self, type_: str, wire: str) -> str:
        """Return the documentation of a field by its own row or `*`, or an empty text."""
        return self._use("fields", f"{type_}.{wire}") or self._use("fields", f"{_ANY_TYPE}.{wire}")

    def unused(self) -> Iterator[Stop]:
        """Yield a stop for each row that was not used; call after all revisions are built."""
        for table, name in sorted(self._unused):
            yield Stop(
                self._label, f"[{table}] {name}", "it matched nothing in any revision", "remove it"
            )

    def undocumented(self, revisions: Iterable[ir.Revision]) -> list[str]:
        """Return the types and fields without a row, as `Type` and `Type.field`."""
        types, fields = self._rows["types"], self._rows["fields"]
        missing: dict[str, None] = {}
        for revision in revisions:
            for name in documented_types(revision):
                if name not in types:
                    missing[name] = None
            for type_, wire in _documented_fields(revision):
                if f"{type_}.{wire}" not in fields and f"{_ANY_TYPE}.{wire}" not in fields:
                    missing[f"{type_}.{wire}"] = None
        return sorted(missing)

    def _use(self, table: str, name: str) -> str:
        self._unused.discard((table, name))
        return self._rows[table].get(name, "")

    def _check(self, table: str, name: str, text: str) -> None:
        where = f"{self._label}: [{table}] {name}"
        check_line(where, name, text)
        if table == "fields" and not _FIELD.fullmatch(name):
            raise CodegenError(f"{where}: expected `Type.field` or `*.field`")


NO_DOCS = Docs("docs.toml", {}, {})
"""Of what has no documentation of its own."""


def documented_types(revision: ir.Revision) -> Iterator[str]:
    """Yield the types that need documentation: all but envelopes and typing-only unions."""
    for struct in revision.structs.values():
        if not is_envelope(struct):
            yield struct.name
    for alias in revision.aliases.values():
        if alias.strategy != "typing" and not is_envelope_name(alias.name):
            yield alias.name


def _documented_fields(revision: ir.Revision) -> Iterator[tuple[str, str]]:
    for struct in revision.structs.values():
        if is_envelope(struct):
            continue
        wires = {field.wire for field in struct.fields}
        frame = {"jsonrpc", "id"} if is_framed(struct) else set[str]()
        for wire in sorted(wires - frame):
            yield struct.name, wire
