"""Code where a fault shows: what reads a fact, constant or field; the function around a line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

from tests.mutants.places import sources

__all__ = ["Lines", "Readers"]

Lines: TypeAlias = tuple[str, tuple[int, int]]
"""A file, and the first and last line of an expression in it."""


@cache
def _trees_of(root: Path) -> dict[str, ast.Module]:
    """Return the syntax trees of all sources, by path."""
    return {
        path.relative_to(root).as_posix(): ast.parse(path.read_bytes())
        for _, path in sources(root)
        if path.suffix == ".py"
    }


class Readers:
    """Finds what reads a name, and what is around a line.

    Args:
        root: The checkout.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def of_attribute(self, name: str) -> list[Lines]:
        """Return what reads an attribute, in the whole runtime."""
        return [one for one in self._reads.get(name, ()) if one[0].startswith("mcp_gen/")]

    def of_line(self, path: str, line: int) -> list[Lines]:
        """Return what reads a constant or field that a line of a module or class gives a value.

        That is looked for in the module itself, and in those that import it.
        """
        tree = self._trees.get(path)
        if tree is None:
            return []
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        near = {path, *self._importers.get(module, ())}
        return [
            one for name in _assigned(tree, line) for one in self._reads[name] if one[0] in near
        ]

    def function_around(self, path: str, line: int) -> tuple[int, int] | None:
        """Return the first and last line of what the innermost function around a line does."""
        innermost = self._innermost(path, line)
        if innermost is None:
            return None
        return innermost.body[0].lineno, innermost.end_lineno or innermost.lineno

    def name_around(self, path: str, line: int) -> str:
        """Return the name of the innermost function around a line; "" for none."""
        innermost = self._innermost(path, line)
        return "" if innermost is None else innermost.name

    def _innermost(self, path: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        tree = self._trees.get(path)
        around = [
            node
            for node in (() if tree is None else ast.walk(tree))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body[0].lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    @cached_property
    def _trees(self) -> dict[str, ast.Module]:
        return _trees_of(self._root)

    @cached_property
    def _reads(self) -> dict[str, list[Lines]]:
        found: dict[str, list[Lines]] = defaultdict(list)
        for path, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
                    name = node.attr if isinstance(node, ast.Attribute) else node.id
                    found[name].append((path, (node.lineno, node.end_lineno or node.lineno)))
        return found

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """Paths of the modules that import each module, as a whole or a part of it."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    found[node.module].add(path)
                    for one in node.names:
                        found[f"{node.module}.{one.name}"].add(path)
        return found


def _assigned(tree: ast.Module, line: int) -> Iterator[str]:
    """Yield the names that the statements around a line give a value."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        yield one.id
