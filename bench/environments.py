"""Environments of other SDKs, isolated so that their pins do not affect others."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache

from bench.child import ROOT

__all__ = ["interpreter", "peer", "version_in"]

LIMIT_S = 300.0
_ENGINES = ("httptools", "uvloop")
"""Event loop and HTTP parser of the compared servers; the SDKs themselves do not ask for them."""
_PLACE = ROOT / ".nox" / "official"
"""Folder of environments, where `nox` keeps its own too."""


def peer(name: str) -> str:
    """Return the requirement of a distribution in the dependency group of the peer tests."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    (found,) = (one for one in groups["peers"] if re.match(rf"{name}[=<>]", one))
    return str(found)


@cache
def interpreter(*requirements: str) -> str:
    """Return the interpreter of an environment, which is created on first use."""
    version = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    place = _PLACE / "-".join((*requirements, *_ENGINES, version)).replace(">", "")
    found, done = place / "bin" / "python", place / "installed"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(place))
        install = ("install", "--quiet", "--quiet", "--disable-pip-version-check")
        _run(str(found), "-m", "pip", *install, *requirements, *_ENGINES)
        done.touch()
    return str(found)


def version_in(python: str, name: str) -> str:
    """Return the version of a distribution in an environment."""
    program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    ran = subprocess.run(
        [python, "-c", program, name], check=True, timeout=LIMIT_S, stdout=subprocess.PIPE
    )
    return ran.stdout.decode().strip()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
