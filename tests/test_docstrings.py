"""Checks the first line of every docstring in the folders that follow the rule."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CHECKED = ("mcp_gen", "codegen", "generated/mcp_wire", "bench", "examples", "noxfile.py", "tests")
"""Folders and files whose docstrings are checked."""

MAX_CHARACTERS = 100

FORBIDDEN = frozenset({"What", "Whether", "How", "Who", "Where", "Those"})
"""Words that a first line must not begin with."""


@pytest.mark.parametrize("place", CHECKED)
def test_first_lines_of_docstrings_follow_the_rule(place: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {problem}: {first}"
        for path in _sources(place)
        for line, first in _first_lines(path.read_text("utf-8"))
        for problem in _problems(first)
    ]
    assert wrong == []


@pytest.mark.parametrize("place", CHECKED)
def test_every_checked_place_has_docstrings(place: str) -> None:
    assert any(list(_first_lines(path.read_text("utf-8"))) for path in _sources(place))


@pytest.mark.parametrize(
    ("first", "problems"),
    [
        ("Return the newest revision.", []),
        ("Usage, in two lines:", []),
        ("Whatever JSON can hold.", []),
        ("Return the newest revision", ["no period"]),
        ("Is it the newest?", ["no period"]),
        ("Whether it is the newest.", ["begins with Whether"]),
        ("What, when and why.", ["begins with What"]),
        (f"Return {'x' * 94}.", ["102 characters"]),
        ("", ["no period"]),
    ],
)
def test_the_check_finds_each_kind_of_problem(first: str, problems: list[str]) -> None:
    assert list(_problems(first)) == problems


def test_the_check_reads_docstrings_of_modules_classes_and_functions() -> None:
    text = '''
"""One.

More.
"""
class A:
    """Two."""
    def f(self):
        """Three
        over two lines."""
    async def g(self):
        """
        Four.
        """
        "Not a docstring."
'''
    found = [first for _, first in _first_lines(text)]
    assert sorted(found) == ["Four.", "One.", "Three", "Two."]


def _problems(first: str) -> Iterator[str]:
    if len(first) > MAX_CHARACTERS:
        yield f"{len(first)} characters"
    if not first.endswith((".", ":")):
        yield "no period"
    word = first.split(maxsplit=1)[0].rstrip(",:") if first else ""
    if word in FORBIDDEN:
        yield f"begins with {word}"


def _sources(place: str) -> list[Path]:
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _first_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the first line of each docstring, those of attributes too."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and (found := ast.get_docstring(node)) is not None:
            yield node.body[0].lineno, found.partition("\n")[0].rstrip()
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _attribute_lines(node)


def _attribute_lines(node: ast.Module | ast.ClassDef) -> Iterator[tuple[int, str]]:
    for one, after in pairwise(node.body):
        match one, after:
            case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(found))):
                # The sentence about an attribute may go on in the next line.
                paragraph = " ".join(found.partition("\n\n")[0].split())
                yield after.lineno, f"{paragraph.partition('. ')[0].rstrip('.')}."
