"""Result files of docs/benchmarks: one for each command, small, with rounded figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.child import ROOT

__all__ = ["FOLDER", "load", "rounded", "text_of", "write"]

FOLDER = ROOT / "docs" / "benchmarks"
DIGITS = 4

T = TypeVar("T")


def rounded(value: Any) -> Any:
    """Return plain data with each fraction rounded to four digits that count."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def text_of(report: object) -> str:
    """Return a report as JSON."""
    encoded = msgspec.json.encode(rounded(msgspec.to_builtins(report)))
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def write(name: str, report: object, folder: Path = FOLDER) -> None:
    """Write a result file."""
    path = folder / "results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(report), "utf-8")


def load(name: str, kind: type[T], folder: Path = FOLDER) -> T | None:
    """Return the report of a result file; None if there is none."""
    path = folder / "results" / f"{name}.json"
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None
