"""Both type checkers accept correct uses of the API, and refuse incorrect ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ACCEPTED = sorted(HERE.glob("*_types.py"))
REFUSED = sorted(HERE.glob("refused_*.py"))
LIMIT_S = 50
Check = Callable[[Path], set[int]]


def run(*words: str) -> str:
    """Return the output of a checker."""
    ran = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


def mypy(path: Path) -> set[int]:
    """Return the lines in which mypy finds errors."""
    where = path.relative_to(ROOT)
    found = run("mypy", "--no-pretty", str(where))
    return {int(n) for n in re.findall(rf"^{where}:(\d+): error", found, re.MULTILINE)}


def pyright(path: Path) -> set[int]:
    """Return the lines in which pyright finds errors."""
    found = json.loads(run("pyright", "--outputjson", str(path)))["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}


both = pytest.mark.parametrize("errors_in", [mypy, pyright])


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
@both
def test_right_uses_are_accepted(errors_in: Check, path: Path) -> None:
    assert errors_in(path) == set()


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
@both
def test_wrong_uses_are_refused_in_their_lines(errors_in: Check, path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    marked = {n for n, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert errors_in(path) == marked
