"""Checks that docs/manager.md and docs/model-apis.md have what the code has."""

from __future__ import annotations

import re
from typing import get_args

from mcp_gen.manager.config_file import _READ
from mcp_gen.manager.events import Kind
from mcp_gen.manager.model_formats import Api
from tests.docs.pages import DOCS

MANAGER = (DOCS / "manager.md").read_text("utf-8")
MODELS = (DOCS / "model-apis.md").read_text("utf-8")


def section(page: str, title: str) -> str:
    """Return the text of a section of a page."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """Return the names in the first column of the tables of a text."""
    cells = re.findall(r"^\| (`.*?) \|", text, re.M)
    return {name for cell in cells for name in re.findall(r"`\"?([\w-]+)\"?`", cell)}


def test_the_page_has_every_event() -> None:
    assert first_cells(section(MANAGER, "Events")) == set(get_args(Kind))


def test_the_page_has_every_key_of_a_file() -> None:
    assert first_cells(section(MANAGER, "Files of mcpServers")) == {*_READ, "disabled"}


def test_the_page_has_every_api() -> None:
    assert first_cells(section(MODELS, "The APIs")) == set(get_args(Api))
