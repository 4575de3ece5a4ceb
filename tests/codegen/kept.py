"""Kept schemas: their bytes, and their keywords one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PROSE", "REPOSITORY", "REVISIONS", "every_revision", "kept_bytes", "keywords"]

REPOSITORY = Path(__file__).parents[2]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
PROSE = {"$comment", "description", "examples", "title"}

every_revision = pytest.mark.parametrize("revision", REVISIONS)


def kept_bytes(revision: str) -> bytes:
    return (REPOSITORY / "schema" / revision / "schema.json").read_bytes()


def keywords(schema: Any, pointer: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield pointer, keyword and value of every keyword; for nested schemas, names or number.

    Independent of `codegen.schema.structure`, as a second opinion.
    """
    if isinstance(schema, bool):
        return
    for keyword, value in schema.items():
        match keyword:
            case "properties" | "$defs" | "definitions":
                yield pointer, keyword, json.dumps(sorted(value))
                for name in value:
                    yield from keywords(value[name], f"{pointer}/{keyword}/{name}")
            case "anyOf" | "allOf":
                yield pointer, keyword, str(len(value))
                for index, arm in enumerate(value):
                    yield from keywords(arm, f"{pointer}/{keyword}/{index}")
            case "items" | "additionalProperties":
                yield pointer, keyword, json.dumps(isinstance(value, bool) and value)
                yield from keywords(value, f"{pointer}/{keyword}")
            case _:
                yield pointer, keyword, json.dumps(value)
