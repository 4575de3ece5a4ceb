"""Projects of users: a folder with tests, run by pytest with chosen plugins."""

from __future__ import annotations

import itertools
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

__all__ = ["ANYIO", "ASYNCIO", "Outcome", "needs_pytest_asyncio", "run", "run_pytest"]

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
    def matrix(self) -> list[list[str]]:
        """Rows of the summary, as columns; the first one has the revisions."""
        head, *lines = self.text.partition("MCP: tests and revisions")[2].split("\n")[1:]
        rows = [head, *itertools.takewhile(lambda line: "::" in line, lines)]
        return [re.split(r"\s{2,}", row.strip()) for row in rows]


def run(
    folder: Path,
    tests: str,
    *words: str,
    plugins: tuple[str, ...] = ANYIO,
    settings: str = "",
    files: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the tests of a project.

    Args:
        folder: An empty folder.
        tests: The text of `test_it.py`.
        words: More arguments of pytest.
        plugins: Plugins beside that of mcp_gen.
        settings: Lines of the settings of pytest.
        files: Texts of more files, by name.
    """
    lines = ["[pytest]", *dedent(settings).strip().split("\n")]
    if "asyncio" in plugins:
        lines.append("asyncio_default_fixture_loop_scope = function")
    texts = {"server.py": SERVER, "pytest.ini": "\n".join(lines), "test_it.py": dedent(tests)}
    for name, text in {**texts, **(files or {})}.items():
        (folder / name).write_text(text, "utf-8")
    return run_pytest(folder, *words, plugins=plugins)


def run_pytest(folder: Path, *words: str, plugins: tuple[str, ...] = ANYIO) -> Outcome:
    """Run pytest in a folder as it is; see `run` for the arguments."""
    named = [word for name in ("pytest_mcp_gen", *plugins) for word in ("-p", name)]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
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
