"""Syntax tree queries for the architecture tests: imports and strings of a source file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

__all__ = ["Line", "compared_revisions", "dates", "imports", "profile_facts", "strings"]

Line: TypeAlias = tuple[int, str]
"""Line number and finding."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d|(?<![a-z0-9])v20\d\d_\d\d_\d\d")


def imports(text: str, module: str) -> Iterator[Line]:
    """Yield every module that a file imports; `module` is the file's own dotted name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = _home(node, module)
            # `from package import module` imports the module, so each name counts as one.
            yield from ((node.lineno, f"{home}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in ("import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(name)), *_]:
                    yield node.lineno, name


def strings(text: str) -> Iterator[Line]:
    """Yield every string of a file but docstrings, including parts of f-strings and bytes."""
    return _strings(list(ast.walk(ast.parse(text))))


def _strings(nodes: Sequence[ast.AST]) -> Iterator[Line]:
    loose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in loose:
            if isinstance(node.value, str):
                yield node.lineno, node.value
            elif isinstance(node.value, bytes):
                yield node.lineno, node.value.decode("latin-1")


def dates(text: str) -> Iterator[Line]:
    """Yield every name and every string that names a revision by its date."""
    nodes = list(ast.walk(ast.parse(text)))
    said = [*_strings(nodes), *_names(nodes)]
    return ((line, what) for line, what in said if _DATE.search(what))


def compared_revisions(text: str) -> Iterator[Line]:
    """Yield comparisons, `in` and `match` on a name that ends in `revision` or `version`.

    `is None` is allowed: it does not depend on the revision's value.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            operands: list[Any] = [node.left, *node.comparators]
            if not any(map(_is_none, operands)) and any(map(_names_revision, operands)):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Match) and _names_revision(node.subject):
            yield node.lineno, f"match {ast.unparse(node.subject)}"


def profile_facts(text: str) -> Iterator[Line]:
    """Yield every attribute that is read from something called a profile."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            if _name(owner).lower().endswith("profile"):
                yield node.lineno, node.attr


def _names(nodes: Iterable[ast.AST]) -> Iterator[Line]:
    """Yield every name that a file uses or defines, including those of imported modules."""
    for node in nodes:
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and field != "value":
                yield getattr(node, "lineno", 1), value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names_revision(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_names_revision, node.elts))
    return _name(node).lower().endswith(("revision", "version"))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _home(node: ast.ImportFrom, module: str) -> str:
    """Return the package of a `from` import; a relative one starts in `module`'s package."""
    if not node.level:
        return node.module or ""
    base = module.split(".")[: -node.level]
    return ".".join([*base, *([node.module] if node.module else [])])
