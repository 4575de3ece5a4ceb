"""mypy accepts the programs of the guides; `pyright` checks them with everything else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "docs/snippets"
FOLDERS = sorted({path.parent for path in SNIPPETS.glob("*/*.py")})
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LIMIT_S = 110


def mypy(folder: Path) -> str:
    """Return what mypy finds in the programs of a folder, which import each other."""
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary"),
            *("--config-file", os.devnull, "--cache-dir", str(ROOT / ".mypy_cache/snippets")),
            # What is imported is checked elsewhere.
            *("--follow-imports", "silent", *sorted(path.name for path in folder.glob("*.py"))),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": os.pathsep.join([str(ROOT), str(ROOT / "generated")])},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_mypy_accepts_the_programs_of_a_page(folder: Path) -> None:
    assert mypy(folder) == ""


def test_pyright_knows_the_folder_of_every_page() -> None:
    settings = PROJECT["tool"]["pyright"]
    roots = {Path(one["root"]).name for one in settings["executionEnvironments"]}
    assert "docs/snippets" in settings["include"]
    assert roots == {folder.name for folder in FOLDERS}


def test_a_wrong_program_is_found(tmp_path: Path) -> None:
    wrong = "from mcp_gen import Server\n\nserver: int = Server('a', '1')\n"
    (tmp_path / "wrong.py").write_text(wrong, "utf-8")
    assert "wrong.py:3: error: Incompatible types in assignment" in mypy(tmp_path)
