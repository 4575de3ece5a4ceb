"""Formats a tree of Python files with the pinned ruff."""

import subprocess
import sys
from pathlib import Path

from codegen.errors import CodegenError

_ROOT = Path(__file__).parents[2]


def format_tree(folder: Path) -> None:
    """Sort imports, drop unused ones and format, with the project's configuration.

    Raises:
        CodegenError: what ruff found wrong.
    """
    ruff = [sys.executable, "-m", "ruff"]
    where = [f"--config={_ROOT / 'pyproject.toml'}", str(folder)]
    for command in (["check", "--fix-only", "--select=F401,I,RUF022,RUF023,UP"], ["format"]):
        ran = subprocess.run([*ruff, *command, *where], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise CodegenError(
                f"ruff {command[0]} refused the generated code:\n{ran.stdout}{ran.stderr}"
            )
