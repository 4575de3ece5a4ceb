"""The bump assistant: what a new revision asks of the overlay, and what has changed with it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from codegen.decisions import Told, decisions
from codegen.emit.changelog import change_pages, change_table
from codegen.emit.members import members, required
from codegen.emit.package import change_modules
from codegen.emit.python_source import annotation
from codegen.emit.senders import results
from codegen.errors import CodegenError, Stop, Stops
from codegen.extensions.facts import ExtensionFacts
from codegen.extensions.read import Extension, extension_folders, read_extension
from codegen.model import ir
from codegen.model.overlay import Overlay, Row
from codegen.model.rows import row, toml
from codegen.schema.load import read_toml

_ALIKE = 0.6
"""Share of fields that two types have in common, from which on one may be the other renamed."""


def fitting_rows(revision: str, rows: Iterable[Row]) -> Iterator[Stop]:
    """Yield a stop for each row of the previous revision that fits this one without naming it."""
    for one in rows:
        parts = {key: one.values[key] for key in ("paths", "names") if key in one.values}
        fits = {
            key: [part for part in listed if part in one.used_as_lent]
            for key, listed in parts.items()
        }
        values = {
            key: value
            for key, value in one.values.items()
            if key not in ("revisions", "since", "refused", "reason")
        }
        yield Stop(
            revision,
            one.where,
            f"{one} is for {', '.join(sorted(one.revisions))}, and fits here too ({one['reason']})",
            f"add {revision} to its `revisions`, write `since`, or add it to `refused`",
            row(one.kind, values | fits, revision, str(one["reason"])),
        )


def left_out(revisions: Iterable[str], root: Path) -> Iterator[Stop]:
    """Yield a stop for each extension of one revision that the next one has no word about."""
    for folder in extension_folders(root):
        place = folder / "facts.toml"
        try:
            facts = ExtensionFacts(folder.name, read_toml(place))
        except CodegenError:
            continue  # told when the extension is read
        for before, after in _unnamed(revisions, facts):
            listed = {"revisions": [*facts.revisions, after], "base": facts.base}
            yield Stop(
                after,
                f"{place.relative_to(root).as_posix()} revisions",
                f"the extension {facts.identifier} exists at {before}, and not here",
                f"write that it does, or add {after} to a list `refused` there",
                "".join(f"{key} = {toml(value)}\n" for key, value in listed.items()),
            )


def read_extensions(
    revisions: Iterable[str], root: Path, overlay: Overlay, stops: Stops
) -> list[Extension]:
    """Read the extensions of a checkout, each with the revisions that it has no word about yet.

    What stops one is added to `stops`, and it is left out.
    """
    found: list[Extension] = []
    for folder in extension_folders(root):
        label = f"schema/extensions/{folder.name}/schema.json"
        with stops.collected():
            facts = ExtensionFacts(folder.name, read_toml(folder / "facts.toml"))
            newer = [after for _, after in _unnamed(revisions, facts)]
            found.append(read_extension(folder, root, overlay, label, newer))
    return found


def _unnamed(revisions: Iterable[str], facts: ExtensionFacts) -> Iterator[tuple[str, str]]:
    """Yield each revision of an extension with the next one, if its facts do not name that."""
    for before, after in pairwise(revisions):
        if before in facts.revisions and after not in facts.refused.union(facts.revisions):
            yield before, after


def unfilled(
    before: ir.Revision, after: ir.Revision, overlay: Overlay, root: Path
) -> Iterator[Stop]:
    """Yield a stop for each field of a result that is required from now on and that nobody fills.

    The runtime makes results for all revisions at once; one that lacks a required field fails when
    it is made, in the middle of a call.
    """
    renamed = {str(one["new"]): str(one["old"]) for one in overlay.rows("renamed", after.name)}
    for name in sorted(results(after)):
        there = after.structs.get(name)
        was = before.structs.get(renamed.get(name, name))
        if there is None or was is None:
            continue
        had = members(was)
        for wire, field in members(there).items():
            if wire in had and required(had[wire]):
                continue
            if field.absent != "refused":
                continue
            path = f"{name}/{wire}"
            by = overlay.one("filled", after.name, "path", path)
            if by:
                if not (root / by["by"]).is_file():
                    yield Stop(
                        after.name,
                        by.where,
                        f"{by} names {by['by']}, which does not exist",
                        "name the file that fills it",
                    )
                continue
            yield Stop(
                after.name,
                f"{name}/{wire}",
                f"a result needs `{wire}` ({annotation(field.type)}) from now on, and the runtime "
                "makes that result",
                "say with a [[lenient]] row what to send if nothing else is known, or with a "
                "[[filled]] row which file fills it",
                _filling(path, field, after),
            )


def _filling(path: str, field: ir.Field, revision: ir.Revision) -> str:
    """Return a row that says what stands in a field: no row can write an object."""
    example = _example(field.type, revision)
    if example is None:
        return row("filled", {"path": path, "by": "say which file"}, revision.name)
    return row("lenient", {"path": path, "value": example}, revision.name)


def _example(type_: ir.Type, revision: ir.Revision) -> Any:
    """Return the smallest value of a type, for a row that somebody has to look at.

    None for an object of a struct.
    """
    match type_:
        case ir.Choice(values):
            return values[0]
        case ir.Scalar("int" | "number"):
            return 0
        case ir.Scalar("bool"):
            return False
        case ir.ListOf():
            return []
        case ir.MapOf():
            return {}
        case ir.Ref(name) if name in revision.aliases:
            return _example(revision.aliases[name].type, revision)
        case ir.Ref() | ir.Scalar("null"):
            return None
        case ir.OneOf(arms):
            found = (_example(arm, revision) for arm in arms)
            return next((one for one in found if one is not None), None)
        case _:
            return ""


def renames(before: ir.Revision, after: ir.Revision) -> Iterator[tuple[str, str]]:
    """Yield the types that are gone, each with the new one that has most of its fields."""
    come = sorted(after.structs.keys() - before.structs.keys())
    for name in sorted(before.structs.keys() - after.structs.keys()):
        if name in after.aliases:
            continue
        alike = [(_likeness(before.structs[name], after.structs[other]), other) for other in come]
        share, other = max(alike, default=(0.0, ""))
        if share >= _ALIKE:
            yield name, other


def _likeness(one: ir.Struct, other: ir.Struct) -> float:
    ours, theirs = (
        {(wire, annotation(field.type)) for wire, field in members(struct).items()}
        for struct in (one, other)
    )
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


@dataclass(frozen=True)
class Report:
    """Changes of a revision, and the questions that it raises for the runtime."""

    changes: list[str]
    asked: list[str]

    def __str__(self) -> str:
        return "\n".join(
            [
                *self.changes,
                "",
                f"to decide: {len(self.asked) or 'nothing'}",
                *(f"  - {one}" for one in self.asked),
            ]
        )


def report(
    revisions: list[ir.Revision], overlay: Overlay, runtime: Path, *, succeeds: bool = True
) -> Report:
    """Compare the last revision with the one before it.

    Args:
        revisions: All revisions, oldest first.
        overlay: The overlay.
        runtime: The folder of handwritten code, in which names that are gone are looked for.
        succeeds: False if the last one stands beside the others: what it lacks is not gone.
    """
    before, after = revisions[-2:]
    files = change_modules(revisions, overlay)
    found = change_table(files).changes(before.name, after.name)
    if not succeeds:
        found = [one for one in found if one.kind not in ("method removed", "type removed")]
    told = [_told(one) for one in found]
    with overlay.lent(after.name, before.name):
        asked = decisions(before, after, overlay, told, runtime if succeeds else None)
    if succeeds:
        asked += [
            _ask_renamed(old, new, after.name)
            for old, new in renames(before, after)
            if not _is_renamed(overlay, after.name, old)
        ]
    pages = change_pages(files)
    told_of = pages.summary(found) if found else "none"
    lines = [f"changes from {before.name} to {after.name}: {told_of}"]
    for title, changes in pages.grouped(found).items():
        lines.append(f"  {title}: {len(changes)}")
        lines += [f"    {one.kind:24} {_told(one)}" for one in changes]
    return Report(lines, asked)


def _is_renamed(overlay: Overlay, revision: str, old: str) -> bool:
    return any(one["old"] == old for one in overlay.rows("renamed", revision))


def _ask_renamed(old: str, new: str, revision: str) -> str:
    lines = row("renamed", {"old": old, "new": new}, revision).splitlines()
    return "\n      ".join(
        [f"{old} is gone, and {new} has most of its fields: is it {old} renamed?", *lines]
    )


def _told(change: Any) -> Told:
    return Told(change.kind, change.path, change.before, change.after, change.detail, change.effect)
