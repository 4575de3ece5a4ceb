"""Docstrings of the attributes of classes, read from the source: Python keeps none of them."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from types import ModuleType

import msgspec


@cache
def _classes(source: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(source)
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _node(kind: type) -> ast.ClassDef:
    module = inspect.getmodule(kind)
    assert module
    return _classes(inspect.getsource(module))[kind.__name__]


def attributes(kind: type) -> set[str]:
    """Return the names that the body of a class annotates."""
    return {
        one.target.id
        for one in _node(kind).body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }


def documented(kind: type) -> dict[str, str]:
    """Return the docstring under each annotated name of a class that has one."""
    return {
        one.target.id: text.value.value
        for one, text in pairwise(_node(kind).body)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def structs(module: ModuleType) -> dict[str, type[msgspec.Struct]]:
    """Return the structs that a module defines, by name."""
    return {
        name: kind
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
    }
