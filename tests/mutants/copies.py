"""Private copies of the checkout, into which faults are put."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutants.places import Place

__all__ = ["Copy"]

FOLDERS = ("mcp_gen", "codegen", "generated", "schema", "examples", "tests", "docs", "bench")
FILES = (
    "pyproject.toml",
    "pytest_mcp_gen.py",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "noxfile.py",
    "LICENSE",
)
REGENERATED = ("generated", "docs/reference")
REGENERATION_S = 300.0


class Copy:
    """A copy of the checkout in a folder of its own.

    Compiled files are checked by content: a fault that changes neither the size nor the second of a
    file would go unnoticed otherwise.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, root: Path, folder: Path) -> Copy:
        """Copy the checkout, or bring an earlier copy up to date."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in FOLDERS:
            _mirror(root / name, folder / name)
        for name in FILES:
            if (root / name).exists():
                shutil.copy2(root / name, folder / name)
        copy = cls(folder)
        compiled = [name for name in FOLDERS[:3] if (folder / name).exists()]
        copy._run("compileall", "-q", "--invalidation-mode", "checked-hash", *compiled)
        return copy

    def take_compiled_tests(self, other: Copy) -> None:
        """Take over the tests that pytest has compiled in another copy of the same state."""
        for path in other.folder.glob("tests/**/*-pytest-*.pyc"):
            target = self.folder / path.relative_to(other.folder)
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(path, target)

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which the copy is imported, and left as it is."""
        paths = os.pathsep.join([str(self.folder), str(self.folder / "generated")])
        return {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    def apply(self, place: Place) -> str:
        """Put a fault in.

        Returns:
            What the generator objected to, if the fault is one of facts; "" otherwise.
        """
        path = self.folder / place.path
        path.write_bytes(place.change.applied(path.read_bytes()))
        if not place.is_fact:
            return ""
        ran = self._run("codegen", check=False)
        return ran.stderr.strip() if ran.returncode else ""

    def restore(self, place: Place, root: Path) -> None:
        """Take the fault out again."""
        shutil.copy2(root / place.path, self.folder / place.path)
        if place.is_fact:
            for name in REGENERATED:
                _mirror(root / name, self.folder / name)

    def _run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
            timeout=REGENERATION_S,
        )


def _mirror(source: Path, target: Path) -> None:
    """Make a folder like another one; files that are the same stay, with their compiled twins."""
    wanted = {
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts)
    }
    for path in target.rglob("*"):
        inside = path.relative_to(target)
        if path.is_file() and inside not in wanted and "__pycache__" not in inside.parts:
            path.unlink()
    for inside in sorted(wanted):
        new = target / inside
        data = (source / inside).read_bytes()
        if not new.exists() or new.read_bytes() != data:
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / inside, new)
