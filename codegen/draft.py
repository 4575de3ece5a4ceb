"""Generates the package with one unpublished schema in it: a draft, a fork or an extension."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.bump import report
from codegen.emit.json_schema import json_schema
from codegen.emit.package import emit, opens
from codegen.errors import CodegenError
from codegen.extensions.read import Extension
from codegen.model import ir
from codegen.model.build import build
from codegen.model.docs import read_docs
from codegen.model.facts import check_alike, check_facts, inherited
from codegen.model.names import module
from codegen.model.normalize import normalize
from codegen.model.overlay import Overlay
from codegen.schema.load import load, read_toml


@dataclass(frozen=True)
class Draft:
    """A draft's name and input files."""

    schema: Path
    name: str
    facts: Path | None = None
    overlay: Path | None = None

    def check_name(self, published: list[str]) -> None:
        """Check that the name can name a module and is not a published revision's.

        Raises:
            CodegenError: no name for a module, or a revision's.
        """
        if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", self.name, re.ASCII):
            raise CodegenError(
                f"{self.name!r} cannot name a module; give --revision a date or a word"
            )
        taken = {module(revision): revision for revision in published}.get(module(self.name))
        if taken:
            raise CodegenError(f"{taken} is under schema/ already; give --revision another name")


@dataclass(frozen=True)
class Made:
    """The files of the package with the draft in it, and the report on the draft."""

    files: dict[Path, str]
    schemas: dict[Path, str]
    report: str


def make(
    draft: Draft,
    published: list[ir.Revision],
    overlay: Overlay,
    root: Path,
    extensions: Sequence[Extension] = (),
) -> Made:
    """Generate the package for the published revisions and the draft as the newest.

    Raises:
        CodegenError: what stopped the run, and what to add.
    """
    newest = published[-1]
    revision = _read(draft, root / "schema" / newest.name / "facts.toml", overlay)
    if draft.facts:
        check_alike([*published, revision])
    docs = read_docs(root)
    files = emit([*published, revision], overlay, docs, extensions)
    schemas = {Path(f"{one.name}.json"): json_schema(one, docs) for one in (*published, revision)}
    offered = opens(revision, overlay)
    told = report([*published, revision], overlay, root / "mcp_gen", succeeds=offered)
    lines = [
        f"package: mcp_wire.{revision.module}" + ("" if offered else _NOT_OFFERED),
        f"facts: {draft.facts or f'inherited from {newest.name}; give --facts FILE for its own'}",
        "",
        str(told),
    ]
    return Made(files, schemas, "\n".join(lines) + "\n")


_NOT_OFFERED = " (not in REVISIONS: no method of it has a [[role]] that opens a connection)"


def _read(draft: Draft, facts: Path, overlay: Overlay) -> ir.Revision:
    source = load(draft.schema, draft.facts, draft.name, draft.schema.name)
    if draft.facts:
        source = check_facts(source)
    else:
        source = replace(source, facts=inherited(read_toml(facts)))
    made = build(source, normalize(source, overlay), overlay)
    source.stops.check()
    return made
