"""Habits of tests that a machine can see: no sleeps without a reason, and names that are claims."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(ROOT.glob("tests/**/test_*.py"))
SLEEPS = ("asyncio.sleep", "time.sleep")
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
LEAST_WORDS = 2
"""Words of the shortest claim: what, and does what."""


def functions_of(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the test functions of a file, those of classes included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTION) and node.name.startswith("test_"):
            yield node


def silent_sleeps(text: str) -> Iterator[int]:
    """Yield the line of each sleep of a test that is no turn of the loop and says no reason.

    A look at something every few milliseconds, in a `while` with a limit, is no such sleep.
    """
    lines = text.splitlines()
    for test in functions_of(text):
        for node in _own(test):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in SLEEPS:
                said = "#" in lines[node.lineno - 1] or "#" in lines[node.lineno - 2]
                if not said and ast.unparse(node.args[0]) != "0":
                    yield node.lineno


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a function does itself: not its inner functions, and no `while`."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTION, ast.Lambda, ast.While)):
            yield child
            yield from _own(child)


def test_a_test_sleeps_only_where_it_says_why() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        for line in silent_sleeps(path.read_text("utf-8"))
    ]
    assert len(FILES) > 500
    assert found == [], (
        "wait for an event with a limit, or say in a comment why that is not possible"
    )


def test_the_name_of_a_test_is_a_claim() -> None:
    short = [
        f"{path.relative_to(ROOT)}: {test.name}"
        for path in FILES
        for test in functions_of(path.read_text("utf-8"))
        if len(test.name.split("_")) <= LEAST_WORDS
    ]
    assert short == []


# --- The checks themselves: each must be able to fail ---


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("await asyncio.sleep(0.1)", [2]),
        # A pause with a name is one as well: only a turn of the loop is none.
        ("time.sleep(PAUSE_S)", [2]),
        ("await asyncio.sleep(0)", []),
        ("await asyncio.sleep(0.1)  # the time limit is what the test is about", []),
        ("while not seen(): await asyncio.sleep(0.1)", []),
        ("async with web: await asyncio.sleep(0.1)", [2]),
    ],
)
def test_a_sleep_without_a_reason_is_found(body: str, lines: list[int]) -> None:
    assert list(silent_sleeps(f"async def test_a():\n    {body}\n")) == lines
