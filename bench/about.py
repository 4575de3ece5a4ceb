"""Circumstances of a run, which stand beside its figures: versions, machine, command."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

__all__ = ["About", "about"]

_WHERE = Path("/proc/cpuinfo")
_OURS = ("mcp-gen", "msgspec", "uvicorn", "uvloop", "httptools", "orjson", "pybase64")


class About(Struct, frozen=True, kw_only=True):
    """Circumstances of one run; no name of a machine or a person."""

    command: str
    python: str
    cpu: str
    cpus: int
    system: str
    versions: dict[str, str]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.cpu} x {self.cpus}, {self.system}, Python {self.python}; {versions}"


def about(words: Sequence[str], versions: Mapping[str, str] = {}) -> About:
    """Return the circumstances of this run.

    Args:
        words: Words after `python -m bench`.
        versions: Releases of what is compared, beside our own and those of our dependencies.
    """
    return About(
        command=" ".join(("python -m bench", *words)),
        python=platform.python_version(),
        cpu=_cpu(),
        cpus=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        versions={**_installed(), **versions},
    )


def _installed() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _OURS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    """Return the model of the processor."""
    lines = _WHERE.read_text().splitlines() if _WHERE.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return models[0].strip() if models else platform.processor() or platform.machine()
