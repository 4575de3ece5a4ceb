"""Fixtures of the generator tests: the slow stages run once per input."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codegen import __main__ as command
from codegen.emit import pydantic_models, tree
from codegen.emit.format import format_tree

REPOSITORY = Path(__file__).parents[2]

# The published schemas are not in this repository: see test_published.py.
collect_ignore = [] if "MCP_GEN_PUBLISHED_SCHEMAS" in os.environ else ["test_published.py"]


@pytest.fixture(autouse=True, scope="session")
def _slow_stages_once() -> Iterator[None]:
    """Cache the models, the files of this repository and their format.

    `python -m codegen` in a process of its own runs all of them: see test_regen.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic_models, "printed", printed_once())
        patch.setattr(command, "read_revisions", cached_here(command.read_revisions))
        patch.setattr(command, "_generated", cached_here(command._generated))
        patch.setattr(tree, "format_tree", formatted_once())
        yield


def printed_once() -> Any:
    """Return a cached `printed`: datamodel-code-generator takes half of every run."""
    known: dict[str, str] = {}
    really = pydantic_models.printed

    def printed(schema: Any, attributes: dict[str, str]) -> str:
        key = json.dumps([schema, attributes])
        if key not in known:
            known[key] = really(schema, attributes)
        return known[key]

    return printed


def cached_here(stage: Callable[..., Any]) -> Callable[..., Any]:
    """Return a stage that runs once for this repository, whose inputs no test changes."""
    known: list[Any] = []

    def run(root: Path, *inputs: Any) -> Any:
        if root != REPOSITORY:
            return stage(root, *inputs)
        if not known:
            known.append(stage(root, *inputs))
        return known[0]

    return run


def formatted_once() -> Any:
    """Return a `format_tree` that starts ruff once for each set of files."""
    known: dict[frozenset[tuple[Path, str]], dict[Path, str]] = {}

    def texts(folder: Path) -> dict[Path, str]:
        return {
            path.relative_to(folder): path.read_text("utf-8")
            for path in folder.rglob("*")
            if path.is_file()
        }

    def formatted(folder: Path) -> None:
        key = frozenset(texts(folder).items())
        if key not in known:
            format_tree(folder)
            known[key] = texts(folder)
        for path, text in known[key].items():
            (folder / path).write_text(text, "utf-8")

    return formatted
