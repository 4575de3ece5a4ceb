"""Checks that `facts.toml` fits the schema, and that all revisions state the same facts."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from codegen.errors import Stop, Stops
from codegen.model import ir
from codegen.model.profile import OWN_FACTS
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.load import Source

_CONTAINERS = {"items": "items", "additionalProperties": "values"}


class _Fact(msgspec.Struct, forbid_unknown_fields=True):
    source: str
    value: str | bool | int | float | dict[str, str] | None = None


class _Error(msgspec.Struct, forbid_unknown_fields=True):
    code: int
    source: str
    http_status: int | None = None


class _Section(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    types: list[str]
    page: str = ""


class _Deprecated(msgspec.Struct, forbid_unknown_fields=True):
    advice: str
    since: str = ""
    source: str = ""


_ROWS: Mapping[str, Any] = {
    "deprecated": _Deprecated,
    "enums": list[str | int | bool],
    "errors": _Error,
    "facts": _Fact,
    "fields": list[str],
    "section": _Section,
}
"""Tables of facts, with the form of their rows."""
_TEXTS = ("revision", "spec")


def well_formed(facts: Object, where: str, stops: Stops) -> Object:
    """Return the tables of facts with the rows that have the right form.

    Each of the others is added to `stops`: as it was written by hand, nothing is sure of it.
    """

    def stop(place: str, what: str) -> None:
        advice = "write it as the facts of another revision are"
        stops.add([Stop(where, f"facts.toml {place}", what, advice)])

    made: Object = {}
    for table, rows in facts.items():
        if table in _TEXTS and isinstance(rows, str):
            made[table] = rows
        elif table not in _ROWS:
            known = ", ".join(sorted({*_ROWS, *_TEXTS}))
            stop(table, "not a text" if table in _TEXTS else f"an unknown table; known: {known}")
        elif table == "section" and is_array(rows):
            fit = [_misfit(table, str(place), row) for place, row in enumerate(rows, 1)]
            made[table] = [row for row, what in zip(rows, fit, strict=True) if not what]
            for place, what in enumerate(fit, 1):
                if what:
                    stop(f"[section] {place}", what)
        elif table != "section" and is_object(rows):
            misfits = {name: _misfit(table, name, row) for name, row in rows.items()}
            made[table] = {name: row for name, row in rows.items() if not misfits[name]}
            for name, what in misfits.items():
                if what:
                    stop(f"[{table}] {name}", what)
        else:
            stop(table, "not a table of rows")
    return made


def _misfit(table: str, name: str, row: Any) -> str:
    """Return what is wrong with a row; empty if it is right."""
    if table in ("errors", "facts"):
        named = name.lower() if table == "errors" else name
        if not named.isidentifier() or keyword.iskeyword(named) or not named.isascii():
            return "a name that is none in Python"
        if table == "facts" and name in OWN_FACTS:
            return "a fact that every Profile has, from elsewhere"
    try:
        msgspec.convert(row, _ROWS[table])
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def check_facts(source: Source) -> Source:
    """Return the source with the facts that have the right form and fit the schema.

    Every path in `[fields]`, `[enums]` and `[deprecated]` must exist in the schema. A row about
    something the schema lacks is added to `source.stops`, and so is a row of another form, and a
    text of more than a line, which could become code.
    """
    source = replace(source, facts=well_formed(source.facts, source.revision, source.stops))
    facts, definitions = source.facts, source.definitions
    there = dict(_places(definitions))

    def stop(table: str, key: str, what: str) -> None:
        place = f"facts.toml [{table}] {key}"
        source.stops.add([Stop(source.revision, place, what, "correct the row")])

    for path, wires in facts.get("fields", {}).items():
        if path not in there:
            stop("fields", path, "the schema has no such object")
            continue
        unknown = [wire for wire in wires if wire not in _properties(there[path], definitions)]
        if unknown:
            stop("fields", path, f"the schema has no {', '.join(unknown)}")
    for path, values in facts.get("enums", {}).items():
        published = there.get(path, {}).get("enum")
        if published is None:
            stop("enums", path, "the schema has no such enum")
        elif sorted(map(repr, published)) != sorted(map(repr, values)):
            stop("enums", path, f"{values} are listed, the schema has {published}")
    for name in facts.get("deprecated", {}):
        owner, _, wire = name.partition(".")
        properties = _properties(there.get(owner, {}), definitions)
        if owner not in there or (wire and wire not in properties):
            stop("deprecated", name, "the schema has no such type or field")
    for table, key, text in _texts(facts):
        if not text.isprintable() or '"""' in text or "\\" in text:
            stop(table, key, "a text that is not one line of plain words")
    return source


def _texts(facts: Object) -> Iterator[tuple[str, str, str]]:
    """Yield the texts that stand in generated modules, with their places."""
    if isinstance(facts.get("spec"), str):
        yield "", "spec", facts["spec"]
    for number, section in enumerate(facts.get("section", ()), 1):
        yield from (
            ("section", str(number), str(section.get(key, ""))) for key in ("title", "page")
        )
    for name, row in facts.get("deprecated", {}).items():
        yield "deprecated", name, str(row.get("advice", ""))


def missing_facts(revision: str, previous: str) -> Stop:
    """Return the stop for a revision without `facts.toml`."""
    return Stop(
        revision,
        "facts.toml",
        f"there is none; those of {previous} are taken meanwhile",
        f"copy schema/{previous}/facts.toml, go through each fact, and begin it with",
        f'revision = "{revision}"\n'
        f'spec     = "https://modelcontextprotocol.io/specification/{revision}"\n',
    )


def unfit_head(facts: Object, revision: str) -> Iterator[Stop]:
    """Yield a stop if the file says that it is another revision's, as a copied one does."""
    stated = facts.get("revision")
    if stated != revision:
        yield Stop(
            revision,
            "facts.toml revision",
            f"it is {stated!r}" if stated else "it is missing",
            "this is the file of another revision, or a copy: go through its facts, and write",
            f'revision = "{revision}"\n',
        )
    spec = str(facts.get("spec", ""))
    if revision not in spec:
        yield Stop(
            revision,
            "facts.toml spec",
            f"{spec!r} does not name the revision" if spec else "it is missing",
            "docstrings link to it; write",
            f'spec = "https://modelcontextprotocol.io/specification/{revision}"\n',
        )


def inherited(facts: Object) -> Object:
    """Return the facts that a draft inherits: all but the sections and the spec link."""
    tables = ("facts", "errors", "fields", "enums", "deprecated")
    return {table: facts[table] for table in tables if table in facts}


def unlike(revisions: Iterable[ir.Revision]) -> Iterator[Stop]:
    """Yield a stop for each fact that one revision states and another says nothing of."""
    stated = {revision.name: {fact.name for fact in revision.facts} for revision in revisions}
    every = set[str]().union(*stated.values())
    for revision, facts in stated.items():
        for name in sorted(every - facts):
            yield Stop(
                revision,
                f"facts.toml [facts] {name}",
                "other revisions state it",
                "state it, without `value` if it is absent at this date",
                f'[facts.{name}]\nvalue  = ""\nsource = ""\n',
            )


def unfit_name_params(revision: ir.Revision) -> Iterator[Stop]:
    """Yield a stop for each mirrored parameter of a method or params that the revision lacks."""
    rows = next((fact.value for fact in revision.facts if fact.name == "name_params"), None)
    params = {method.wire: revision.structs.get(method.params) for method in revision.methods}
    for wire, param in rows.items() if isinstance(rows, dict) else ():
        struct = params.get(wire)
        if struct is None or param not in {field.wire for field in struct.fields}:
            yield Stop(
                revision.name,
                f"facts.toml [facts.name_params] {wire}",
                f"no such request, or its params have no `{param}`",
                "correct the row",
            )


def check_alike(revisions: Iterable[ir.Revision]) -> None:
    """Check that all revisions state the same facts, the fields of the profile.

    Raises:
        Stopped: a revision says nothing of a fact that another one states.
    """
    stops = Stops()
    stops.add(unlike(revisions))
    stops.check()


def _places(definitions: Object) -> Iterator[tuple[str, Object]]:
    """Yield every subschema of the file with its path, in overlay notation."""

    def walk(schema: Any, path: str) -> Iterator[tuple[str, Object]]:
        if not is_object(schema):
            return  # the normaliser stops there, or it is true
        yield path, schema
        for wire, value in _properties(schema, definitions).items():
            yield from walk(value, f"{path}/{wire}")
        for word, step in _CONTAINERS.items():
            if is_object(schema.get(word)):
                yield from walk(schema[word], f"{path}/{step}")
        arms = schema.get("anyOf")
        for number, arm in enumerate(arms if is_array(arms) else ()):
            yield from walk(arm, f"{path}/{number}")

    for name, schema in definitions.items():
        yield from walk(schema, name)


def _properties(schema: Any, definitions: Object, passed: tuple[str, ...] = ()) -> Object:
    """Return the properties of an object, including inherited ones."""
    found: Object = {}
    if not is_object(schema):
        return found
    arms = schema.get("allOf")
    for arm in arms if is_array(arms) else ():
        name = str(arm["$ref"]).rpartition("/")[2] if is_object(arm) and "$ref" in arm else ""
        if name not in passed:
            resolved = definitions.get(name, {}) if name else arm
            found |= _properties(resolved, definitions, (*passed, name) if name else passed)
    own = schema.get("properties")
    found |= own if is_object(own) else {}
    return found
