"""mypy accepts the programs of the guides; `pyright` checks them with everything else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "docs/snippets"
FOLDERS = sorted({path.parent for path in SNIPPETS.glob("*/*.py")})
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LIMIT_S = 110


def mypy(*folders: Path) -> list[str]:
    """Return what mypy finds in the programs of folders, which import each other in a folder."""
    paths = sorted(str(path) for folder in folders for path in folder.glob("*.py"))
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary"),
            *("--config-file", os.devnull, "--cache-dir", str(ROOT / ".mypy_cache/snippets")),
            # Each folder is a place to import from; what else is imported is checked elsewhere.
            *("--explicit-package-bases", "--follow-imports", "silent", *paths),
        ],
        env={
            **os.environ,
            "MYPYPATH": os.pathsep.join(map(str, [*folders, ROOT, ROOT / "generated"])),
        },
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout.splitlines()


def beside(folder: Path) -> list[Path]:
    """Return the folders that are checked in one run with a folder: no two have a like module."""
    runs: list[dict[str, Path]] = []
    for each in FOLDERS:
        modules = {path.name: each for path in each.glob("*.py")}
        run = next((one for one in runs if not one.keys() & modules.keys()), None)
        if run is None:
            runs.append(run := {})
        run |= modules
    return next(sorted({*run.values()}) for run in runs if folder in run.values())


@cache
def found_beside(folders: tuple[Path, ...]) -> list[str]:
    return mypy(*folders)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_mypy_accepts_the_programs_of_a_page(folder: Path) -> None:
    found = found_beside(tuple(beside(folder)))
    assert [line for line in found if f"/{folder.name}/" in line] == []


def test_all_that_mypy_finds_is_of_a_page() -> None:
    runs = {tuple(beside(folder)) for folder in FOLDERS}
    assert [line for run in runs for line in found_beside(run)] == []


def test_pyright_knows_the_folder_of_every_page() -> None:
    settings = PROJECT["tool"]["pyright"]
    roots = {Path(one["root"]).name for one in settings["executionEnvironments"]}
    assert "docs/snippets" in settings["include"]
    assert roots == {folder.name for folder in FOLDERS}


def test_a_wrong_program_is_found(tmp_path: Path) -> None:
    wrong = "from mcp_gen import Server\n\nserver: int = Server('a', '1')\n"
    (tmp_path / "wrong.py").write_text(wrong, "utf-8")
    (found,) = mypy(tmp_path)
    assert "wrong.py:3: error: Incompatible types in assignment" in found
