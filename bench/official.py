"""Environment of the official SDK, isolated so that its pins do not affect others."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from functools import cache

from bench.child import ROOT

__all__ = ["python", "requirement"]

LIMIT_S = 300.0
_ENGINES = ("httptools", "uvloop")
"""Event loop and HTTP parser of the compared servers; the SDK itself does not ask for them."""
_PLACE = ROOT / ".nox" / "official"
"""Folder of environments, where `nox` keeps its own too."""


def requirement() -> str:
    """Return the release that we are compared with, as in the peer tests."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    (found,) = (one for one in groups["peers"] if one.startswith("mcp=="))
    return str(found)


@cache
def python() -> str:
    """Return the interpreter of the SDK's environment, which is created on first use."""
    version = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    place = _PLACE / "-".join((requirement(), *_ENGINES, version))
    found, done = place / "bin" / "python", place / "installed"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(place))
        install = ("install", "--quiet", "--disable-pip-version-check")
        _run(str(found), "-m", "pip", *install, requirement(), *_ENGINES)
        done.touch()
    return str(found)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
