"""Staleness of a module of stubs: which of its functions and classes are not as they would be."""

from __future__ import annotations

import ast

from mcp_gen.core.errors import UsageError

__all__ = ["changed_names"]


def changed_names(before: str, after: str) -> list[str]:
    """Return what differs between two modules: `new`, `gone` or `changed`, and the name.

    Args:
        before: The text of the module as it is.
        after: The text that it would have.

    Returns:
        One text for each function and class; `the module` if something else differs.

    Raises:
        UsageError: the first text is no Python.
    """
    try:
        old, new = _parts(before), _parts(after)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"it is no Python: {error}") from None
    found = [
        f"{'new' if name not in old else 'gone' if name not in new else 'changed'} {name}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    return found or (["changed the module"] if before != after else [])


def _parts(text: str) -> dict[str, str]:
    kinds = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef)
    return {one.name: ast.dump(one) for one in ast.parse(text).body if isinstance(one, kinds)}
