"""Projects of users: a folder with tests, run by pytest with chosen plugins."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

from tests.plugin import parts

__all__ = [
    "ANYIO",
    "ASYNCIO",
    "Outcome",
    "PartOutcome",
    "Start",
    "needs_pytest_asyncio",
    "run",
    "run_parts",
    "run_pytest",
]

DROPPED = ("PYTEST_ADDOPTS", "CI")
"""Variables that a run of pytest does not get: in CI it shortens no line of its summary."""

TIME_LIMIT_S = 100

ANYIO = ("anyio",)
ASYNCIO = ("asyncio",)
"""Plugins by the names of their entry points."""

needs_pytest_asyncio = pytest.mark.skipif(
    find_spec("pytest_asyncio") is None, reason="pytest-asyncio is not installed"
)

SERVER = '''
from mcp_gen import Server

server = Server("adder", "1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
"""The file `server.py` of every project."""


class Outcome(NamedTuple):
    """Outcome of a run: what pytest printed, and its exit status."""

    text: str
    status: int

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of tests in the last line, by outcome."""
        last = self.text.rstrip().rpartition("\n")[2]
        return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}

    @property
    def summary(self) -> str:
        """The summary of the judged tests."""
        return self.text.partition("MCP: tests and revisions")[2]

    @property
    def matrix(self) -> list[list[str]]:
        """Rows of the summary, as columns; the first one has the revisions."""
        head, *lines = self.summary.split("\n")[1:]
        rows = [head, *itertools.takewhile(lambda line: "::" in line, lines)]
        return [re.split(r"\s{2,}", row.strip()) for row in rows]


class PartOutcome(NamedTuple):
    """Outcome of the tests of one file, in a run of several.

    Attributes:
        text: What pytest printed of them.
        counts: Their numbers, by outcome.
        matrix: Their rows of the summary, with the revisions that they have; empty without one.
    """

    text: str
    counts: dict[str, int]
    matrix: list[list[str]]


class Start(NamedTuple):
    """One start of pytest, on several files; see `run` for the attributes.

    Attributes:
        tests: Texts of the files with tests, by name: `test_NAME.py`.
        words: More arguments of pytest.
        plugins: Plugins beside that of mcp_gen.
        settings: Lines of the settings of pytest.
    """

    tests: Mapping[str, str]
    words: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ANYIO
    settings: str = ""


def run_parts(folder: Path, start: Start) -> tuple[Outcome, dict[str, PartOutcome]]:
    """Run several files in one start, and return the outcome of all, and of each by its name."""
    files = {f"test_{name}.py": dedent(tests) for name, tests in start.tests.items()}
    words = ("--continue-on-collection-errors", *start.words)
    ran = run(
        folder,
        None,
        *words,
        plugins=start.plugins,
        settings=start.settings,
        files={**files, "conftest.py": Path(parts.__file__).read_text("utf-8")},
    )
    found = json.loads((folder / parts.PARTS.name).read_text("utf-8"))
    outcomes: dict[str, PartOutcome] = {}
    for name in start.tests:
        file = f"test_{name}.py"
        # What has no outcome was not run: that is one, too.
        one = found.get(file, {"text": ran.text, "counts": {}})
        counts = {word: number for word, number in one["counts"].items() if word}
        matrix = _rows_of(file, ran.matrix) if ran.summary else []
        outcomes[name] = PartOutcome(one["text"], counts, matrix)
    return ran, outcomes


def _rows_of(file: str, matrix: list[list[str]]) -> list[list[str]]:
    """Return the rows of the summary that are of one file, without columns that those lack."""
    head, *rows = matrix
    rows = [row for row in rows if row[0].startswith(f"{file}::")]
    kept = [number for number in range(1, len(head) + 1) if any(row[number] != "-" for row in rows)]
    columns = [[head[number - 1] for number in kept]]
    return columns + [[row[0], *(row[number] for number in kept)] for row in rows]


def run(
    folder: Path,
    tests: str | None,
    *words: str,
    plugins: tuple[str, ...] = ANYIO,
    settings: str = "",
    files: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the tests of a project.

    Args:
        folder: An empty folder.
        tests: The text of `test_it.py`; None if there is none.
        words: More arguments of pytest.
        plugins: Plugins beside that of mcp_gen.
        settings: Lines of the settings of pytest.
        files: Texts of more files, by name.
    """
    lines = ["[pytest]", *dedent(settings).strip().split("\n")]
    if "asyncio" in plugins:
        lines.append("asyncio_default_fixture_loop_scope = function")
    texts = {"server.py": SERVER, "pytest.ini": "\n".join(lines)}
    if tests is not None:
        texts["test_it.py"] = dedent(tests)
    for name, text in {**texts, **(files or {})}.items():
        (folder / name).write_text(text, "utf-8")
    return run_pytest(folder, *words, plugins=plugins)


def run_pytest(folder: Path, *words: str, plugins: tuple[str, ...] = ANYIO) -> Outcome:
    """Run pytest in a folder as it is; see `run` for the arguments."""
    named = [word for name in ("pytest_mcp_gen", *plugins) for word in ("-p", name)]
    env = {name: value for name, value in os.environ.items() if name not in DROPPED}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200", "NO_COLOR": "1"}
    # pytest itself takes half of the time.
    env["PYTHONDONTWRITEBYTECODE"] = ""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", *named, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    return Outcome(ran.stdout + ran.stderr, ran.returncode)
