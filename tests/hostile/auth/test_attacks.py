"""The attacks themselves: each is in a table that has its twin, and there are enough of them."""

from __future__ import annotations

import ast
from collections import Counter
from importlib import import_module
from pathlib import Path

from tests.hostile.auth.attack import ATTACKS

HERE = Path(__file__).parent
MODULES = sorted(path.stem for path in HERE.glob("test_*.py") if path.stem != Path(__file__).stem)
LEAST = 300


def names() -> list[tuple[str, str]]:
    """Return group and name of each attack of the folder."""
    for module in MODULES:
        import_module(f"tests.hostile.auth.{module}")
    return ATTACKS


def test_there_are_enough_attacks_and_each_has_a_name_of_its_own() -> None:
    found = Counter(names())
    assert len(found) >= LEAST
    assert [name for name, count in found.items() if count > 1] == []


def test_every_test_with_a_case_judges_it() -> None:
    """A case that is not judged would pass whatever happens."""
    silent: list[str] = []
    for module in MODULES:
        tree = ast.parse((HERE / f"{module}.py").read_text())
        for one in tree.body:
            if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not any(given.arg == "case" for given in one.args.args):
                continue
            called = {
                node.func.attr
                for node in ast.walk(one)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            }
            silent += [f"{module}.{one.name}"] * ("judge" not in called)
    assert silent == []
