"""Checks that `facts.toml` fits the schema, and that all revisions state the same facts."""

from collections.abc import Iterable, Iterator

from codegen.errors import CodegenError
from codegen.model import ir
from codegen.schema.load import Object, is_array, is_object

_CONTAINERS = {"items": "items", "additionalProperties": "values"}


def check_facts(facts: Object, definitions: Object, revision: str) -> None:
    """Check that every path in `[fields]`, `[enums]` and `[deprecated]` exists in the schema.

    Raises:
        CodegenError: a row about something the schema lacks.
    """
    there = dict(_places(definitions))

    def stop(table: str, key: str, what: str) -> CodegenError:
        return CodegenError(f"{revision}: facts.toml [{table}] {key}: {what}; correct the row")

    for path, wires in facts.get("fields", {}).items():
        if path not in there:
            raise stop("fields", path, "the schema has no such object")
        unknown = [wire for wire in wires if wire not in _properties(there[path], definitions)]
        if unknown:
            raise stop("fields", path, f"the schema has no {', '.join(unknown)}")
    for path, values in facts.get("enums", {}).items():
        published = there.get(path, {}).get("enum")
        if published is None:
            raise stop("enums", path, "the schema has no such enum")
        if sorted(published) != sorted(values):
            raise stop("enums", path, f"{values} are listed, the schema has {published}")
    for name in facts.get("deprecated", {}):
        owner, _, wire = name.partition(".")
        properties = _properties(there.get(owner, {}), definitions)
        if owner not in there or (wire and wire not in properties):
            raise stop("deprecated", name, "the schema has no such type or field")


def inherited(facts: Object) -> Object:
    """Return the facts that a draft inherits: all but the sections and the spec link."""
    tables = ("facts", "errors", "fields", "enums", "deprecated")
    return {table: facts[table] for table in tables if table in facts}


def check_alike(revisions: Iterable[ir.Revision]) -> None:
    """Check that all revisions state the same facts, the fields of the profile.

    Raises:
        CodegenError: a revision says nothing of a fact that another one states.
    """
    stated = {revision.name: {fact.name for fact in revision.facts} for revision in revisions}
    for name, facts in stated.items():
        missing = set[str]().union(*stated.values()) - facts
        if missing:
            raise CodegenError(
                f"{name}: facts.toml lacks {', '.join(sorted(missing))}, which other revisions "
                "state; add a [facts] row, without `value` if it is absent at this date"
            )


def _places(definitions: Object) -> Iterator[tuple[str, Object]]:
    """Yield every subschema of the file with its path, in overlay notation."""

    def walk(schema: Object, path: str) -> Iterator[tuple[str, Object]]:
        yield path, schema
        for wire, value in _properties(schema, definitions).items():
            yield from walk(value, f"{path}/{wire}")
        for keyword, step in _CONTAINERS.items():
            if is_object(schema.get(keyword)):
                yield from walk(schema[keyword], f"{path}/{step}")
        for number, arm in enumerate(schema.get("anyOf", ())):
            yield from walk(arm, f"{path}/{number}")

    for name, schema in definitions.items():
        yield from walk(schema, name)


def _properties(schema: Object, definitions: Object, passed: tuple[str, ...] = ()) -> Object:
    """Return the properties of an object, including inherited ones."""
    found: Object = {}
    arms = schema.get("allOf")
    for arm in arms if is_array(arms) else ():
        name = str(arm["$ref"]).rpartition("/")[2] if "$ref" in arm else ""
        if name not in passed:
            resolved = definitions.get(name, {}) if name else arm
            found |= _properties(resolved, definitions, (*passed, name) if name else passed)
    found |= schema.get("properties", {})
    return found
