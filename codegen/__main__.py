"""`python -m codegen`: writes the package and the reference pages, or shows a diff."""

import argparse
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

from codegen.bump import fitting_rows, left_out, read_extensions, report, unfilled
from codegen.draft import Draft, make
from codegen.emit import tree
from codegen.emit.changelog import changelog
from codegen.emit.extension import emit_extension
from codegen.emit.json_schema import json_schema
from codegen.emit.package import emit
from codegen.emit.profile import error_types, fact_types
from codegen.emit.reference import reference
from codegen.errors import CodegenError, Stop, Stopped, Stops
from codegen.extensions.read import Extension, find_extension, read_extension
from codegen.model.build import build
from codegen.model.docs import NO_DOCS, Docs, read_docs
from codegen.model.facts import (
    check_facts,
    missing_facts,
    unfit_head,
    unfit_name_params,
    unlike,
)
from codegen.model.ir import Revision
from codegen.model.names import module
from codegen.model.normalize import normalize
from codegen.model.overlay import Overlay
from codegen.schema.load import load

PACKAGE = "mcp_wire"
SCHEMAS = "json-schema"

_EPILOG = """\
examples:
  python -m codegen             write every revision under schema/
  python -m codegen 2025-11-25  write the folder of this revision alone; the modules that
                                span the revisions are written whichever are named
  python -m codegen --check     show what would change; exit 1 if anything would
  python -m codegen --schema draft/schema.json --revision draft --out build/draft
                                try a draft or a fork
  python -m codegen --extension acme/echo --out src/acme
                                write the package src/acme/echo of an extension of your own

self-test:
  python -m codegen --verify 500000 --seed 7
  --verify makes instances of each schema as it is published, changes them, and compares the verdict
  of the schema with what the wire types and the pydantic models do with each, and with what comes
  back. A difference that no row of the overlay names is printed, and the exit code is 1. With
  --schema the draft is verified.

a schema of your own:
  --schema takes a published schema.json as it is, prose included. DIR/mcp_wire becomes the whole
  package: the published revisions, byte for byte, and the new one beside them as the newest,
  `mcp_wire.vdraft` for `--revision draft`. Put DIR before generated/ on PYTHONPATH, and servers,
  clients and `mcp-gen` speak it. (A schema without a method that opens a connection is a module
  only, not one of REVISIONS.) DIR may be generated/ itself: it lasts until the next
  `python -m codegen`.
  Rows of schema/overlay.toml that hold for the newest revision hold for it too, as far as they fit;
  --overlay FILE has rows that go before them. Without --facts FILE the facts are the newest
  revision's, and all types stand in one section.
  Printed are the changes since the newest revision, and what the runtime must still decide.

an extension of your own:
  a folder with schema.json, facts.toml and, if you like, docs.toml, as under schema/extensions/;
  docs/extensions.md says what stands in them. References to the protocol's types name the file of
  their revision, as in `2026-07-28/schema.json#/$defs/Tool`, wherever the folder is.
"""


_TO_ADD = "rows to paste into schema/overlay.toml, each with its reason:"


def main(arguments: list[str] | None = None) -> int:
    """Run the generator and return the exit code."""
    options = _options(arguments)
    try:
        if options.verify is None and (options.seed or options.json):
            raise CodegenError("--seed and --json go with --verify")
        if options.extension:
            return _extension(options)
        return _draft(options) if options.schema else _regenerate(options)
    except Stopped as stopped:
        print(_all_stops(stopped), file=sys.stderr)
        return 1
    except CodegenError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1


def _all_stops(stopped: Stopped) -> str:
    """Return all stops, and then the rows to paste."""
    lines: list[str] = []
    rows: dict[str, None] = {}
    for stop in stopped.stops:
        lines.append(f"codegen: {stop}")
        if stop.row.startswith("[["):
            rows[stop.row] = None
        else:
            lines += [f"    {line}" for line in stop.row.splitlines()]
    if len(stopped.stops) > 1:
        lines.append(f"codegen: {len(stopped.stops)} stops; nothing is written before all are gone")
    return "\n".join([*lines, *(("", _TO_ADD, "", *rows) if rows else ())]).rstrip("\n")


def _regenerate(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    if options.revision or options.facts or options.overlay:
        raise CodegenError("--revision, --facts and --overlay describe a --schema FILE; add it")
    inputs = read_revisions(options.root)
    newest = inputs.revisions[-1]
    new = not (options.root / "generated" / PACKAGE / newest.module).exists()
    if len(inputs.revisions) > 1 and (options.report or (new and not options.check)):
        found = report(inputs.revisions, inputs.overlay, options.root / "mcp_gen")
        print(f"{found}\n", file=_told(options))
    made = _generated(options.root, inputs)
    skipped = _not_named(options.revisions, options.root)
    generated = options.out or options.root / "generated"
    package, schemas = generated / PACKAGE, generated / SCHEMAS
    pages = options.root / "docs" / "reference"
    if options.check:
        stale = _show("generated/", made.package, package, skipped)
        stale |= _show("generated/", made.schemas, schemas)
        stale |= _show("docs/reference/", made.reference, pages)
        return 1 if stale else _verify_published(options, package.parent)
    changed = [
        *tree.write(made.package, package, skipped),
        *tree.write(made.schemas, schemas),
        *tree.write(made.reference, pages),
    ]
    told = _told(options)
    for path in changed:
        print(f"wrote {path}", file=told)
    count = len(made.package) + len(made.schemas) + len(made.reference)
    print(_summary(count, changed, started), file=told)
    return _verify_published(options, package.parent)


def _draft(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    if options.revisions or options.check or not (options.revision and options.out):
        raise CodegenError("--schema needs --revision NAME and --out DIR, and no REV or --check")
    draft = Draft(options.schema, options.revision, options.facts, options.overlay)
    folders = _folders(options.root)
    draft.check_name([folder.name for folder in folders])
    overlay = Overlay(options.root / "schema" / "overlay.toml")
    overlay.lend(draft.name, folders[-1].name)
    if draft.overlay:
        overlay.read_also(draft.overlay)
    published = [read(folder, overlay) for folder in folders]
    stops = Stops()
    names = [one.name for one in published]
    extensions = read_extensions(names, options.root, overlay, stops)
    stops.check()
    made = make(draft, published, overlay, options.root, extensions)
    package = options.out / PACKAGE
    changed = [
        *tree.write(made.files, package),
        *tree.write(made.schemas, options.out / SCHEMAS),
    ]
    told = _told(options)
    count = len(made.files) + len(made.schemas)
    print(f"wrote {package}: {_summary(count, changed, started)}", file=told)
    told.write(made.report)
    return _verify(options, options.out, {draft.name: draft.schema}, overlay)


def _extension(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    others = (options.schema, options.revision, options.facts, options.overlay, options.verify)
    if options.revisions or options.check or any(others) or not options.out:
        raise CodegenError("--extension needs --out DIR, and nothing else")
    overlay = Overlay(options.root / "schema" / "overlay.toml")
    folder = find_extension(options.extension)
    label = f"{folder.name}/schema.json"
    extension = read_extension(folder, options.root, overlay, label)
    files = emit_extension(extension)
    package = options.out / extension.name
    changed = tree.write(files, package)
    print(f"wrote {package}: {_summary(len(files), changed, started)}")
    return 0


def _summary(count: int, changed: list[str], started: float) -> str:
    return f"{count} files, {len(changed)} changed, {time.perf_counter() - started:.1f} s"


def _verify_published(options: argparse.Namespace, package: Path) -> int:
    """Verify the revisions that were named, or all of them; see `_verify`."""
    named = options.revisions
    schemas = {
        folder.name: folder / "schema.json"
        for folder in _folders(options.root)
        if not named or folder.name in named
    }
    return _verify(options, package, schemas, Overlay(options.root / "schema" / "overlay.toml"))


def _verify(
    options: argparse.Namespace, package: Path, schemas: Mapping[str, Path], overlay: Overlay
) -> int:
    """Verify the package in a folder if that is asked for, and return the exit code."""
    if options.verify is None:
        return 0
    # A run that only writes needs no validator.
    from codegen.verify import command

    subjects = [command.subject(schema, name, overlay) for name, schema in schemas.items()]
    return command.run(subjects, package, options.verify, options.seed, json=options.json)


def _told(options: argparse.Namespace) -> TextIO:
    """Return where a run tells what it has written: JSON has standard output to itself."""
    return sys.stderr if options.json else sys.stdout


@dataclass(frozen=True)
class Generated:
    """Generated files, by path inside the folder of their kind."""

    package: dict[Path, str]
    reference: dict[Path, str]
    schemas: dict[Path, str]


def generate(root: Path) -> Generated:
    """Generate every file of the package and the reference from the inputs under `root/schema`.

    Raises:
        CodegenError: what stopped the run, and what to add.
    """
    return _generated(root, read_revisions(root))


def _generated(root: Path, inputs: "Inputs") -> Generated:
    inputs.stops.check()
    overlay, revisions = inputs.overlay, inputs.revisions
    docs, extensions = inputs.docs, inputs.extensions
    pages = reference(revisions, overlay, docs)
    for one in extensions:
        folder = Path("extensions", one.name)
        subject = f"the extension `{one.identifier}`"
        own = reference([one.own], overlay, one.docs or NO_DOCS, subject)
        pages |= {folder / path: text for path, text in own.items()}
    schemas = {Path(f"{one.name}.json"): json_schema(one, docs) for one in revisions}
    made = Generated(emit(revisions, overlay, docs, extensions), pages, schemas)
    dated = changelog(made.package, [revision.name for revision in revisions])
    pages |= {Path("changes", path): text for path, text in dated.items()}
    inputs.stops.add(overlay.unused())
    for each in (docs, *(one.docs for one in extensions if one.docs is not None)):
        inputs.stops.add(each.unused())
    inputs.stops.check()
    missing = docs.undocumented(revisions) if docs else []
    if docs.profile:
        facts, errors = fact_types(revisions, overlay), error_types(revisions)
        missing += docs.profile.undocumented(facts, errors)
    for one in extensions:
        if one.docs is not None:
            missing += one.docs.undocumented([one.own])
    for name in missing:
        print(f"undocumented: {name}", file=sys.stderr)
    return made


@dataclass(frozen=True)
class Inputs:
    """All that is read from `schema/`, and what stops the run."""

    overlay: Overlay
    revisions: list[Revision]
    extensions: list[Extension]
    docs: Docs
    stops: Stops


def read_revisions(root: Path) -> Inputs:
    """Read all revisions and extensions under `root/schema`, and collect what stops the run.

    Rows of the overlay for one revision that fit the next one are applied to it too, so that one
    run tells all that a new revision asks; each is a stop until the row says what holds.

    Raises:
        CodegenError: a file that cannot be read at all.
    """
    overlay, stops = Overlay(root / "schema" / "overlay.toml"), Stops()
    folders = _folders(root)
    overlay.check_dates(folder.name for folder in folders)
    revisions: list[Revision] = []
    for folder in folders:
        before = revisions[-1] if revisions else None
        with overlay.lent(folder.name, before.name if before else "") as fitting:
            made = _read(folder, overlay, stops, before)
        stops.add(fitting_rows(folder.name, fitting))
        if before:
            stops.add(unfilled(before, made, overlay, root))
        revisions.append(made)
    names = [folder.name for folder in folders]
    stops.add(left_out(names, root))
    stops.add(unlike(revisions))
    extensions = read_extensions(names, root, overlay, stops)
    docs = _checked_docs(root, revisions, overlay, stops)
    return Inputs(overlay, revisions, extensions, docs, stops)


def _checked_docs(root: Path, revisions: list[Revision], overlay: Overlay, stops: Stops) -> Docs:
    """Read the documentation; what stops in it is added to the others."""
    docs, found = NO_DOCS, Stops()
    with found.collected():
        docs = read_docs(root)
        docs.profile.check_used(fact_types(revisions, overlay), error_types(revisions))
    # A fact or an error that stops was left out, so that its line seems to be about nothing.
    gone = {_named(stop) for stop in stops if stop.pointer.startswith(_STATED)}
    stops.add(stop for stop in found if _named(stop) not in gone)
    return docs


_STATED = ("facts.toml [facts] ", "facts.toml [errors] ")


def _named(stop: Stop) -> str:
    """Return the name of the fact or error that a stop is about, as the Profile has it."""
    return stop.pointer.rpartition("] ")[2].lower() or stop.where


def _read(folder: Path, overlay: Overlay, stops: Stops, before: Revision | None) -> Revision:
    label = f"schema/{folder.name}/schema.json"
    facts = folder / "facts.toml"
    given = facts if facts.exists() or before is None else folder.parent / before.name / facts.name
    source = load(folder / "schema.json", given, folder.name, label)
    if given == facts:
        stops.add(unfit_head(source.facts, folder.name))
    else:
        stops.add([missing_facts(folder.name, given.parent.name)])
    source = check_facts(source)
    made = build(source, normalize(source, overlay), overlay)
    stops.add(source.stops)
    stops.add(unfit_name_params(made))
    return made


def read(folder: Path, overlay: Overlay) -> Revision:
    """Read one revision's model from its folder under `schema/`.

    Raises:
        Stopped: what no type was found for, and facts that do not fit.
    """
    stops = Stops()
    made = _read(folder, overlay, stops, None)
    stops.check()
    return made


def _folders(root: Path) -> list[Path]:
    """Return the folders of the published revisions, oldest first."""
    folders = sorted(path.parent for path in (root / "schema").glob("*/schema.json"))
    if not folders:
        raise CodegenError(
            f"no schema under {root / 'schema'}: run `nox -s schema -- REVISION` first"
        )
    return folders


def _not_named(named: list[str], root: Path) -> list[str]:
    """Return the modules of the revisions that were not named and stay unchanged."""
    there = [folder.name for folder in _folders(root)]
    for revision in named:
        if revision not in there:
            close = get_close_matches(revision, there, 1) or there
            raise CodegenError(
                f"no schema/{revision}; there is {', '.join(close)}, and "
                f"`nox -s schema -- {revision}` adds a published one"
            )
    return [module(revision) for revision in there if named and revision not in named]


def _show(name: str, files: dict[Path, str], folder: Path, skipped: Collection[str] = ()) -> bool:
    """Print the diff of a folder from its generated files; return True if there is one."""
    difference = tree.diff(files, folder, skipped)
    sys.stdout.write(difference)
    if difference:
        print(f"{name} is out of date: run `nox -s regen`", file=sys.stderr)
    return bool(difference)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m codegen",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("revisions", nargs="*", metavar="REV", help="write these alone")
    parser.add_argument("--check", action="store_true", help="show a diff instead of writing")
    parser.add_argument(
        "--report",
        action="store_true",
        help="show what the newest revision changed, and what the runtime must decide",
    )
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: here)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="where mcp_wire goes (default: ROOT/generated)"
    )
    parser.add_argument("--schema", metavar="FILE", type=Path, help="a schema that is no revision")
    parser.add_argument("--revision", metavar="NAME", help="with --schema: what to call it")
    parser.add_argument(
        "--extension", metavar="PATH", type=Path, help="the folder of an extension, or its schema"
    )
    parser.add_argument(
        "--verify",
        nargs="?",
        const=100_000,
        type=_count,
        metavar="COUNT",
        help="then judge so many instances of the schemas (default: 100000)",
    )
    parser.add_argument("--seed", type=int, default=0, help="with --verify: chooses the instances")
    parser.add_argument("--json", action="store_true", help="with --verify: the report as JSON")
    parser.add_argument("--facts", metavar="FILE", type=Path, help="with --schema: its facts.toml")
    parser.add_argument("--overlay", metavar="FILE", type=Path, help="with --schema: its overlay")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("expected a number of instances such as 500000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
