"""Tells which test files use something that has changed since they were traced.

A test file uses the sources whose lines its tests reached, the modules of the tests that it
imports, each `conftest.py` above it, and everything that is no module. What it only imports may be
missed: those lines belong to the test file that imported them first.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from tests.mutants.traced_child.sitecustomize import SOURCES

__all__ = ["Changes"]

_MODULE = re.compile(r"tests(\.\w+)+")


class Changes:
    """Compares files with those of an earlier traced run.

    Args:
        root: The checkout, as it is now.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._importing: dict[str, set[str]] | None = None
        """Test modules that import a module of the tests, by its dotted name."""

    def affected(
        self,
        tests: Collection[str],
        before: Mapping[str, str],
        now: Mapping[str, str],
        reaching: Callable[[str], Collection[str]],
    ) -> set[str]:
        """Return the test files that use what has changed.

        Args:
            tests: The test files to look at.
            before: Hashes of the other files when they were traced, by path.
            now: The same as they are now.
            reaching: Returns the test files that reached a source.
        """
        found: set[str] = set()
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) == now.get(path):
                continue
            if not path.endswith(".py"):
                return set(tests)
            if any(fnmatch(path, pattern) for pattern in SOURCES):
                found.update(reaching(path))
            elif path.startswith("tests/"):
                found.update(self._users(path))
            else:
                return set(tests)
        return found.intersection(tests)

    def _users(self, path: str) -> set[str]:
        """Return the files of tests that a module of the tests is for."""
        place = PurePosixPath(path)
        if place.name == "conftest.py":
            folder = f"{place.parent}/"
            return {name for name in self._files() if name.startswith(folder)}
        if self._importing is None:
            self._importing = defaultdict(set)
            for name in self._files():
                for module in _imported((self._root / name).read_text("utf-8"), name):
                    self._importing[module].add(name)
        found: set[str] = set()
        left = [path]
        while left:
            new = self._importing.get(_dotted(left.pop()), set[str]()) - found
            found |= new
            left += new
        return found

    def _files(self) -> Iterator[str]:
        for path in (self._root / "tests").rglob("*.py"):
            yield path.relative_to(self._root).as_posix()


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(text: str, path: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, or names in a text, as for a new process."""
    package = path.rpartition("/")[0].split("/")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            yield home
            yield from (f"{home}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (found.group() for found in _MODULE.finditer(node.value))
