"""Reads an extension: its schema, its facts, and the revision it extends."""

import keyword
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codegen.errors import CodegenError
from codegen.extensions.checks import names_taken, tags_taken
from codegen.extensions.facts import ExtensionFacts
from codegen.model import ir
from codegen.model.build import build
from codegen.model.docs import Docs
from codegen.model.facts import well_formed
from codegen.model.names import module, snake
from codegen.model.normalize import normalize
from codegen.model.overlay import Overlay
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.load import Source, load

_CORRECT_REFERENCE = "refer to another definition, or add it", "schema.json"
_OF_TYPES = ("deprecated", "enums", "fields", "section", "spec")
"""Tables of an extension's facts that the facts of a revision have, too."""


@dataclass(frozen=True)
class Extension:
    """The model of one extension, ready to render."""

    name: str
    """Of its package."""
    identifier: str
    revisions: tuple[str, ...]
    base: str
    """The module of the revision that its schema refers to."""
    whole: ir.Revision
    """All types of that revision and of the extension, for look-ups.

    Methods, sections, scalars and unions are those of the extension alone.
    """
    own: ir.Revision
    """The same with the extension's types alone."""
    borrowed: tuple[str, ...]
    """The names of the revision that the extension's types and methods refer to."""
    arms: dict[str, tuple[str, ...]]
    name_params: dict[str, str]
    wanted: str
    agreed: str
    settings: str
    docs: Docs | None = None
    """Documentation of its types and fields; may be empty."""


def extension_folders(root: Path) -> list[Path]:
    """Return the extension folders of a checkout, sorted by name."""
    return sorted(path.parent for path in (root / "schema" / "extensions").glob("*/schema.json"))


def find_extension(path: Path) -> Path:
    """Return the folder of an extension, given the folder or its schema.

    Raises:
        CodegenError: there is no schema.
    """
    folder = path.parent if path.is_file() else path
    if not (folder / "schema.json").is_file():
        raise CodegenError(f"{path}: no schema.json there; give an extension's folder, or its file")
    return folder


def read_extension(
    folder: Path, root: Path, overlay: Overlay, label: str, newer: Collection[str] = ()
) -> Extension:
    """Read the model of one extension from its folder.

    Args:
        folder: Its folder.
        root: The checkout.
        overlay: The overlay.
        label: What to call its schema in generated headers.
        newer: Revisions that it does not list yet: its names must fit them, too.

    Raises:
        CodegenError: something without a name, a direction or a decision; the message says which
            row to add, and where. Stops are told together.
    """
    name = folder.name.replace("-", "_")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CodegenError(f"{folder.name!r} cannot name a package; give the folder another name")
    source = load(folder / "schema.json", folder / "facts.toml", name, label)
    return _Reader(name, source, root, overlay, newer).run(_docs(folder))


def _docs(folder: Path) -> Docs | None:
    path = folder / "docs.toml"
    return Docs.load(path) if path.exists() else None


class _Reader:
    def __init__(
        self, name: str, source: Source, root: Path, overlay: Overlay, newer: Collection[str]
    ) -> None:
        self._name = name
        self._source = source
        self._stops = source.stops
        self._newer = newer
        self._facts = ExtensionFacts(name, source.facts)
        self._overlay = overlay
        self._base = self._facts.base
        self._root = root
        self._revision = self._published(self._base)

    def run(self, docs: Docs | None) -> Extension:
        facts, own = self._facts, self._source.definitions
        self._check_names(own)
        self._check_references(own)
        self._stops.check()
        merged = Source(
            self._base,
            self._source.label,
            self._source.sha256,
            {**self._revision.definitions, **_local(own)},
            self._merged_facts(),
            self._source.container,
            self._source.stops,
        )
        normalized = normalize(merged, self._overlay)
        names = {n for n, o in normalized.origins.items() if o.partition("/")[0] in own}
        self._check_stated({n: normalized.definitions[n] for n in names})
        for name in names & normalized.definitions.keys():
            _without_required_meta(normalized.definitions[name])
        model = build(merged, normalized, self._overlay, facts.directions)
        self._stops.check()
        whole = self._narrowed(model, names)
        self._check_methods(whole)
        self._stops.check()
        own_model = replace(
            whole,
            structs={n: one for n, one in whole.structs.items() if n in names},
            aliases={n: one for n, one in whole.aliases.items() if n in names},
            normalized={n: one for n, one in whole.normalized.items() if n in names},
        )
        return Extension(
            name=self._name,
            identifier=facts.identifier,
            revisions=facts.revisions,
            base=module(self._base),
            whole=whole,
            own=own_model,
            borrowed=tuple(sorted(_mentioned(own_model, whole) - names)),
            arms={wire: self._arms(wire, row, whole) for wire, row in facts.rows("arms")},
            name_params=dict(self._name_params(whole)),
            wanted=self._struct(facts.one("listen", "wanted"), whole),
            agreed=self._struct(facts.one("listen", "agreed"), whole),
            settings=self._settings(whole),
            docs=docs,
        )

    def _published(self, revision: str) -> Source:
        folder = self._root / "schema" / revision
        if not (folder / "schema.json").exists():
            raise self._facts.stop(
                f"there is no revision {revision}", "correct `revisions` or `base`"
            )
        schema, facts = folder / "schema.json", folder / "facts.toml"
        # One that is taken up has none yet; what is looked for there is in the schema.
        return load(
            schema, facts if facts.exists() else None, revision, f"schema/{revision}/schema.json"
        )

    # --- the model ---

    def _merged_facts(self) -> Object:
        """Return the extension's facts merged with the revision's facts about types."""
        given = well_formed(
            {name: one for name, one in self._facts.table.items() if name in _OF_TYPES},
            self._name,
            self._source.stops,
        )
        merged: Object = {key: given[key] for key in ("spec", "section") if key in given}
        for table in ("fields", "enums", "deprecated"):
            merged[table] = {**self._revision.facts.get(table, {}), **given.get(table, {})}
        return merged

    def _narrowed(self, model: ir.Revision, names: Collection[str]) -> ir.Revision:
        methods = tuple(one for one in model.methods if one.message in names)
        return replace(
            model,
            module=f"extensions.{self._name}",
            sections=tuple(
                replace(one, structs=tuple(each for each in one.structs if each.name in names))
                for one in model.sections
            ),
            scalars=tuple(one for one in model.scalars if one.name in names),
            unions=tuple(one for one in model.unions if one.name in names),
            methods=methods,
            enums=tuple(one for one in model.enums if one.name in names),
            pages={
                name: "" if page.startswith("schema#") else page
                for name, page in model.pages.items()
            },
        )

    def _name_params(self, whole: ir.Revision) -> Iterator[tuple[str, str]]:
        by_wire = {method.wire: method for method in whole.methods}
        for wire, row in self._facts.rows("methods"):
            param = row.get("name_param")
            if param is None:
                continue
            struct = whole.structs.get(by_wire[wire].params)
            field = next((f for f in struct.fields if f.wire == param), None) if struct else None
            if field is None:
                raise self._facts.stop(
                    f'[methods."{wire}"]: its params have no `{param}`', "correct `name_param`"
                )
            yield wire, str(param)

    def _arms(self, wire: str, row: Object, whole: ir.Revision) -> tuple[str, ...]:
        names = self._facts.names(row, "results", f'[arms."{wire}"]')
        for name in names:
            struct = whole.structs.get(name)
            if struct is None or struct.tag is None or struct.tag.wire != "resultType":
                raise self._facts.stop(
                    f'[arms."{wire}"]: {name}: expected an object whose `resultType` is a constant',
                    "correct the row, or the schema",
                )
            self._check_meta(name, whole)
        for name, tag in tags_taken(names, self._source.definitions, whole):
            raise self._facts.stop(
                f'[arms."{wire}"]: {name}: another result has the `resultType` {tag!r}',
                "choose another one",
            )
        return names

    def _struct(self, name: str, whole: ir.Revision) -> str:
        if name and name not in whole.structs:
            raise self._facts.stop(f"[listen]: the schema has no object {name}", "correct the row")
        return name

    def _settings(self, whole: ir.Revision) -> str:
        name = self._facts.one("settings", "type")
        if name and name not in whole.structs and name not in whole.aliases:
            raise self._facts.stop(f"[settings]: the schema has no {name}", "correct the row")
        return name

    # --- checks ---

    def _check_stated(self, own: Object) -> None:
        """Check that every message has a row and every row a message."""
        stated = self._facts.directions.keys()
        found: set[str] = set()
        for schema in own.values():
            wire = schema.get("properties", {}).get("method", {}).get("const")
            found |= {wire} if wire else set[str]()
        for wire in sorted(found - stated):
            self._add(f"`{wire}`: who sends it?", f'add [methods."{wire}"] with `direction`')
        for wire in sorted(stated - found):
            self._add(f'[methods."{wire}"]: the schema has no such message', "correct the row")

    def _check_methods(self, whole: ir.Revision) -> None:
        for method in whole.methods:
            if method.kind == "request" and method.direction != "client_to_server":
                self._add(
                    f'[methods."{method.wire}"]: {self._base} has no requests of servers',
                    "send it from the client, or make it a notification",
                )
            for name in (method.params, *method.results):
                with self._stops.collected():
                    self._check_meta(name, whole)
        for what in names_taken(whole.methods, whole):
            self._add(what, "choose another name", "schema.json")

    def _check_meta(self, name: str, whole: ir.Revision) -> None:
        """Check that params and results have `_meta`, which sessions and servers extend."""
        alias = whole.aliases.get(name)
        for one in ir.arm_names(alias.type) if alias else (name,):
            struct = whole.structs.get(one)
            if struct is None or all(field.name != "meta" for field in struct.fields):
                raise self._facts.stop(
                    f"{one}: expected an object with `_meta`",
                    "take it from RequestParams, NotificationParams or Result of "
                    f"{self._base} with an `allOf`",
                    "schema.json",
                )

    def _check_names(self, own: Object) -> None:
        taken = own.keys() & self._revision.definitions.keys()
        if taken:
            self._add(
                f"{', '.join(sorted(taken))} is a name of {self._base} too",
                "refer to that one, or choose another name",
                "schema.json",
            )
        stated = self._facts.directions.keys()
        for revision in (*self._facts.revisions, *self._newer):
            for wire in sorted(_wires(self._published(revision).definitions) & stated):
                self._add(
                    f"`{wire}` is a method of {revision}",
                    f"choose another name, or add {revision} to a list `refused`",
                )
        base = self._revision.definitions
        wires = _wires({name: base[name] for name in base if name.endswith("Request")})
        for wire in sorted(dict(self._facts.rows("arms")).keys() - wires):
            self._add(f'[arms."{wire}"]: {self._base} has no such request', "correct the row")

    def _check_references(self, own: Object) -> None:
        """Check that every reference leads to a definition of the file it names."""
        for ref in _references(own):
            file, _, pointer = ref.partition("#")
            name = pointer.rpartition("/")[2]
            if file and self._base not in file.split("/"):
                self._add(f"`{ref}` is not in the schema of {self._base}", *_CORRECT_REFERENCE)
            elif name not in (self._revision.definitions if file else own):
                self._add(f"`{ref}` leads to nothing", *_CORRECT_REFERENCE)

    def _add(self, construct: str, advice: str, file: str = "facts.toml") -> None:
        self._stops.add(self._facts.stop(construct, advice, file).stops)


def python_names(extension: Extension) -> dict[str, str]:
    """Return the Python names of the methods, by wire name."""
    return {method.wire: snake(method.name) for method in extension.own.methods}


def _wires(definitions: Object) -> set[str]:
    """Return the wire names of a revision's methods."""
    found = (_inside(one, "properties", "method") for one in definitions.values())
    return {str(method["const"]) for method in found if "const" in method}


def _inside(schema: Any, *steps: str) -> Object:
    """Return what is inside a schema as published, or an empty object if it is not there."""
    for step in steps:
        schema = schema.get(step) if is_object(schema) else None
    return schema if is_object(schema) else {}


def _without_required_meta(schema: Object) -> None:
    """Make `_meta` optional.

    Where a revision wants it, what reads every request there says so; an extension may be for
    revisions that do not, and callers leave it to their session.
    """
    if "_meta" in schema.get("required", ()):
        schema["required"] = [one for one in schema["required"] if one != "_meta"]


def _local(schema: Any) -> Any:
    """Point the references to definitions of a revision's file at those of the merged schema."""
    if is_object(schema):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return {**schema, "$ref": f"#{ref.partition('#')[2]}"}
        return {key: _local(value) for key, value in schema.items()}
    return [_local(item) for item in schema] if is_array(schema) else schema


def _references(schema: Any) -> Iterator[str]:
    if is_object(schema):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            yield ref
        for value in schema.values():
            yield from _references(value)
    elif is_array(schema):
        for item in schema:
            yield from _references(item)


def _mentioned(own: ir.Revision, whole: ir.Revision) -> set[str]:
    """Return the definitions that the extension's types and methods refer to."""
    names: set[str] = set()
    for struct in own.structs.values():
        for field in struct.fields:
            names.update(ir.mentions(field.type))
    for alias in own.aliases.values():
        names.update(ir.mentions(alias.type))
    for method in own.methods:
        names.update((method.params, *method.results))
    return names
