"""One-line documentation of types and fields from `docs.toml`; unused rows are errors."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from codegen.errors import CodegenError
from codegen.model import ir
from codegen.model.names import snake
from codegen.schema.json_values import is_object
from codegen.schema.load import read_toml

MAX_CHARACTERS = 90
"""Characters that fit between the quotes of a docstring, indented by 4, in a line of 100."""

_ANY_TYPE = "*"
_TABLES = ("types", "fields")
_FIELD = re.compile(r"(\*|[A-Za-z]\w*)\.\S+")
_NO_PLAIN_TEXT = re.compile(r'[<>"\\]|\{@|[^\S ]')
_ENVELOPE = re.compile(r"JSONRPC.*|.*ResultResponse|(Client|Server)(Request|Notification|Result)")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an the any all one this that these those
        and or as at by for from if in of on than to with
        is are be can has have may will
        it its their them there who whose what which when where
        """,
    )
)


def read_docs(root: Path) -> "Docs":
    """Read the documentation of a checkout; empty if there is none.

    Raises:
        CodegenError: as `Docs.load`.
    """
    path = root / "schema" / "docs.toml"
    return Docs.load(path) if path.exists() else Docs(path.name, {}, {})


class Docs:
    """The rows of one documentation file; tracks the unused ones."""

    def __init__(self, label: str, types: dict[str, str], fields: dict[str, str]) -> None:
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
            for name, text in rows.items():
                if not isinstance(text, str):
                    raise CodegenError(
                        f"{path.name}: [{table}] {name}: expected a text in quotes; quote the name "
                        "too if it has a dot"
                    )
        return cls(path.name, tables.get("types", {}), tables.get("fields", {}))

    def __bool__(self) -> bool:
        return any(self._rows.values())

    def type(self, name: str) -> str:
        """Return the documentation of a type, or an empty text; marks the row as used."""
        return self._use("types", name)

    def field(self, type_: str, wire: str) -> str:
        """Return the documentation of a field by its own row or `*`, or an empty text."""
        return self._use("fields", f"{type_}.{wire}") or self._use("fields", f"{_ANY_TYPE}.{wire}")

    def check_used(self) -> None:
        """Check that every row was used; call after all revisions are built.

        Raises:
            CodegenError: a row about something that no revision has.
        """
        for table, name in sorted(self._unused):
            raise CodegenError(
                f"{self._label}: [{table}] {name} matched nothing in any revision; remove it"
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
        def stop(what: str) -> CodegenError:
            return CodegenError(f"{self._label}: [{table}] {name}: {what}")

        if table == "fields" and not _FIELD.fullmatch(name):
            raise stop("expected `Type.field` or `*.field`")
        if _NO_PLAIN_TEXT.search(text):
            raise stop("one line of plain text, with backticks for what is typed; no other markup")
        if not text.endswith(".") or text.endswith((" .", "..")):
            raise stop("end it with one full stop")
        if len(text) > MAX_CHARACTERS:
            raise stop(f"{len(text)} characters; make it {MAX_CHARACTERS} at most")
        if _words(text) - _STOP_WORDS <= _words(name):
            raise stop("it only repeats the name; say what the name does not")


NO_DOCS = Docs("docs.toml", {}, {})
"""Of what has no documentation of its own."""


def documented_types(revision: ir.Revision) -> Iterator[str]:
    """Yield the types that need documentation: all but envelopes and typing-only unions."""
    for struct in revision.structs.values():
        if not _is_envelope(struct):
            yield struct.name
    for alias in revision.aliases.values():
        if alias.strategy != "typing" and not _ENVELOPE.fullmatch(alias.name):
            yield alias.name


def _documented_fields(revision: ir.Revision) -> Iterator[tuple[str, str]]:
    for struct in revision.structs.values():
        if _is_envelope(struct):
            continue
        wires = {field.wire for field in struct.fields}
        frame = {"jsonrpc", "id"} if "jsonrpc" in wires else set[str]()
        for wire in sorted(wires - frame):
            yield struct.name, wire


def _is_envelope(struct: ir.Struct) -> bool:
    """Return True if a struct is a message or a JSON-RPC frame."""
    has_method = any(field.wire == "method" for field in struct.fields)
    is_message = struct.tag is not None and struct.tag.wire == "method"
    return has_method or is_message or _ENVELOPE.fullmatch(struct.name) is not None


def _words(text: str) -> set[str]:
    """Return the words of a text or name, in lower case and singular."""
    parts = re.findall(r"-?\w+", text)
    return {word.removesuffix("s") for part in parts for word in snake(part).split("_") if word}
