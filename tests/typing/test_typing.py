"""Both type checkers accept correct uses of the API, and refuse incorrect ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ACCEPTED = sorted(HERE.glob("*_types.py"))
REFUSED = sorted(HERE.glob("refused_*.py"))
LIMIT_S = 110
Errors = dict[Path, set[int]]
Check = Callable[[], Errors]


def run(*words: str) -> str:
    """Return the output of a checker for all files, which it reads in one go."""
    ran = subprocess.run(
        [sys.executable, "-m", *words, *map(str, (*ACCEPTED, *REFUSED))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


@cache
def mypy() -> Errors:
    """Return the lines in which mypy finds errors, by file."""
    found = defaultdict(set)
    for path, line in re.findall(r"^(.+?):(\d+): error", run("mypy", "--no-pretty"), re.MULTILINE):
        found[ROOT / path].add(int(line))
    return found


@cache
def pyright() -> Errors:
    """Return the lines in which pyright finds errors, by file."""
    found = defaultdict(set)
    for one in json.loads(run("pyright", "--outputjson"))["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"])].add(one["range"]["start"]["line"] + 1)
    return found


both = pytest.mark.parametrize("checker", [mypy, pyright])


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
@both
def test_right_uses_are_accepted(checker: Check, path: Path) -> None:
    assert checker().get(path, set()) == set()


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
@both
def test_wrong_uses_are_refused_in_their_lines(checker: Check, path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    marked = {n for n, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert checker().get(path, set()) == marked
