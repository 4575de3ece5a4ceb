"""Writes generated files, or shows how they differ from the existing ones."""

import difflib
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from codegen.emit.format import format_tree

_NOTHING = "/dev/null"


def write(files: dict[Path, str], there: Path, skipped: Collection[str] = ()) -> list[str]:
    """Update a folder and return the paths that changed.

    `skipped` are folders inside it that stay as they are.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = _make(files, Path(folder) / there.name)
        changed = [path for path, _, _ in _differences(made, there, skipped)]
        for path in changed:
            target = there.parent / path
            source = made.parent / path
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            else:
                target.unlink()
    _drop_empty_folders(there)
    return changed


def diff(files: dict[Path, str], there: Path, skipped: Collection[str] = ()) -> str:
    """Return a unified diff of a folder to its generated files; empty if they agree."""
    with tempfile.TemporaryDirectory() as folder:
        made = _make(files, Path(folder) / there.name)
        return "".join(_diff(*one) for one in _differences(made, there, skipped))


def _diff(path: str, old: str | None, new: str | None) -> str:
    """Return the diff of one file, of which a side may be missing."""
    before = _NOTHING if old is None else f"a/{path}"
    after = _NOTHING if new is None else f"b/{path}"
    lines, others = ((text or "").splitlines(keepends=True) for text in (old, new))
    # An empty file has no lines, and a diff of none is empty: the names tell what differs.
    found = "".join(difflib.unified_diff(lines, others, before, after))
    return found or f"--- {before}\n+++ {after}\n"


def _make(files: dict[Path, str], folder: Path) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    if any(path.suffix == ".py" for path in files):
        format_tree(folder)
    return folder


def _differences(
    made: Path, there: Path, skipped: Collection[str]
) -> Iterator[tuple[str, str | None, str | None]]:
    new, old = _texts(made), _texts(there)
    for path in sorted(new.keys() | old.keys()):
        if new.get(path) != old.get(path) and path.partition("/")[0] not in skipped:
            yield f"{made.name}/{path}", old.get(path), new.get(path)


def _drop_empty_folders(package: Path) -> None:
    """Remove folders without source files, which would import as empty packages."""
    for folder in [path for path in package.rglob("*") if path.is_dir()]:
        if folder.exists() and not _texts(folder):
            shutil.rmtree(folder)


def _texts(folder: Path) -> dict[str, str]:
    # Not read_text, which would hide a changed line ending.
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode(errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
